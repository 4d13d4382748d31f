//! What a kubeconfig may ask for beyond inline data: nothing, unless the operator of the controller says so.
use std::path::PathBuf;

/// What the operator of a controller lets kubeconfigs do. By default: nothing but inline data over verified TLS.
///
/// It belongs to whoever runs the controller: no kubeconfig, and no object that holds one, can widen it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Credential programs that may run: names or paths, as kubeconfigs write them.
    pub commands: Vec<String>,
    /// Directories whose files may be read.
    pub files: Vec<PathBuf>,
    /// HTTP proxies.
    pub proxies: bool,
    /// Servers without TLS.
    pub plain_http: bool,
    /// Servers whose certificate is not checked.
    pub insecure_tls: bool,
    /// `as`, `as-uid`, `as-groups` and `as-user-extra`.
    pub impersonation: bool,
}
