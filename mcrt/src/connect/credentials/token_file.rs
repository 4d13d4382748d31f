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

/// After it could not be read and there is no token, how long that is said without another look.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct TokenFile {
    path: PathBuf,
    /// Held for copies only.
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    token: Option<HeaderValue>,
    /// When somebody last began to read.
    read: Option<Instant>,
    /// Why the last attempt failed while there was no token.
    failed: Option<String>,
    /// When a refusal last had the file read.
    refused: Option<Instant>,
}

impl TokenFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            last: Mutex::default(),
        }
    }

    /// The token, at most a minute old; the last good one while the file cannot be read, or somebody else reads it.
    pub(super) async fn header(&self) -> Result<HeaderValue, ConnectError> {
        let before = {
            let mut last = self.last.lock();
            let since = last.read.map_or(Duration::MAX, |read| read.elapsed());
            match (&last.token, &last.failed) {
                (Some(token), _) if since < TOKEN_AGE => return Ok(token.clone()),
                (None, Some(reason)) if since < PAUSE => return Err(self.failed(reason.clone())),
                _ => {}
            }
            // Others go on with the old one meanwhile: files on a network that is gone take a thread each.
            last.read = Some(Instant::now());
            last.token.clone()
        };
        self.renew(before).await
    }

    /// Reads the file because a server refused a token, at most once per interval; true if another is there now.
    pub(super) async fn refused(&self, sent: Option<&HeaderValue>, interval: Duration) -> bool {
        let before = {
            let mut last = self.last.lock();
            if last.token.is_some() && last.token.as_ref() != sent {
                return true;
            }
            if last.refused.is_some_and(|refused| refused.elapsed() < interval) {
                return false;
            }
            let now = Some(Instant::now());
            (last.refused, last.read) = (now, now);
            last.token.clone()
        };
        self.renew(before).await.is_ok_and(|token| sent != Some(&token))
    }

    async fn renew(&self, before: Option<HeaderValue>) -> Result<HeaderValue, ConnectError> {
        let read = tokio::time::timeout(READ_DEADLINE, self.read()).await;
        let read = read.unwrap_or_else(|_| Err(format!("not read within {READ_DEADLINE:?}")));
        let mut last = self.last.lock();
        match (read, before) {
            (Ok(token), _) => {
                last.token = Some(token.clone());
                last.failed = None;
                Ok(token)
            }
            (Err(_), Some(token)) => Ok(token),
            (Err(reason), None) => {
                last.failed = Some(reason.clone());
                Err(self.failed(reason))
            }
        }
    }

    pub(super) fn failed(&self, reason: String) -> ConnectError {
        ConnectError::TokenFile {
            path: self.path.clone(),
            reason,
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
