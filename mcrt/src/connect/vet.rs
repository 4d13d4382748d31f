//! One context of a kubeconfig, read by allow-list.
use super::{
    connection::{Connection, Credentials, Identity, Trust},
    error::Rejected,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, Uri};
use kube::config::{AuthInfo, Cluster, Context, Kubeconfig};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use secrecy::{ExposeSecret, SecretString};
use std::{fmt::Display, fs, path::PathBuf};

const PROGRAMS: &str =
    "not supported yet: it would run a program; give the user a token or a client certificate";
const NOT_YET: &str = "not supported yet; remove it";
const UNKNOWN: &str = "has a field that is not known; remove it, or correct its name";

/// Vets one context.
pub(super) fn context(kubeconfig: &Kubeconfig, name: &str) -> Result<Connection, Rejected> {
    let context = find_context(kubeconfig, name)?;
    let cluster = find_cluster(kubeconfig, name, context)?;
    let at_cluster = Field::new(name, format!("clusters[{}].cluster", context.cluster));
    refuse_in_cluster(cluster, &at_cluster)?;
    let server = server(cluster, &at_cluster)?;
    let trust = trust(cluster, &at_cluster)?;
    let tls_server_name = tls_server_name(cluster, &at_cluster)?;
    let user = find_user(kubeconfig, name, context)?;
    let at_user = Field::new(
        name,
        format!("users[{}].user", context.user.as_deref().unwrap_or_default()),
    );
    let (identity, credentials) = match user {
        Some(user) => {
            refuse_in_user(user, &at_user)?;
            (identity(user, &at_user)?, credentials(user, &at_user)?)
        }
        None => (None, Credentials::None),
    };
    Ok(Connection {
        context: name.to_owned(),
        server,
        namespace: nonempty(context.namespace.as_ref())
            .unwrap_or("default")
            .to_owned(),
        trust,
        tls_server_name,
        proxy: None,
        identity,
        credentials,
        impersonate: None,
    })
}

fn find_context<'a>(kubeconfig: &'a Kubeconfig, name: &str) -> Result<&'a Context, Rejected> {
    let named = kubeconfig.contexts.iter().find(|named| named.name == name);
    named
        .and_then(|named| named.context.as_ref())
        .ok_or_else(|| Rejected::NoContext { context: name.into() })
}

fn find_cluster<'a>(
    kubeconfig: &'a Kubeconfig,
    name: &str,
    context: &Context,
) -> Result<&'a Cluster, Rejected> {
    let named = kubeconfig
        .clusters
        .iter()
        .find(|named| named.name == context.cluster);
    named
        .and_then(|named| named.cluster.as_ref())
        .ok_or_else(|| Rejected::Absent {
            context: name.into(),
            kind: "cluster",
            name: context.cluster.clone(),
        })
}

/// A context without a user is anonymous; one that names a user must have it, and not in name only: that is how a
/// file looks while it is written.
fn find_user<'a>(
    kubeconfig: &'a Kubeconfig,
    name: &str,
    context: &Context,
) -> Result<Option<&'a AuthInfo>, Rejected> {
    let Some(user) = nonempty(context.user.as_ref()) else {
        return Ok(None);
    };
    let named = kubeconfig.auth_infos.iter().find(|named| named.name == user);
    let found = named.and_then(|named| named.auth_info.as_ref());
    found.map(Some).ok_or_else(|| Rejected::Absent {
        context: name.into(),
        kind: "user",
        name: user.into(),
    })
}

fn refuse_in_cluster(cluster: &Cluster, at: &Field) -> Result<(), Rejected> {
    // Going around a proxy that the file asks for would reach another network.
    at.refuse_if(
        nonempty(cluster.proxy_url.as_ref()).is_some(),
        ".proxy-url",
        NOT_YET,
    )?;
    at.refuse_if(!cluster.other.is_empty(), "", UNKNOWN)
}

fn refuse_in_user(user: &AuthInfo, at: &Field) -> Result<(), Rejected> {
    at.refuse_if(user.exec.is_some(), ".exec", PROGRAMS)?;
    at.refuse_if(user.auth_provider.is_some(), ".auth-provider", PROGRAMS)?;
    at.refuse_if(user.impersonate.is_some(), ".as", NOT_YET)?;
    at.refuse_if(user.impersonate_uid.is_some(), ".as-uid", NOT_YET)?;
    at.refuse_if(user.impersonate_groups.is_some(), ".as-groups", NOT_YET)?;
    at.refuse_if(user.impersonate_user_extra.is_some(), ".as-user-extra", NOT_YET)?;
    at.refuse_if(!user.other.is_empty(), "", UNKNOWN)
}

fn server(cluster: &Cluster, at: &Field) -> Result<Uri, Rejected> {
    let Some(server) = nonempty(cluster.server.as_ref()) else {
        return Err(at.invalid(".server", "missing: give the address of the API server"));
    };
    let uri: Uri = server
        .parse()
        .map_err(|_| at.invalid(".server", "not an address"))?;
    if !matches!(uri.scheme_str(), Some("https" | "http")) {
        return Err(at.invalid(".server", "must begin with https:// or http://"));
    }
    let authority = uri
        .authority()
        .map(http::uri::Authority::as_str)
        .unwrap_or_default();
    if authority.contains('@') {
        return Err(at.invalid(
            ".server",
            "has a user in it: use the fields of `user` for credentials",
        ));
    }
    if uri.query().is_some() {
        return Err(at.invalid(".server", "has a query, which no API server takes"));
    }
    Ok(uri)
}

fn trust(cluster: &Cluster, at: &Field) -> Result<Trust, Rejected> {
    let given = at.data_or_file(
        cluster.certificate_authority_data.as_deref(),
        cluster.certificate_authority.as_deref(),
        ".certificate-authority",
    )?;
    let skip = cluster.insecure_skip_tls_verify.unwrap_or(false);
    let Some((field, pem)) = given else {
        return Ok(if skip { Trust::Anyone } else { Trust::System });
    };
    if skip {
        let reason = "contradicts the certificate authority that is given beside it: remove one";
        return Err(at.invalid(".insecure-skip-tls-verify", reason));
    }
    let authorities = certificates(&pem).ok_or_else(|| at.invalid(field, "holds no PEM certificate"))?;
    let mut store = RootCertStore::empty();
    for der in &authorities {
        let added = store.add(CertificateDer::from(der.as_slice()));
        added.map_err(|_| at.invalid(field, "a certificate in it is damaged or not an authority"))?;
    }
    Ok(Trust::Authorities(authorities))
}

fn tls_server_name(cluster: &Cluster, at: &Field) -> Result<Option<String>, Rejected> {
    let Some(name) = nonempty(cluster.tls_server_name.as_ref()) else {
        return Ok(None);
    };
    ServerName::try_from(name).map_err(|_| at.invalid(".tls-server-name", "not a host name or address"))?;
    Ok(Some(name.to_owned()))
}

fn identity(user: &AuthInfo, at: &Field) -> Result<Option<Identity>, Rejected> {
    let certificate = at.data_or_file(
        user.client_certificate_data.as_deref(),
        user.client_certificate.as_deref(),
        ".client-certificate",
    )?;
    let key_data = user.client_key_data.as_ref().map(ExposeSecret::expose_secret);
    let key = at.data_or_file(key_data, user.client_key.as_deref(), ".client-key")?;
    let ((at_certificate, certificate), (at_key, key)) = match (certificate, key) {
        (None, None) => return Ok(None),
        (Some((field, _)), None) => return Err(at.invalid(field, "has no client key beside it")),
        (None, Some((field, _))) => return Err(at.invalid(field, "has no client certificate beside it")),
        (Some(certificate), Some(key)) => (certificate, key),
    };
    if certificates(&certificate).is_none() {
        return Err(at.invalid(at_certificate, "holds no PEM certificate"));
    }
    // What the parsers say is left out: it quotes the key.
    let parsed =
        PrivateKeyDer::from_pem_slice(&key).map_err(|_| at.invalid(at_key, "holds no PEM private key"))?;
    rustls::crypto::ring::sign::any_supported_type(&parsed)
        .map_err(|_| at.invalid(at_key, "not a usable RSA, ECDSA or Ed25519 key"))?;
    let key = String::from_utf8(key).map_err(|_| at.invalid(at_key, "not text"))?;
    Ok(Some(Identity {
        certificate,
        key: key.into(),
    }))
}

/// One way of showing who one is; `tokenFile` beats `token`, as for `kubectl`.
fn credentials(user: &AuthInfo, at: &Field) -> Result<Credentials, Rejected> {
    let token = user.token.as_ref().map(|token| token.expose_secret().trim());
    let token = token.filter(|token| !token.is_empty());
    let file = nonempty(user.token_file.as_ref());
    let username = nonempty(user.username.as_ref());
    if username.is_some() && (token.is_some() || file.is_some()) {
        return Err(at.invalid(".username", "given beside a token: remove one"));
    }
    if let Some(file) = file {
        return token_file(file, at);
    }
    if let Some(token) = token {
        return match HeaderValue::from_str(token) {
            Ok(_) => Ok(Credentials::Token(token.into())),
            Err(_) => Err(at.invalid(".token", "has characters that no header can carry")),
        };
    }
    let password = user
        .password
        .as_ref()
        .map(ExposeSecret::expose_secret)
        .unwrap_or_default();
    match username {
        Some(username) if username.contains(':') => Err(at.invalid(".username", "contains a colon")),
        Some(username) => Ok(Credentials::Basic(username.into(), SecretString::from(password))),
        None if !password.is_empty() => Err(at.invalid(".password", "has no `username` beside it")),
        None => Ok(Credentials::None),
    }
}

/// A token file must be there to begin with; what is in it is read when it is used.
fn token_file(file: &str, at: &Field) -> Result<Credentials, Rejected> {
    let path = PathBuf::from(file);
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => Ok(Credentials::TokenFile(path)),
        Ok(_) => Err(at.invalid(".tokenFile", "not a regular file")),
        Err(error) => Err(at.invalid(".tokenFile", error.kind())),
    }
}

fn certificates(pem: &[u8]) -> Option<Vec<Vec<u8>>> {
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all: Vec<_> = parsed.ok()?.iter().map(|der| der.as_ref().to_vec()).collect();
    (!all.is_empty()).then_some(all)
}

fn nonempty(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

/// A place in the kubeconfig, for messages.
struct Field {
    context: String,
    path: String,
}

impl Field {
    fn new(context: &str, path: String) -> Self {
        Self {
            context: context.to_owned(),
            path,
        }
    }

    fn invalid(&self, field: &str, reason: impl Display) -> Rejected {
        Rejected::Invalid {
            context: self.context.clone(),
            field: format!("{}{field}", self.path),
            reason: reason.to_string(),
        }
    }

    fn refuse_if(&self, present: bool, field: &str, reason: &'static str) -> Result<(), Rejected> {
        if !present {
            return Ok(());
        }
        Err(Rejected::Unsupported {
            context: self.context.clone(),
            field: format!("{}{field}", self.path),
            reason,
        })
    }

    /// The bytes of `<field>-data`, or else of the file that `<field>` names, and which of the two it was.
    fn data_or_file(
        &self,
        data: Option<&str>,
        file: Option<&str>,
        field: &'static str,
    ) -> Result<Option<(&'static str, Vec<u8>)>, Rejected> {
        if let Some(data) = data.filter(|data| !data.is_empty()) {
            let field = data_field(field);
            let decoded = STANDARD
                .decode(data.trim())
                .map_err(|_| self.invalid(field, "not base64"))?;
            return Ok(Some((field, decoded)));
        }
        let Some(file) = file.filter(|file| !file.is_empty()) else {
            return Ok(None);
        };
        let text = super::kubeconfig::read_text(file.as_ref()).map_err(|error| self.invalid(field, error))?;
        Ok(Some((field, text.into_bytes())))
    }
}

fn data_field(field: &'static str) -> &'static str {
    match field {
        ".certificate-authority" => ".certificate-authority-data",
        ".client-certificate" => ".client-certificate-data",
        _ => ".client-key-data",
    }
}
