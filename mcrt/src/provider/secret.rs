//! Kubeconfigs in Secrets of the host.
use crate::connect::{Connection, Policy};
use k8s_openapi::api::core::v1::Secret;

/// The connection that a key of a Secret describes, or why there is none: no text holds a value of the Secret.
pub(super) fn connection(
    secret: &Secret,
    key: &str,
    context: Option<&str>,
    policy: &Policy,
) -> Result<Connection, String> {
    let at = crate::ObjectKey::of(secret);
    let data = secret.data.as_ref().and_then(|data| data.get(key));
    let Some(data) = data else {
        return Err(format!(
            "Secret `{at}` has no key `{key}`: put the kubeconfig there"
        ));
    };
    if data.0.iter().all(u8::is_ascii_whitespace) {
        return Err(format!(
            "Secret `{at}`: key `{key}` is empty: put the kubeconfig there"
        ));
    }
    Connection::from_bytes(&data.0, context, policy)
        .map_err(|rejected| format!("Secret `{at}`: key `{key}`: {rejected}"))
}
