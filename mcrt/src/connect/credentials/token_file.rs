//! A token that somebody else keeps fresh in a file.
use super::{super::error::ConnectError, header};
use http::HeaderValue;
use parking_lot::Mutex;
use secrecy::zeroize::Zeroizing;
use std::{path::PathBuf, time::Duration};
use tokio::{io::AsyncReadExt, time::Instant};

/// How long a token is used before the file is read again: kubelets rotate them long before they expire.
const TOKEN_AGE: Duration = Duration::from_mins(1);
/// How long reading may take: the file may lie on a network that is gone.
const READ_DEADLINE: Duration = Duration::from_secs(5);
/// Largest token that is read; servers take headers of 8 to 64 KiB.
const MAX_TOKEN: u64 = 64 << 10;

pub(super) struct TokenFile {
    path: PathBuf,
    last: Mutex<Option<Read>>,
    /// When a refusal last had the file read.
    refused: Mutex<Option<Instant>>,
}

#[derive(Clone)]
struct Read {
    at: Instant,
    header: HeaderValue,
}

impl TokenFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            last: Mutex::new(None),
            refused: Mutex::new(None),
        }
    }

    /// The token, at most a minute old; the last good one while the file cannot be read.
    pub(super) async fn header(&self) -> Result<HeaderValue, ConnectError> {
        let last = self.last.lock().clone();
        match last {
            Some(read) if read.at.elapsed() < TOKEN_AGE => Ok(read.header),
            last => self.renew(last.map(|read| read.header)).await,
        }
    }

    /// Reads the file because a server refused a token, at most once per interval; true if another is there now.
    pub(super) async fn refused(&self, sent: Option<&HeaderValue>, interval: Duration) -> bool {
        if let Some(read) = &*self.last.lock()
            && sent != Some(&read.header)
        {
            return true;
        }
        let now = Instant::now();
        let before = self.refused.lock().replace(now);
        if let Some(before) = before
            && now - before < interval
        {
            *self.refused.lock() = Some(before);
            return false;
        }
        let last = self.last.lock().clone().map(|read| read.header);
        self.renew(last).await.is_ok_and(|header| sent != Some(&header))
    }

    async fn renew(&self, last: Option<HeaderValue>) -> Result<HeaderValue, ConnectError> {
        let read = tokio::time::timeout(READ_DEADLINE, self.read()).await;
        let read = read.unwrap_or_else(|_| Err(format!("not read within {READ_DEADLINE:?}")));
        match (read, last) {
            (Ok(header), _) | (Err(_), Some(header)) => {
                let at = Instant::now();
                let header_of_now = header.clone();
                *self.last.lock() = Some(Read { at, header });
                Ok(header_of_now)
            }
            (Err(reason), None) => Err(ConnectError::TokenFile {
                path: self.path.clone(),
                reason,
            }),
        }
    }

    async fn read(&self) -> Result<HeaderValue, String> {
        let said = |error: std::io::Error| error.to_string();
        let file = tokio::fs::File::open(&self.path).await.map_err(said)?;
        let mut bytes = Zeroizing::new(Vec::new());
        let mut limited = file.take(MAX_TOKEN + 1);
        limited.read_to_end(&mut bytes).await.map_err(said)?;
        if bytes.len() as u64 > MAX_TOKEN {
            return Err("larger than 64 KiB, which no token is".into());
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| "not UTF-8")?;
        let token = text.trim();
        if token.is_empty() {
            return Err("holds no token".into());
        }
        header::bearer(token).ok_or_else(|| "has characters that no header can carry".into())
    }
}
