//! What a user shows in headers, and what is refused in one.
use super::{
    super::{connection::Credentials, error::Rejected, kubeconfig::USER},
    field::{At, unknown},
    nonempty,
};
use http::HeaderValue;
use kube::config::AuthInfo;
use secrecy::{ExposeSecret, SecretString};
use std::{fs, path::Path};

const AUTH_PROVIDER: &str = "never obeyed: it can run programs and call servers of its choice; use `exec`, a token or a \
                             client certificate";

/// Refuses what no policy lets through.
pub(super) fn refuse(user: &AuthInfo, at: &At<'_>) -> Result<(), Rejected> {
    if user.auth_provider.is_some() {
        return Err(at.unsupported(".auth-provider", AUTH_PROVIDER));
    }
    unknown(&user.other, at, "", USER)
}

/// One way of showing who one is; `tokenFile` beats `token`, as for `kubectl`.
pub(super) fn credentials(user: &AuthInfo, at: &At<'_>) -> Result<Credentials, Rejected> {
    let token = user.token.as_ref().map(|token| token.expose_secret().trim());
    let token = token.filter(|token| !token.is_empty());
    let file = nonempty(user.token_file.as_ref());
    let username = nonempty(user.username.as_ref());
    if username.is_some() && (token.is_some() || file.is_some()) {
        return Err(at.invalid(".username", "given beside a token: remove one"));
    }
    if let Some(file) = file {
        return token_file(Path::new(file), at);
    }
    if let Some(token) = token {
        return match HeaderValue::from_str(token) {
            Ok(_) => Ok(Credentials::Token(token.into())),
            Err(_) => Err(at.invalid(".token", "has characters that no header can carry")),
        };
    }
    let password = user.password.as_ref().map(ExposeSecret::expose_secret);
    let password = password.unwrap_or_default();
    match username {
        Some(username) if username.contains(':') => Err(at.invalid(".username", "contains a colon")),
        Some(username) => Ok(Credentials::Basic(username.into(), SecretString::from(password))),
        None if !password.is_empty() => Err(at.invalid(".password", "has no `username` beside it")),
        None => Ok(Credentials::None),
    }
}

/// A token file must be there to begin with; what is in it is read when it is used.
fn token_file(file: &Path, at: &At<'_>) -> Result<Credentials, Rejected> {
    let field = ".tokenFile";
    let path = at.file(file, field)?;
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => Ok(Credentials::TokenFile(path)),
        Ok(_) => Err(at.invalid(field, "not a regular file")),
        Err(error) => Err(at.invalid(field, error.kind())),
    }
}
