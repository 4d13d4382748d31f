//! Servers that know the secrets, and kubeconfigs that hold them.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fs::Permissions,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use mcrt::connect::{Access, Policy};
use mcrt_sim::{Authority, Listen, Listener, ServedKind, Server, User};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::planted::{
    ANNOTATION, BROKEN, DATA, NONSENSE, PAGE, PASSWORD, PROGRAM_ARGUMENT, PROGRAM_ENVIRONMENT,
    PROGRAM_ERRORS, PROGRAM_NONSENSE, PROGRAM_TOKEN, REFUSED, REJECTED, TOKEN, TOKEN_FILE, UNDECODABLE,
    base64,
};

/// Servers on ports, and a folder with kubeconfigs that lead to them.
pub(crate) struct Site {
    pub(crate) folder: TempDir,
    pub(crate) key: String,
    pub(crate) servers: BTreeMap<&'static str, Server>,
    listeners: Vec<Listener>,
    authority: Authority,
    urls: BTreeMap<&'static str, String>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let authority = Authority::new("secrets").unwrap();
        let mut site = Self {
            folder: tempfile::tempdir().unwrap(),
            key: String::new(),
            servers: BTreeMap::new(),
            listeners: Vec::new(),
            authority,
            urls: BTreeMap::new(),
        };
        for name in [
            "inline",
            "refused",
            "basic",
            "file",
            "key",
            "undecodable",
            "program",
            "nonsense",
            "fails",
        ] {
            let server = server(name);
            let listener = server
                .listen_with(Listen::new().tls(&site.authority))
                .await
                .unwrap();
            site.urls.insert(name, listener.url().to_owned());
            site.servers.insert(name, server);
            site.listeners.push(listener);
        }
        site.write();
        site
    }

    fn write(&mut self) {
        let (certificate, key) = identity();
        self.key = key;
        let tokens = self.folder.path().join("token");
        std::fs::write(&tokens, TOKEN_FILE.1).unwrap();
        let program = |name: &str| json!({ "exec": exec(&self.program(name)) });
        let contexts = [
            ("program", program("program")),
            ("nonsense", program("nonsense")),
            ("fails", program("fails")),
            ("inline", json!({ "token": TOKEN.1 })),
            ("refused", json!({ "token": REFUSED.1 })),
            ("basic", json!({ "username": "somebody", "password": PASSWORD.1 })),
            ("file", json!({ "tokenFile": tokens })),
            ("undecodable", json!({ "token": TOKEN.1 })),
            (
                "key",
                json!({
                    "client-certificate-data": base64(certificate.as_bytes()),
                    "client-key-data": base64(self.key.as_bytes()),
                }),
            ),
        ];
        let contexts = contexts.map(|(name, user)| (name, self.urls[name].clone(), user));
        self.kubeconfig("good.yaml", &contexts);
        let rejected = rejected().map(|(name, user)| (name, self.urls["inline"].clone(), user));
        self.kubeconfig("rejected.yaml", &rejected);
        let address = format!("https://somebody:{}@127.0.0.1:1", REJECTED.1);
        self.kubeconfig("address.yaml", &[("address", address, json!({}))]);
        let broken = format!("users:\n- name: u\n  user: {{token: {}\n", BROKEN.1);
        std::fs::write(self.folder.path().join("broken.yaml"), broken).unwrap();
    }

    /// The one program: under its own name it prints a token, under others what it must not.
    fn program(&self, name: &str) -> PathBuf {
        let credential = json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": { "token": PROGRAM_TOKEN.1 },
        });
        let rest = match name {
            "program" => format!("echo '{credential}'"),
            "nonsense" => format!(
                "echo '{{\"status\": {{\"token\": [\"{}\"]}}}}'",
                PROGRAM_NONSENSE.1
            ),
            _ => format!("echo '{}'\nexit 3", PROGRAM_NONSENSE.1),
        };
        let path = self.folder.path().join(format!("program-{name}"));
        std::fs::write(
            &path,
            format!("#!/bin/sh\necho '{}' >&2\n{rest}\n", PROGRAM_ERRORS.1),
        )
        .unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// By what this site may be used: its own programs, and those that the refused kubeconfig does not name.
    pub(crate) fn policy(&self) -> Policy {
        ["program", "nonsense", "fails"]
            .iter()
            .fold(Policy::own_files(), |policy, name| {
                let path = self.folder.path().join(format!("program-{name}"));
                policy.allow_command(path.display().to_string())
            })
    }

    fn kubeconfig(&self, file: &str, contexts: &[(&str, String, Value)]) {
        write(&self.folder.path().join(file), &self.authority, contexts);
    }
}

/// JSON is YAML.
fn write(path: &Path, authority: &Authority, contexts: &[(&str, String, Value)]) {
    let each = |entry: &dyn Fn(&(&str, String, Value)) -> Value| -> Vec<Value> {
        contexts.iter().map(entry).collect()
    };
    let ca = base64(authority.pem().as_bytes());
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": each(&|(name, server, _)| json!({
            "name": name,
            "cluster": { "server": server, "certificate-authority-data": ca },
        })),
        "users": each(&|(name, _, user)| json!({ "name": name, "user": user })),
        "contexts": each(&|(name, ..)| json!({ "name": name, "context": { "cluster": name, "user": name } })),
    });
    std::fs::write(path, kubeconfig.to_string()).unwrap();
}

/// Users that are refused, each for another reason.
fn rejected() -> [(&'static str, Value); 6] {
    let secret = REJECTED.1;
    let exec = exec(Path::new("forbidden"));
    [
        (
            "rejected",
            json!({ "auth-provider": { "name": "gcp", "config": { "access-token": secret } } }),
        ),
        ("program", json!({ "exec": exec })),
        ("misspelt", json!({ "tokken": secret })),
        ("lines", json!({ "token": format!("{secret}\n{secret}") })),
        (
            "base64",
            json!({ "client-certificate-data": "!", "client-key-data": format!("!{secret}") }),
        ),
        (
            "pem",
            json!({
                "client-certificate-data": base64(secret.as_bytes()),
                "client-key-data": base64(secret.as_bytes()),
            }),
        ),
    ]
}

/// A program with secrets in its arguments and environment.
fn exec(command: &Path) -> Value {
    json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": command,
        "args": [format!("--password={}", PROGRAM_ARGUMENT.1)],
        "env": [{ "name": "PASSWORD", "value": PROGRAM_ENVIRONMENT.1 }],
        "interactiveMode": "Never",
        "installHint": "install it",
    })
}

/// A certificate and its key.
fn identity() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["somebody".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// A server with secrets in it, which lets in whoever brings the right token, the one of the key all.
fn server(name: &str) -> Server {
    let server = Server::new(name);
    if name == "undecodable" {
        // A server of a later version, say, where the field is a text.
        server.unserve("", "secrets");
        server.serve(ServedKind {
            group: String::new(),
            version: "v1".into(),
            kind: "Secret".into(),
            plural: "secrets".into(),
            namespaced: true,
            status_subresource: false,
        });
        server
            .create(object("keys", &json!({ "immutable": UNDECODABLE.1 })))
            .unwrap();
    } else {
        let data = json!({ "data": { "key": base64(DATA.1.as_bytes()) } });
        server.create(object("keys", &data)).unwrap();
    }
    let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "config" } });
    server.create(config).unwrap();
    if name != "key" {
        for token in [TOKEN, TOKEN_FILE, PROGRAM_TOKEN] {
            server.add_token(token.1, User::admin("operator"));
        }
    }
    server
}

fn object(name: &str, more: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": { "kubectl.kubernetes.io/last-applied-configuration": ANNOTATION.1, "note": ANNOTATION.1 },
        },
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    object
}

/// What a server without tokens answers, for a simulated cluster.
pub(crate) fn open_server(name: &str) -> Server {
    let server = Server::new(name);
    let data = json!({ "data": { "key": base64(DATA.1.as_bytes()) } });
    server.create(object("keys", &data)).unwrap();
    server
}

/// Something that answers every question about its version, and all else with a page or with nonsense.
pub(crate) fn stranger(code: u16) -> Access {
    let answer = move |request: Request<kube::client::Body>| async move {
        let path = request.uri().path();
        let asked_for_health = path == "/version" || path == "/readyz" || path == "/livez";
        let (code, body) = match code {
            _ if asked_for_health => (200, r#"{"gitVersion": "v1.37.0"}"#.to_owned()),
            200 => (
                200,
                format!("{{\"items\": [{{\"metadata\": \"{}\"}}]}}", NONSENSE.1),
            ),
            code => (code, format!("<html>session={}</html>", PAGE.1)),
        };
        let answer = Response::builder()
            .status(code)
            .body(Full::new(Bytes::from(body)));
        Ok::<_, Infallible>(answer.unwrap())
    };
    Access::service(
        format!("a stranger who answers {code}"),
        tower::service_fn(answer),
    )
}
