//! A vetted description of how to reach an API server.
use super::{error::Rejected, kubeconfig, policy::Policy, vetting};
use http::Uri;
use kube::config::Kubeconfig;
use secrecy::{ExposeSecret, SecretString};
use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
};

/// How to reach an API server and who to be there, after vetting. `Debug` shows context and server only.
#[derive(Clone)]
pub struct Connection {
    pub(super) context: String,
    pub(super) server: Uri,
    pub(super) namespace: String,
    pub(super) trust: Trust,
    pub(super) tls_server_name: Option<String>,
    /// An HTTP proxy that the kubeconfig names, where the operator allows one.
    pub(super) proxy: Option<Uri>,
    pub(super) identity: Option<Identity>,
    pub(super) credentials: Credentials,
    /// As whom requests are made, where the operator allows it.
    pub(super) impersonate: Option<Impersonate>,
}

/// Whom to believe to be the API server.
#[derive(Clone)]
pub(super) enum Trust {
    /// The authorities of the operating system.
    System,
    /// These authorities, in DER.
    Authorities(Vec<Vec<u8>>),
    /// The authorities in a file that is read again while the client lives, and as it was first read.
    File(PathBuf, Vec<Vec<u8>>),
    /// Anybody.
    Anyone,
}

/// A client certificate and its key, both PEM.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) certificate: Vec<u8>,
    pub(super) key: SecretString,
}

/// What goes into the `Authorization` header.
#[derive(Clone)]
pub(super) enum Credentials {
    /// Nothing: a client certificate, or nobody.
    None,
    /// A fixed token.
    Token(SecretString),
    /// A token in a file, read again every minute.
    TokenFile(PathBuf),
    /// User and password.
    Basic(String, SecretString),
    /// What a program prints: a token, a client certificate, or both.
    Exec(Arc<ExecPlugin>),
}

/// A credential program, as `client.authentication.k8s.io` defines it. Has no `Debug`: arguments and environment may
/// be secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct ExecPlugin {
    /// `client.authentication.k8s.io/v1` or `/v1beta1`.
    pub(super) api_version: String,
    /// Absolute, or looked up in `PATH`.
    pub(super) command: PathBuf,
    pub(super) args: Vec<String>,
    /// Beside the environment of this process.
    pub(super) env: Vec<(String, String)>,
    /// What the plugin is told of the cluster: the JSON of `spec.cluster`, where `provideClusterInfo` is set.
    pub(super) cluster_info: Option<String>,
    /// Said when the program is not found.
    pub(super) install_hint: Option<String>,
}

/// The `as` fields of a user.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Impersonate {
    pub(super) user: String,
    pub(super) uid: Option<String>,
    pub(super) groups: Vec<String>,
    pub(super) extra: Vec<(String, Vec<String>)>,
}

impl Connection {
    /// Vets a context of a kubeconfig that comes from elsewhere, such as the data of a Secret: YAML or JSON, one document
    /// of at most 1 MiB. Without a name it is the current context, or the only one.
    ///
    /// Under [`Policy::strict`] only inline data are obeyed: `server` (https), `certificate-authority-data`,
    /// `tls-server-name`, `namespace`, `token`, `client-certificate-data` with `client-key-data`, `username` with
    /// `password`. Every other field of the context, its cluster and its user is refused, by its path and never by its
    /// value; so are certificates that have expired. Proxies in the environment are ignored. Reads no file and runs no
    /// program, unless the policy allows files: then it blocks for them. Paths must be absolute.
    pub fn from_bytes(
        kubeconfig: impl AsRef<[u8]>,
        context: Option<&str>,
        policy: &Policy,
    ) -> Result<Self, Rejected> {
        vetting::bytes(kubeconfig.as_ref(), context, policy)
    }

    /// Vets one context of a kubeconfig that its operator wrote, by [`Policy::own_files`]: files it names are read,
    /// programs are not run.
    ///
    /// Fields that would run programs, or are not known, are refused by name; proxies in the environment are ignored.
    /// Relative paths are taken from the working directory: `Kubeconfig::read_from` makes them absolute. Blocks for the
    /// files.
    pub fn from_kubeconfig(kubeconfig: &Kubeconfig, context: &str) -> Result<Self, Rejected> {
        Self::from_kubeconfig_with(kubeconfig, context, &Policy::own_files())
    }

    /// As [`from_kubeconfig`](Self::from_kubeconfig), by another policy.
    pub fn from_kubeconfig_with(
        kubeconfig: &Kubeconfig,
        context: &str,
        policy: &Policy,
    ) -> Result<Self, Rejected> {
        vetting::context(kubeconfig, context, policy)
    }

    /// Vets a context of `$KUBECONFIG`, a list of files of which the first to say something wins, or else of
    /// `~/.kube/config`, by [`Policy::own_files`]. Without a name it is the current context. Blocks for the files.
    pub fn from_default_kubeconfig(context: Option<&str>) -> Result<Self, Rejected> {
        Self::from_default_kubeconfig_with(context, &Policy::own_files())
    }

    /// As [`from_default_kubeconfig`](Self::from_default_kubeconfig), by another policy.
    pub fn from_default_kubeconfig_with(context: Option<&str>, policy: &Policy) -> Result<Self, Rejected> {
        let paths = kubeconfig::default_paths();
        if paths.is_empty() {
            return Err(Rejected::File {
                path: Path::new("~").join(".kube").join("config"),
                reason: "there is no home directory: set `$KUBECONFIG`".to_owned(),
            });
        }
        Self::from_files_with(&paths, context, policy)
    }

    /// Vets a context of a list of files, merged as `kubectl` does, by [`Policy::own_files`]; those that do not exist
    /// are left out, unless none does. Without a name it is the current context. Blocks for the files.
    pub fn from_files(paths: &[impl AsRef<Path>], context: Option<&str>) -> Result<Self, Rejected> {
        Self::from_files_with(paths, context, &Policy::own_files())
    }

    /// As [`from_files`](Self::from_files), by another policy.
    pub fn from_files_with(
        paths: &[impl AsRef<Path>],
        context: Option<&str>,
        policy: &Policy,
    ) -> Result<Self, Rejected> {
        let merged = kubeconfig::read(paths)?;
        let context = match (context, merged.current_context.as_deref()) {
            (Some(name), _) => name,
            (None, Some(name)) if !name.is_empty() => name,
            (None, _) => return Err(Rejected::NoCurrentContext),
        };
        vetting::context(&merged, context, policy)
    }

    /// The cluster that this process runs in, as its service account. Blocks for the mounted files.
    ///
    /// The token and the certificate authority are read again while the client lives.
    pub fn in_cluster() -> Result<Self, Rejected> {
        let config = kube::Config::incluster().map_err(|error| Rejected::NotInCluster {
            reason: error.to_string(),
        })?;
        let token = config.auth_info.token_file.map(PathBuf::from);
        Ok(Self {
            context: "in-cluster".into(),
            server: config.cluster_url,
            namespace: config.default_namespace.trim().to_owned(),
            trust: match (config.root_cert_file, config.root_cert) {
                (Some(file), authorities) => Trust::File(file, authorities.unwrap_or_default()),
                (None, Some(authorities)) => Trust::Authorities(authorities),
                (None, None) => Trust::System,
            },
            tls_server_name: config.tls_server_name,
            proxy: None,
            identity: None,
            impersonate: None,
            credentials: token.map_or(Credentials::None, Credentials::TokenFile),
        })
    }

    /// The same user and the same trust at another address: for kubeconfigs that name one which is good elsewhere, such
    /// as behind a port forward. The address, and the proxy before it, are vetted by the policy as those of a kubeconfig
    /// are.
    ///
    /// To read a kubeconfig whose own address the policy refuses, vet it by a policy that allows it, and this by yours:
    /// nothing is dialled in between.
    ///
    /// ```
    /// use mcrt::connect::{Connection, Policy};
    ///
    /// # let from_a_secret = r#"{"clusters": [{"name": "c", "cluster": {"server": "https://localhost:8443"}}],
    /// #     "contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}]}"#;
    /// let policy = Policy::strict();
    /// let connection = Connection::from_bytes(from_a_secret, None, &policy.clone().allow_local_servers())?
    ///     .with_server("https://db.team-a:443", &policy)?;
    /// assert_eq!(connection.server(), "https://db.team-a:443/");
    /// # Ok::<(), mcrt::connect::Rejected>(())
    /// ```
    pub fn with_server(mut self, server: &str, policy: &Policy) -> Result<Self, Rejected> {
        vetting::elsewhere::server(&mut self, server, policy)?;
        Ok(self)
    }

    /// As [`with_server`](Self::with_server), for another server than the one that the connection was made for: a name
    /// that its certificate had to be for is not the other's.
    pub(super) fn at(&self, server: &str, policy: &Policy) -> Result<Self, Rejected> {
        let moved = self.clone().with_server(server, policy)?;
        if moved.server.authority() == self.server.authority() {
            return Ok(moved);
        }
        moved.with_tls_server_name("")
    }

    /// The same, expecting the server's certificate to be for this name rather than for that in the address; an empty
    /// one is for that in the address.
    pub fn with_tls_server_name(mut self, name: &str) -> Result<Self, Rejected> {
        vetting::elsewhere::tls_server_name(&mut self, name)?;
        Ok(self)
    }

    /// The address of the API server.
    pub fn server(&self) -> String {
        self.server.to_string()
    }

    /// The context it was made from; `in-cluster` for the service account.
    pub fn context(&self) -> &str {
        &self.context
    }

    /// The namespace of the context, `default` if it names none.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// What tells one cluster, and one kind of user, from another. The context's name does not, nor does anything
    /// secret: of two that are equal one can go on as the other, with other material.
    pub(super) fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.place().hash(&mut hasher);
        self.namespace.hash(&mut hasher);
        self.impersonate.hash(&mut hasher);
        self.identity.is_some().hash(&mut hasher);
        match &self.credentials {
            Credentials::None => 0u8.hash(&mut hasher),
            Credentials::Token(_) => 1u8.hash(&mut hasher),
            Credentials::TokenFile(path) => (2u8, path).hash(&mut hasher),
            Credentials::Basic(user, _) => (3u8, user).hash(&mut hasher),
            Credentials::Exec(plugin) => (4u8, plugin).hash(&mut hasher),
        }
        hasher.finish()
    }

    /// What tells one API server from another, whoever comes: its address, what leads there, and how it is known.
    pub(super) fn place(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.server.hash(&mut hasher);
        self.tls_server_name.hash(&mut hasher);
        // One private address may be as many servers as there are proxies.
        self.proxy.hash(&mut hasher);
        match &self.trust {
            Trust::System => 0u8.hash(&mut hasher),
            Trust::Authorities(authorities) => (1u8, authorities).hash(&mut hasher),
            Trust::File(path, _) => (2u8, path).hash(&mut hasher),
            Trust::Anyone => 3u8.hash(&mut hasher),
        }
        hasher.finish()
    }

    /// Everything that tells this connection from another: its identity and its secret material.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.identity().hash(&mut hasher);
        if let Some(identity) = &self.identity {
            (&identity.certificate, identity.key.expose_secret()).hash(&mut hasher);
        }
        if let Credentials::Token(secret) | Credentials::Basic(_, secret) = &self.credentials {
            secret.expose_secret().hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("context", &self.context)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
