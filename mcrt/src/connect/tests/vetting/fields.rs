//! Which fields are obeyed, which are refused by their path, and that no text shows a value.
use super::{
    super::tls::{Authority, data},
    *,
};

/// Contexts that no policy lets through: lines of the cluster, lines of the user, the field that the error names.
const REFUSED: &[(&[&str], &[&str], &str)] = &[
    (
        &[],
        &["auth-provider: {name: hunter2-SECRET, config: {cmd-path: hunter2-SECRET}}"],
        "users[u].user.auth-provider",
    ),
    (&[], &["hunter2-SECRET: x"], "users[u].user"),
    (&[], &["unknown: hunter2-SECRET"], "users[u].user"),
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
    (
        &["proxy-url: socks5://hunter2-SECRET"],
        &[],
        "clusters[k].cluster.proxy-url",
    ),
    (
        &["proxy-url: hunter2-SECRET"],
        &[],
        "clusters[k].cluster.proxy-url",
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
    (&[], &["as: \"hunter2-SECRET\\n\""], "users[u].user.as"),
    (&[], &["as-uid: hunter2-SECRET"], "users[u].user.as-uid"),
    (&[], &["as-groups: [hunter2-SECRET]"], "users[u].user.as-groups"),
    (
        &[],
        &["as: a", "as-groups: [\"hunter2-SECRET\\n\"]"],
        "users[u].user.as-groups",
    ),
    (
        &[],
        &["as-user-extra: {hunter2-SECRET: [a]}"],
        "users[u].user.as-user-extra",
    ),
    (
        &[],
        &["as: a", "as-user-extra: {\"\": [hunter2-SECRET]}"],
        "users[u].user.as-user-extra",
    ),
];

#[test]
fn what_no_policy_allows_is_refused_by_its_path_without_its_value() {
    for (cluster, user, field) in REFUSED {
        let error = vet(&yaml("https://a.test:6443", cluster, user), &everything()).expect_err(field);
        assert_eq!(field_of(&error), *field);
        let start = format!("context `c`: {field}: ");
        assert!(error.to_string().starts_with(&start), "{error}");
        assert!(matches!(
            error,
            Rejected::Invalid { .. } | Rejected::Unsupported { .. }
        ));
        strict(cluster, user).expect_err(field);
    }
}

#[test]
fn an_auth_provider_is_refused_with_a_way_out() {
    let error = strict(&[], &["auth-provider: {name: gcp}"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "context `c`: users[u].user.auth-provider: never obeyed: it can run programs and call servers of its choice; \
         use `exec`, a token or a client certificate"
    );
}

#[test]
fn a_name_that_is_nearly_right_is_corrected_but_not_repeated() {
    let missing = "has a field that is not known: remove it, or correct its name";
    for (line, hint) in [
        ("token-file: a", ", perhaps to `tokenFile`"),
        ("ClientKeyData: a", ", perhaps to `client-key-data`"),
        ("hunter2-SECRET: a", ""),
    ] {
        let error = strict(&[], &[line]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("context `c`: users[u].user: {missing}{hint}")
        );
    }
}

#[test]
fn fields_beside_the_known_ones_are_refused_wherever_they_stand() {
    let whole = yaml("https://a.test", &[], &[]);
    for (from, to, field) in [
        ("- name: k\n", "- name: k\n  hunter2-SECRET: a\n", "clusters[k]"),
        ("- name: u\n", "- name: u\n  hunter2-SECRET: a\n", "users[u]"),
        ("- name: c\n", "- name: c\n  hunter2-SECRET: a\n", "contexts[c]"),
        (
            "    user: u\n",
            "    user: u\n    hunter2-SECRET: a\n",
            "contexts[c].context",
        ),
        (
            "    user: u\n",
            "    user: u\n    namespace: ../hunter2\n",
            "contexts[c].context.namespace",
        ),
    ] {
        let error = vet(&whole.replacen(from, to, 1), &everything()).expect_err(field);
        assert_eq!(field_of(&error), field);
    }
}

#[test]
fn servers_must_be_plain_addresses() {
    for server in [
        "\"\"",
        "a.test:6443",
        "/a",
        "ftp://a.test",
        "https://",
        "https://a.test:0",
        "https://127.1",
        "https://hunter2:SECRET@a.test",
        "https://a.test/?hunter2=SECRET",
        "\"https://hunter2 SECRET\"",
    ] {
        let error = vet(&yaml(server, &[], &[]), &everything()).expect_err(server);
        assert_eq!(field_of(&error), "clusters[k].cluster.server");
        assert!(matches!(error, Rejected::Invalid { .. }), "{server}: {error}");
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
            &["insecure-skip-tls-verify: false"],
            &["username: u", "password: hunter2-SECRET"],
        ),
        (
            &["disable-compression: true", "proxy-url: \"\""],
            &["token: \"hunter2-SECRET\\n\"", "as: \"\"", "tokenFile: \"\""],
        ),
        (
            &[&ca, "extensions: [{name: x, extension: {a: hunter2-SECRET}}]"],
            &[&identity[0], &identity[1]],
        ),
    ];
    for (cluster, user) in accepted {
        let yaml = yaml("https://a.test:6443/path", cluster, user);
        let connection = vet(&yaml, &Policy::strict()).unwrap();
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
fn data_may_be_broken_into_lines() {
    let pem = Authority::new().pem();
    let line = data("certificate-authority-data", &pem);
    let (field, text) = line.split_once(' ').unwrap();
    let (left, right) = text.split_at(60);
    let broken = format!("{field} |\n      {left}\n      {right}\n");
    strict(&[&broken], &[]).unwrap();
}

#[test]
fn skipping_verification_beside_an_authority_is_a_contradiction() {
    let ca = data("certificate-authority-data", &Authority::new().pem());
    let yaml = yaml("https://a.test", &[&ca, "insecure-skip-tls-verify: true"], &[]);
    let error = vet(&yaml, &everything()).unwrap_err();
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
fn two_of_one_name_are_refused_instead_of_guessed() {
    let whole = yaml("https://a.test", &[], &[]);
    for (kind, again) in [
        (
            "clusters",
            "clusters:\n- {name: k, cluster: {server: \"https://b.test\"}}\n",
        ),
        ("contexts", "contexts:\n- {name: c, context: {cluster: k}}\n"),
        ("users", "users:\n- {name: u, user: {token: hunter2-SECRET}}\n"),
    ] {
        let twice = whole.replacen(&format!("{kind}:\n"), again, 1);
        let error = vet(&twice, &Policy::strict()).unwrap_err();
        assert!(field_of(&error).starts_with(kind), "{error}");
        assert!(
            error
                .to_string()
                .ends_with("is there more than once: remove all but one")
        );
    }
}

#[test]
fn a_name_is_shown_as_one_line_of_bounded_length() {
    let name = format!("\"\\e[31m\\n{}\"", "x".repeat(500));
    let whole =
        yaml("https://a.test", &[], &["token-file: a"]).replace("- name: u", &format!("- name: {name}"));
    let whole = whole.replace("user: u", &format!("user: {name}"));
    let error = vet(&whole, &Policy::strict()).unwrap_err().to_string();
    assert!(error.len() < 300 && !error.contains(char::is_control), "{error}");
    assert!(error.contains("users[\\u{1b}[31m\\nxxx"), "{error}");
}
