//! What each opt-in opens: one thing, and nothing else.
use super::*;
use crate::connect::connection::{Credentials, Trust};
use std::path::Path;

type OptIn = fn(Policy) -> Policy;

/// Each opt-in of one word: the server, lines of the cluster and the user that need it, the field that is refused
/// without it.
const OPT_INS: &[(OptIn, &str, &[&str], &[&str], &str)] = &[
    (
        Policy::allow_plain_http,
        "http://a.test",
        &[],
        &[],
        "clusters[k].cluster.server",
    ),
    (
        Policy::allow_local_servers,
        "https://127.0.0.1:6443",
        &[],
        &[],
        "clusters[k].cluster.server",
    ),
    (
        Policy::allow_local_servers,
        "https://localhost",
        &[],
        &[],
        "clusters[k].cluster.server",
    ),
    (
        Policy::allow_insecure_tls,
        "https://a.test",
        &["insecure-skip-tls-verify: true"],
        &[],
        "clusters[k].cluster.insecure-skip-tls-verify",
    ),
    (
        Policy::allow_proxies,
        "https://a.test",
        &["proxy-url: \"http://user:hunter2-SECRET@proxy:3128\""],
        &[],
        "clusters[k].cluster.proxy-url",
    ),
    (
        Policy::allow_impersonation,
        "https://a.test",
        &[],
        &["as: hunter2-SECRET", "as-groups: [hunter2-SECRET]"],
        "users[u].user.as",
    ),
    (
        |policy| policy.allow_command("plugin"),
        "https://a.test",
        &[],
        &[
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: plugin, interactiveMode: Never, \
            args: [hunter2-SECRET]}",
        ],
        "users[u].user.exec",
    ),
    (
        Policy::allow_any_file,
        "https://a.test",
        &[],
        &["tokenFile: /proc/self/status"],
        "users[u].user.tokenFile",
    ),
];

/// All opt-ins but this one and those that open the same.
fn all_but(left_out: usize) -> Policy {
    OPT_INS
        .iter()
        .filter(|(.., field)| *field != OPT_INS[left_out].4 || field.ends_with(".server"))
        .filter(|(allow, ..)| {
            let with = allow(Policy::strict());
            with != OPT_INS[left_out].0(Policy::strict())
        })
        .fold(Policy::strict(), |policy, (allow, ..)| allow(policy))
}

#[test]
fn each_opt_in_opens_its_field_and_no_other() {
    for (index, (allow, server, cluster, user, field)) in OPT_INS.iter().enumerate() {
        let yaml = yaml(server, cluster, user);
        for policy in [Policy::strict(), all_but(index)] {
            let error = vet(&yaml, &policy).expect_err(field);
            assert!(matches!(error, Rejected::Forbidden { .. }), "{error}");
            assert_eq!(field_of(&error), *field);
            assert!(
                error.to_string().contains("`Policy::allow_"),
                "says what to do: {error}"
            );
        }
        vet(&yaml, &allow(Policy::strict())).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_field_of_a_file_needs_an_allowed_directory() {
    let directory = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let authority = super::super::tls::Authority::new();
    let (certificate, key) = authority.sign("client");
    for at in [&directory, &outside] {
        let write = |name: &str, text: &str| std::fs::write(at.path().join(name), text).unwrap();
        write("ca", &authority.pem());
        write("certificate", &certificate);
        write("key", &key);
        write("token", SECRET);
    }
    let policy = Policy::strict().allow_files_under(directory.path());
    let lines = |at: &Path| {
        let line = |field: &str, name: &str| format!("{field}: {}", at.join(name).display());
        (
            line("certificate-authority", "ca"),
            [
                line("client-certificate", "certificate"),
                line("client-key", "key"),
                line("tokenFile", "token"),
            ],
        )
    };
    let (ca, user) = lines(directory.path());
    let user = user.each_ref().map(String::as_str);
    let whole = yaml("https://a.test", &[&ca], &user);
    let connection = vet(&whole, &policy).unwrap();
    assert!(connection.identity.is_some() && matches!(connection.trust, Trust::Authorities(_)));
    assert!(matches!(connection.credentials, Credentials::TokenFile(_)));

    let (ca, user) = lines(outside.path());
    for (cluster, user) in [
        (vec![&*ca], vec![]),
        (vec![], vec![&*user[0]]),
        (vec![], vec![&*user[1]]),
        (vec![], vec![&*user[2]]),
    ] {
        let whole = yaml("https://a.test", &cluster, &user);
        for policy in [&Policy::strict(), &policy] {
            let error = vet(&whole, policy).unwrap_err();
            assert!(matches!(error, Rejected::Forbidden { .. }), "{error}");
        }
    }
}

#[test]
fn whether_a_file_exists_is_not_told_outside_of_allowed_directories() {
    let directory = tempfile::tempdir().unwrap();
    let policy = Policy::strict().allow_files_under(directory.path());
    let said = |path: &str| {
        let whole = yaml(
            "https://a.test",
            &[&format!("certificate-authority: {path}")],
            &[],
        );
        vet(&whole, &policy).unwrap_err().to_string()
    };
    assert_eq!(said("/etc/passwd"), said("/etc/hunter2"));
    assert_eq!(said("/etc/passwd"), said("etc/passwd"));
    let inside = directory.path().join("nowhere");
    assert!(said(&inside.display().to_string()).ends_with("certificate-authority: entity not found"));
}

#[test]
fn a_file_that_is_not_allowed_is_refused_even_beside_data() {
    let ca = super::super::tls::data(
        "certificate-authority-data",
        &super::super::tls::Authority::new().pem(),
    );
    let error = strict(&[&ca, "certificate-authority: /etc/passwd"], &[]).unwrap_err();
    assert_eq!(field_of(&error), "clusters[k].cluster.certificate-authority");
}

#[test]
fn what_is_allowed_is_in_the_connection() {
    let whole = yaml(
        "https://a.test",
        &["proxy-url: http://proxy:3128"],
        &[
            "as: jane",
            "as-uid: \"7\"",
            "as-groups: [a, b]",
            "as-user-extra: {scopes: [x, y], acme.com/team: [z]}",
            "token: t",
        ],
    );
    let connection = vet(&whole, &everything()).unwrap();
    assert_eq!(connection.proxy.unwrap(), "http://proxy:3128/");
    let acts = connection.impersonate.unwrap();
    assert_eq!((&*acts.user, acts.uid.as_deref()), ("jane", Some("7")));
    assert_eq!(acts.groups, ["a", "b"]);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        acts.extra,
        [
            ("acme.com/team".to_owned(), words(&["z"])),
            ("scopes".to_owned(), words(&["x", "y"]))
        ]
    );
}
