//! Which fields of a kubeconfig are obeyed, which are refused, and that no text shows a secret.
use super::{
    super::{Access, Connection, Rejected},
    kubeconfig,
    tls::{Authority, data},
    yaml,
};
use std::fmt::Write as _;

/// Refused contexts: lines of the cluster, lines of the user, the field that the error names.
const REFUSED: &[(&[&str], &[&str], &str)] = &[
    (
        &[],
        &["exec: {command: hunter2-SECRET, apiVersion: v1}"],
        "users[u].user.exec",
    ),
    (
        &[],
        &["auth-provider: {name: hunter2-SECRET}"],
        "users[u].user.auth-provider",
    ),
    (&[], &["as: hunter2-SECRET"], "users[u].user.as"),
    (&[], &["as-uid: hunter2-SECRET"], "users[u].user.as-uid"),
    (&[], &["as-groups: [hunter2-SECRET]"], "users[u].user.as-groups"),
    (
        &[],
        &["as-user-extra: {hunter2-SECRET: [a]}"],
        "users[u].user.as-user-extra",
    ),
    (&[], &["hunter2-SECRET: x"], "users[u].user"),
    (&[], &["unknown: hunter2-SECRET"], "users[u].user"),
    (
        &["proxy-url: http://hunter2-SECRET@proxy:3128"],
        &[],
        "clusters[k].cluster.proxy-url",
    ),
    (&["hunter2-SECRET: x"], &[], "clusters[k].cluster"),
    (
        &["certificate-authority-data: hunter2-SECRET"],
        &[],
        "clusters[k].cluster.certificate-authority-data",
    ),
    (
        &["certificate-authority: /hunter2-SECRET"],
        &[],
        "clusters[k].cluster.certificate-authority",
    ),
    (
        &["certificate-authority-data: aHVudGVyMi1TRUNSRVQ="],
        &[],
        "clusters[k].cluster.certificate-authority-data",
    ),
    (
        &["tls-server-name: hunter2 SECRET"],
        &[],
        "clusters[k].cluster.tls-server-name",
    ),
    (&[], &["token: \"hunter2-SECRET\\u0007\""], "users[u].user.token"),
    (&[], &["tokenFile: /hunter2-SECRET"], "users[u].user.tokenFile"),
    (&[], &["tokenFile: /dev/zero"], "users[u].user.tokenFile"),
    (
        &[],
        &["client-key-data: aHVudGVyMi1TRUNSRVQ="],
        "users[u].user.client-key-data",
    ),
    (
        &[],
        &["client-certificate-data: aHVudGVyMi1TRUNSRVQ="],
        "users[u].user.client-certificate-data",
    ),
    (
        &[],
        &[
            "client-certificate-data: aHVudGVyMi1TRUNSRVQ=",
            "client-key-data: aHVudGVyMi1TRUNSRVQ=",
        ],
        "users[u].user.client-certificate-data",
    ),
    (&[], &["client-key: /hunter2-SECRET"], "users[u].user.client-key"),
    (
        &[],
        &["username: hunter2-SECRET", "token: hunter2-SECRET"],
        "users[u].user.username",
    ),
    (&[], &["username: hunter2:SECRET"], "users[u].user.username"),
    (&[], &["password: hunter2-SECRET"], "users[u].user.password"),
];

fn shows_no_secret(text: &str) {
    assert!(!text.contains("hunter2") && !text.contains("SECRET"), "{text}");
}

fn field_of(error: &Rejected) -> &str {
    match error {
        Rejected::Unsupported { field, .. } | Rejected::Invalid { field, .. } => field,
        other => panic!("no field in {other:?}"),
    }
}

#[test]
fn every_forbidden_field_is_refused_by_its_path_without_its_value() {
    for (cluster, user, field) in REFUSED {
        let yaml = yaml("https://a.test:6443", cluster, user);
        let error = Connection::from_kubeconfig(&kubeconfig(&yaml), "c").expect_err(field);
        assert_eq!(field_of(&error), *field);
        assert!(
            error.to_string().starts_with(&format!("context `c`: {field}: ")),
            "{error}"
        );
        shows_no_secret(&format!("{error} {error:?}"));
    }
}

#[test]
fn a_program_is_refused_with_a_way_out() {
    let yaml = yaml("https://a.test", &[], &["exec: {command: aws}"]);
    let error = Connection::from_kubeconfig(&kubeconfig(&yaml), "c").unwrap_err();
    assert_eq!(
        error.to_string(),
        "context `c`: users[u].user.exec: not supported yet: it would run a program; \
         give the user a token or a client certificate"
    );
}

#[test]
fn servers_must_be_plain_addresses() {
    for server in [
        "\"\"",
        "a.test:6443",
        "ftp://a.test",
        "https://hunter2:SECRET@a.test",
        "https://a.test/?hunter2=SECRET",
        "\"https://hunter2 SECRET\"",
    ] {
        let error = Connection::from_kubeconfig(&kubeconfig(&yaml(server, &[], &[])), "c").expect_err(server);
        assert_eq!(field_of(&error), "clusters[k].cluster.server");
        shows_no_secret(&format!("{error} {error:?}"));
    }
}

#[test]
fn what_is_accepted_shows_context_and_server_only() {
    let authority = Authority::new();
    let (certificate, key) = authority.sign("client");
    let ca = data("certificate-authority-data", &authority.pem());
    let identity = [
        data("client-certificate-data", &certificate),
        data("client-key-data", &key),
    ];
    let accepted: &[(&[&str], &[&str])] = &[
        (&[], &[]),
        (&[&ca, "tls-server-name: b.test"], &["token: hunter2-SECRET"]),
        (
            &["insecure-skip-tls-verify: true"],
            &["username: u", "password: hunter2-SECRET"],
        ),
        (
            &["disable-compression: true", "proxy-url: \"\""],
            &["token: \"hunter2-SECRET\\n\""],
        ),
        (
            &[&ca, "extensions: [{name: x, extension: {a: hunter2-SECRET}}]"],
            &[&identity[0], &identity[1]],
        ),
    ];
    for (cluster, user) in accepted {
        let yaml = yaml("https://a.test:6443/path", cluster, user);
        let connection = Connection::from_kubeconfig(&kubeconfig(&yaml), "c").unwrap();
        assert_eq!(connection.server(), "https://a.test:6443/path");
        let shown = format!("{connection:?}");
        assert_eq!(
            shown,
            "Connection { context: \"c\", server: https://a.test:6443/path, .. }"
        );
        shows_no_secret(&format!("{:?}", Access::from(connection)));
    }
}

#[test]
fn skipping_verification_beside_an_authority_is_a_contradiction() {
    let ca = data("certificate-authority-data", &Authority::new().pem());
    let yaml = yaml("https://a.test", &[&ca, "insecure-skip-tls-verify: true"], &[]);
    let error = Connection::from_kubeconfig(&kubeconfig(&yaml), "c").unwrap_err();
    assert_eq!(field_of(&error), "clusters[k].cluster.insecure-skip-tls-verify");
}

#[test]
fn what_a_context_names_must_exist_but_a_user_need_not_be_named() {
    let whole = yaml("https://a.test", &[], &[]);
    let cases = [
        (
            "cluster: k",
            "cluster: z",
            "context `c`: clusters[z]: no such cluster in the kubeconfig",
        ),
        (
            "user: u",
            "user: z",
            "context `c`: users[z]: no such user in the kubeconfig",
        ),
    ];
    for (from, to, expected) in cases {
        let error = Connection::from_kubeconfig(&kubeconfig(&whole.replacen(from, to, 1)), "c").unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(error.is_absence());
    }
    let anonymous = whole.replacen("    user: u\n", "", 1);
    assert!(Connection::from_kubeconfig(&kubeconfig(&anonymous), "c").is_ok());
    let error = Connection::from_kubeconfig(&kubeconfig(&whole), "z").unwrap_err();
    assert_eq!(error.to_string(), "context `z`: not in the kubeconfig");
}

#[test]
fn a_syntax_error_names_line_column_and_field_but_quotes_nothing() {
    let broken = yaml("https://a.test", &[], &["token: [hunter2-SECRET"]);
    let error = super::super::kubeconfig::parse(&broken, None).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("not a kubeconfig: line "), "{text}");
    shows_no_secret(&format!("{text} {error:?}"));
    let wrong = yaml(
        "https://a.test",
        &["insecure-skip-tls-verify: hunter2-SECRET"],
        &[],
    );
    let error = super::super::kubeconfig::parse(&wrong, None).unwrap_err();
    assert!(
        error.to_string().contains("near `insecure-skip-tls-verify`"),
        "{error}"
    );
    shows_no_secret(&format!("{error} {error:?}"));
}

#[test]
fn the_first_file_of_a_list_wins_and_files_that_are_not_there_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (directory.path().join("1"), directory.path().join("2"));
    std::fs::write(&first, yaml("https://first.test", &[], &[])).unwrap();
    let extra = yaml("https://second.test", &[], &[])
        .replace("name: c", "name: d")
        .replace("current-context: c", "current-context: d");
    std::fs::write(&second, extra).unwrap();
    let absent = directory.path().join("0");
    let paths = [&absent, &first, &second];
    let current = Connection::from_files(&paths, None).unwrap();
    assert_eq!(
        (current.context(), &*current.server()),
        ("c", "https://first.test/")
    );
    let named = Connection::from_files(&paths, Some("d")).unwrap();
    assert_eq!(
        named.server(),
        "https://first.test/",
        "cluster `k` of the first file wins"
    );
    assert!(matches!(
        Connection::from_files(&[&absent], None),
        Err(Rejected::File { .. })
    ));
}

#[test]
fn texts_that_unfold_or_nest_without_end_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{inner}]").unwrap();
    }
    let nested = format!("extra: {}{}", "[".repeat(200_000), "]".repeat(200_000));
    for text in [bomb, nested] {
        let refused = super::super::kubeconfig::parse(&text, None);
        assert!(matches!(refused, Err(Rejected::Syntax { .. })));
    }
}
