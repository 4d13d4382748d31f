//! Who may speak to a control plane: the users in its token file, their tokens, and kubeconfigs for them.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read as _},
};

use k8s_openapi::ByteString;

/// A user every control plane knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// May do everything: group `system:masters`.
    Admin,
    /// May do nothing beyond discovery until a role is bound to `limited`.
    Limited,
    /// What kube-controller-manager runs as; its own user, so that its writes can be told from those of a test.
    ControllerManager,
}

impl User {
    const ALL: [Self; 3] = [Self::Admin, Self::Limited, Self::ControllerManager];

    /// The name the API server knows the user by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Limited => "limited",
            Self::ControllerManager => "system:kube-controller-manager",
        }
    }

    fn group(self) -> &'static str {
        match self {
            Self::Admin | Self::ControllerManager => "system:masters",
            Self::Limited => "limited",
        }
    }
}

/// The tokens of one control plane.
#[derive(Clone)]
pub(super) struct Tokens {
    secret: String,
    /// Counts the replacements of the administrator's token.
    replaced: u32,
}

impl Tokens {
    /// Fresh ones: two control planes never accept each other's.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let secret = bytes.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok(Self { secret, replaced: 0 })
    }

    pub(super) fn of(&self, user: User) -> String {
        match user {
            User::Admin => format!("admin-{}-{}", self.replaced, self.secret),
            User::Limited => format!("limited-{}", self.secret),
            User::ControllerManager => format!("controllers-{}", self.secret),
        }
    }

    /// Gives the administrator a new token in place of the old one.
    pub(super) fn replace_admin(&mut self) {
        self.replaced += 1;
    }

    /// The token file of the API server: a line per user.
    pub(super) fn file(&self) -> String {
        User::ALL
            .map(|user| {
                format!(
                    "{},{},{},{}\n",
                    self.of(user),
                    user.name(),
                    user.name(),
                    user.group()
                )
            })
            .concat()
    }
}

/// Shows nothing of the tokens.
impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(..)")
    }
}

/// A kubeconfig with everything inline: a cluster, a user and a context per name, the first of them current.
///
/// Each context has its own cluster and user, as tools that merge and split kubeconfigs expect.
pub(super) fn kubeconfig(server: &str, ca_pem: &str, token: &str, contexts: &[String]) -> String {
    let ca = json(&ByteString(ca_pem.as_bytes().to_vec()));
    let (server, token) = (json(server), json(token));
    let entries = |entry: &dyn Fn(&str) -> String| -> String {
        contexts
            .iter()
            .map(|context| entry(&json(context)))
            .collect::<Vec<_>>()
            .concat()
    };
    let cluster = format!("    server: {server}\n    certificate-authority-data: {ca}\n");
    let clusters = entries(&|name| format!("- name: {name}\n  cluster:\n{cluster}"));
    let users = entries(&|name| format!("- name: {name}\n  user:\n    token: {token}\n"));
    let pairs =
        entries(&|name| format!("- name: {name}\n  context:\n    cluster: {name}\n    user: {name}\n"));
    let current = json(contexts.first().map_or("", String::as_str));
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {current}\n\
         clusters:\n{clusters}users:\n{users}contexts:\n{pairs}"
    )
}

/// JSON is YAML, and quotes whatever a name may hold.
fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("text and byte strings have no form that JSON lacks")
}

#[cfg(test)]
mod tests {
    use kube::config::Kubeconfig;

    use super::*;

    #[test]
    fn a_kubeconfig_of_several_contexts_is_read_back() {
        let contexts = ["one".to_owned(), "two: a#b \"c\"".to_owned()];
        let yaml = kubeconfig("https://127.0.0.1:1", "the certificate", "the token", &contexts);
        let read = Kubeconfig::from_yaml(&yaml).unwrap();
        assert_eq!(read.current_context.as_deref(), Some("one"));
        let names = read
            .contexts
            .iter()
            .map(|context| context.name.clone())
            .collect::<Vec<_>>();
        assert_eq!(names, contexts);
        let cluster = read.clusters[1].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:1"));
        assert_eq!(
            cluster.certificate_authority_data.as_deref(),
            Some("dGhlIGNlcnRpZmljYXRl")
        );
    }

    #[test]
    fn a_replaced_token_is_in_the_token_file_and_the_old_one_is_not() {
        let mut tokens = Tokens::random().unwrap();
        let old = tokens.of(User::Admin);
        tokens.replace_admin();
        let file = tokens.file();
        assert!(!file.contains(&old) && file.contains(&tokens.of(User::Admin)));
    }

    #[test]
    fn two_control_planes_share_no_token() {
        let (one, other) = (Tokens::random().unwrap(), Tokens::random().unwrap());
        assert_ne!(one.of(User::Admin), other.of(User::Admin));
        assert!(!format!("{one:?}").contains(&one.secret));
    }
}
