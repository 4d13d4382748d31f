//! The layer that says who we are.
use super::{connection::Credentials, error::ConnectError};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures::future::BoxFuture;
use http::{HeaderValue, Request, header::AUTHORIZATION};
use parking_lot::Mutex;
use secrecy::ExposeSecret;
use std::{
    mem,
    path::PathBuf,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;
use tower::{BoxError, Service};

/// How long a token from a file is used before the file is read again: kubelets rotate them long before they expire.
const TOKEN_AGE: Duration = Duration::from_mins(1);

/// Adds the `Authorization` header.
#[derive(Clone)]
pub(super) struct Authorize<S> {
    inner: S,
    source: Source,
}

#[derive(Clone)]
enum Source {
    None,
    Fixed(HeaderValue),
    File(Arc<TokenFile>),
}

impl<S> Authorize<S> {
    pub(super) fn new(inner: S, credentials: &Credentials) -> Self {
        let source = match credentials {
            Credentials::None => Source::None,
            Credentials::Token(token) => fixed("Bearer", token.expose_secret()),
            Credentials::Basic(user, password) => fixed(
                "Basic",
                &STANDARD.encode(format!("{user}:{}", password.expose_secret())),
            ),
            Credentials::Exec(_) => Source::None,
            Credentials::TokenFile(path) => Source::File(Arc::new(TokenFile {
                path: path.clone(),
                last: Mutex::new(None),
            })),
        };
        Self { inner, source }
    }
}

/// Vetting has seen to it that the text fits a header; if not, the server's 401 tells.
fn fixed(scheme: &str, text: &str) -> Source {
    header(scheme, text).map_or(Source::None, Source::Fixed)
}

fn header(scheme: &str, text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("{scheme} {text}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl<S, B> Service<Request<B>> for Authorize<S>
where
    S: Service<Request<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // The service that was polled ready is the one to call.
        let next = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, next);
        let source = self.source.clone();
        Box::pin(async move {
            let header = match source {
                Source::None => None,
                Source::Fixed(header) => Some(header),
                Source::File(file) => Some(file.header().await?),
            };
            if let Some(header) = header {
                request.headers_mut().insert(AUTHORIZATION, header);
            }
            inner.call(request).await.map_err(Into::into)
        })
    }
}

/// A token that somebody else keeps fresh in a file.
struct TokenFile {
    path: PathBuf,
    last: Mutex<Option<(Instant, HeaderValue)>>,
}

impl TokenFile {
    /// The token, at most a minute old; the last good one while the file cannot be read.
    async fn header(&self) -> Result<HeaderValue, ConnectError> {
        let last = self.last.lock().clone();
        if let Some((read, header)) = &last
            && read.elapsed() < TOKEN_AGE
        {
            return Ok(header.clone());
        }
        match (self.read().await, last) {
            (Ok(header), _) | (Err(_), Some((_, header))) => {
                *self.last.lock() = Some((Instant::now(), header.clone()));
                Ok(header)
            }
            (Err(reason), None) => Err(ConnectError::TokenFile {
                path: self.path.clone(),
                reason,
            }),
        }
    }

    async fn read(&self) -> Result<HeaderValue, String> {
        let text = tokio::fs::read_to_string(&self.path)
            .await
            .map_err(|error| error.to_string())?;
        let token = text.trim();
        if token.is_empty() {
            return Err("holds no token".into());
        }
        header("Bearer", token).ok_or_else(|| "has characters that no header can carry".into())
    }
}
