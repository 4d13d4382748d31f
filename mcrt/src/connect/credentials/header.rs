//! Values of the `Authorization` header, marked as secret.
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderValue;
use secrecy::zeroize::Zeroizing;

/// None if the token has characters that no header can carry.
pub(super) fn bearer(token: &str) -> Option<HeaderValue> {
    value("Bearer", token)
}

/// None never happens: base64 fits.
pub(super) fn basic(user: &str, password: &str) -> Option<HeaderValue> {
    let both = Zeroizing::new(format!("{user}:{password}"));
    value("Basic", &Zeroizing::new(STANDARD.encode(both.as_bytes())))
}

fn value(scheme: &str, text: &str) -> Option<HeaderValue> {
    let text = Zeroizing::new(format!("{scheme} {text}"));
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
