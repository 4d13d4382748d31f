//! The headers that ask the server to act as somebody else.
use super::super::{connection::Impersonate, error::ConnectError};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use std::{
    fmt::Write as _,
    sync::Arc,
    task::{Context, Poll},
};
use tower::Service;

/// Adds headers to every request.
#[derive(Clone)]
pub(super) struct Impersonating<S> {
    inner: S,
    headers: Arc<HeaderMap>,
}

impl<S> Impersonating<S> {
    pub(super) fn new(inner: S, headers: Arc<HeaderMap>) -> Self {
        Self { inner, headers }
    }
}

/// The headers; none for nobody.
pub(super) fn headers(who: Option<&Impersonate>) -> Result<HeaderMap, ConnectError> {
    let mut headers = HeaderMap::new();
    let Some(who) = who else { return Ok(headers) };
    let value = |field: &'static str, text: &str| {
        HeaderValue::from_str(text).map_err(|_| ConnectError::Impersonation { field })
    };
    headers.insert("impersonate-user", value("as", &who.user)?);
    if let Some(uid) = &who.uid {
        headers.insert("impersonate-uid", value("as-uid", uid)?);
    }
    for group in &who.groups {
        headers.append("impersonate-group", value("as-groups", group)?);
    }
    for (key, values) in &who.extra {
        let name = extra(key).ok_or(ConnectError::Impersonation {
            field: "as-user-extra",
        })?;
        for text in values {
            headers.append(name.clone(), value("as-user-extra", text)?);
        }
    }
    Ok(headers)
}

/// Keys are case-insensitive, and what a header's name cannot hold is escaped, as the API server reads it.
fn extra(key: &str) -> Option<HeaderName> {
    let mut name = String::from("impersonate-extra-");
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => name.push(char::from(byte)),
            b'A'..=b'Z' => name.push(char::from(byte.to_ascii_lowercase())),
            // Writing to a string cannot fail.
            _ => _ = write!(name, "%{byte:02x}"),
        }
    }
    HeaderName::try_from(name).ok()
}

impl<S, B> Service<Request<B>> for Impersonating<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        for (name, value) in &*self.headers {
            request.headers_mut().append(name, value.clone());
        }
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_a_user_may_say_becomes_headers() {
        let who = Impersonate {
            user: "jane".into(),
            uid: Some("7".into()),
            groups: vec!["a".into(), "b".into()],
            extra: vec![("Acme.com/Project".into(), vec!["x".into(), "y".into()])],
        };
        let headers = headers(Some(&who)).unwrap();
        let all: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(
            all,
            [
                "impersonate-user: jane",
                "impersonate-uid: 7",
                "impersonate-group: a",
                "impersonate-group: b",
                "impersonate-extra-acme.com%2fproject: x",
                "impersonate-extra-acme.com%2fproject: y",
            ]
        );
    }

    #[test]
    fn what_no_header_can_carry_is_refused_by_field() {
        let who = Impersonate {
            user: "a\nb".into(),
            uid: None,
            groups: vec![],
            extra: vec![],
        };
        let error = headers(Some(&who)).unwrap_err();
        assert!(matches!(error, ConnectError::Impersonation { field: "as" }));
    }
}
