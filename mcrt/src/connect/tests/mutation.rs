//! Kubeconfigs that somebody's disk, editor or malice has changed: no panic, no secret in any text, nothing that the
//! operator has not allowed.
use super::{
    super::{
        Access, Connection,
        kubeconfig::parse,
        vetting::{SECRET, vetting_holds},
    },
    yaml,
};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, subsequence},
};

/// Lines of a cluster, one of each kind that is obeyed, allowed or refused.
const CLUSTER: &[&str] = &[
    "certificate-authority: /proc/self/stat",
    "certificate-authority-data: UExBTlRFRFNFQ1JFVA==",
    "insecure-skip-tls-verify: true",
    "proxy-url: http://user:PLANTEDSECRET@proxy:3128",
    "tls-server-name: b.test",
    "disable-compression: true",
    "extensions: [{name: client.authentication.k8s.io/exec, extension: {a: PLANTEDSECRET}}]",
    "<<: {insecure-skip-tls-verify: true}",
    "unknown: PLANTEDSECRET",
];

const USER: &[&str] = &[
    "token: PLANTEDSECRET",
    "token: \"\\x50LANTEDSECRET\"",
    "token: &a PLANTEDSECRET",
    "password: *a",
    "tokenFile: /proc/self/stat",
    "tokenFile: /proc/self/../../etc/passwd",
    "client-certificate: /etc/passwd",
    "client-key-data: PLANTEDSECRET",
    "username: u",
    "password: PLANTEDSECRET",
    "as: jane",
    "as-groups: [PLANTEDSECRET]",
    "as-user-extra: {PLANTEDSECRET: [PLANTEDSECRET]}",
    "auth-provider: {name: gcp, config: {cmd-path: PLANTEDSECRET}}",
    "exec: {command: plugin, apiVersion: client.authentication.k8s.io/v1beta1, args: [PLANTEDSECRET]}",
    "exec: {command: plugin, apiVersion: client.authentication.k8s.io/v1beta1, provideClusterInfo: true}",
    "exec: {command: /bin/PLANTEDSECRET, apiVersion: client.authentication.k8s.io/v1beta1}",
    "exec: {command: plugin, env: [{name: PATH, value: PLANTEDSECRET}]}",
    "PLANTEDSECRET: a",
];

const SERVERS: &[&str] = &[
    "https://a.test",
    "http://a.test",
    "https://127.0.0.1",
    "https://u:PLANTEDSECRET@a.test",
    "http://localhost:8080",
];

/// A kubeconfig with some of these lines, and the bits of a policy before it.
fn composed() -> impl Strategy<Value = Vec<u8>> {
    let lines = |lines: &'static [&'static str]| subsequence(lines, 0..5);
    (
        any::<u8>(),
        prop::sample::select(SERVERS),
        lines(CLUSTER),
        lines(USER),
    )
        .prop_map(|(bits, server, cluster, user)| {
            let mut data = vec![bits];
            data.extend(yaml(server, &cluster, &user).into_bytes());
            data
        })
}

fn original() -> String {
    let user = [
        "token: PLANTEDSECRET",
        "client-key-data: PLANTEDSECRET",
        "password: PLANTEDSECRET",
    ];
    yaml(
        "https://a.test",
        &["certificate-authority-data: PLANTEDSECRET"],
        &user,
    )
}

/// Everything that can be shown of a text: what was refused, and what was accepted.
fn shown(text: &str) -> String {
    let kubeconfig = match parse(text, None) {
        Ok(kubeconfig) => kubeconfig,
        Err(error) => return format!("{error} {error:?}"),
    };
    let contexts = kubeconfig.contexts.iter();
    let shown = contexts.map(
        |named| match Connection::from_kubeconfig(&kubeconfig, &named.name) {
            Ok(connection) => format!("{:?}", Access::from(connection)),
            Err(error) => format!("{error} {error:?}"),
        },
    );
    shown.collect::<Vec<_>>().join("\n")
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        shown(&String::from_utf8_lossy(&bytes));
        vetting_holds(&bytes);
    }

    #[test]
    fn whatever_lines_a_kubeconfig_has_it_does_nothing_that_is_not_allowed(data in composed()) {
        vetting_holds(&data);
    }

    #[test]
    fn changed_bytes_make_nothing_allowed(
        mut data in composed(),
        changes in vec((any::<Index>(), any::<u8>(), 0..3u8), 1..8),
    ) {
        for (at, new, how) in changes {
            let at = at.index(data.len());
            match how {
                0 => data[at] = new,
                1 => data.insert(at, new),
                _ => drop(data.remove(at)),
            }
            data.resize(data.len().max(1), 0);
        }
        vetting_holds(&data);
    }

    #[test]
    fn a_kubeconfig_cut_anywhere_shows_no_secret(at: Index) {
        let text = original();
        prop_assert!(!shown(&text[..at.index(text.len())]).contains(SECRET));
    }

    #[test]
    fn a_kubeconfig_with_changed_bytes_shows_no_secret(
        changes in vec((any::<Index>(), any::<char>(), 0..3u8), 1..8),
    ) {
        let mut text: Vec<char> = original().chars().collect();
        for (at, new, how) in changes {
            let at = at.index(text.len());
            match how {
                0 => text[at] = new,
                1 => text.insert(at, new),
                _ => drop(text.remove(at)),
            }
        }
        prop_assert!(!shown(&text.into_iter().collect::<String>()).contains(SECRET));
    }

    #[test]
    fn a_kubeconfig_with_lines_lost_doubled_or_moved_shows_no_secret(
        changes in vec((any::<Index>(), any::<Index>(), 0..3u8), 1..6),
    ) {
        let text = original();
        let mut lines: Vec<&str> = text.lines().collect();
        for (from, to, how) in changes {
            let from = from.index(lines.len());
            let line = lines[from];
            if how > 0 {
                lines.remove(from);
            }
            if how < 2 || lines.is_empty() {
                lines.insert(to.index(lines.len() + 1), line);
            }
        }
        prop_assert!(!shown(&lines.join("\n")).contains(SECRET));
    }
}
