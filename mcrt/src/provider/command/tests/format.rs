//! The format, line by line: what is taken, and what is said of the rest without repeating it.
use super::super::line::Line;
use crate::{connect::Policy, provider::said::Claim};
use serde_json::{Value, json};

/// `+server`, `?reason`, `-name`, `synced` or `!reason`.
fn read_by(line: &[u8], policy: &Policy) -> String {
    match Line::read(line) {
        Line::Cluster(name, described) => match described.map(|described| described.vet(&name, policy)) {
            Ok(Claim::Good(spec)) => format!("+{}", spec.access.server()),
            Ok(Claim::Bad(reason)) | Err(reason) => format!("?{reason}"),
        },
        Line::Remove(name) => format!("-{name}"),
        Line::Synced => "synced".into(),
        Line::Nameless(reason) => format!("!{reason}"),
    }
}

fn read(line: &str) -> String {
    read_by(line.as_bytes(), &Policy::strict())
}

fn cluster(fields: Value) -> String {
    let mut line = json!({"name": "a"});
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
        line.extend(fields);
    }
    line.to_string()
}

#[test]
fn lines_of_no_cluster_are_told_without_their_contents() {
    for (line, told) in [
        ("SECRET", "!is not JSON: it goes wrong at column 1"),
        (
            "{\"name\": \"SECRET\"",
            "!is not JSON: it goes wrong at column 17",
        ),
        (
            "{\"name\": \"a\"} SECRET",
            "!is not JSON: it goes wrong at column 15",
        ),
        ("[\"SECRET\"]", "!is no JSON object"),
        ("null", "!is no JSON object"),
        ("{}", "!has no `name`"),
        ("{\"name\": null}", "!has no `name`"),
        ("{\"name\": [\"SECRET\"]}", "!its `name` must be a text"),
        ("{\"name\": \"\"}", "!the name of a cluster is empty"),
        (
            "{\"name\": \"a\\nSECRET\"}",
            "!the name of a cluster has a control character at byte 1",
        ),
        ("{\"synced\": false}", "!must be `{\"synced\": true}`"),
        (
            "{\"synced\": true, \"name\": \"SECRET\"}",
            "!must be `{\"synced\": true}`",
        ),
        ("{\"remove\": [\"SECRET\"]}", "!must be `{\"remove\": \"NAME\"}`"),
        (
            "{\"remove\": \"SECRET\", \"name\": \"SECRET\"}",
            "!must be `{\"remove\": \"NAME\"}`",
        ),
        ("{\"remove\": \"\"}", "!the name of a cluster is empty"),
    ] {
        let said = read(line);
        assert!(
            said.starts_with(told) && !said.contains("SECRET"),
            "{line}: {said}"
        );
    }
    assert!(read(&json!({"name": "x".repeat(254)}).to_string()).contains("254 bytes"));
    assert!(read_by(b"\xff\xfe", &Policy::strict()).starts_with("!is not JSON"));
    assert!(
        read(&("[".repeat(100_000))).starts_with("!is not JSON"),
        "nor does it go too deep"
    );
}

#[test]
fn any_name_is_a_name() {
    for name in [
        "A/b#c+d:e",
        "arn:aws:eks:eu-west-1:1:cluster/x",
        "ÜBER",
        "host",
        &"x".repeat(253),
    ] {
        let line = json!({"name": name, "access": {"server": "https://a.test"}}).to_string();
        assert_eq!(read(&line), "+https://a.test/", "{name}");
        assert_eq!(read(&json!({"remove": name}).to_string()), format!("-{name}"));
    }
}

#[test]
fn fields_are_told_by_their_names_and_never_by_their_values() {
    let reached = "its line must have one of kubeconfig, access, unusable, and has ";
    for (fields, told) in [
        (json!({}), format!("?{reached}none")),
        (json!({"kubeconfig": null}), format!("?{reached}none")),
        (
            json!({"kubeconfig": "SECRET", "access": {}}),
            format!("?{reached}several"),
        ),
        (
            json!({"SECRET": 1}),
            "?its line has a field that is not known; known are name, uid".into(),
        ),
        (
            json!({"kubeconfig": 5}),
            "?`kubeconfig` in its line must be a text or an object".into(),
        ),
        (
            json!({"access": "SECRET"}),
            "?`access` in its line must be an object".into(),
        ),
        (
            json!({"unusable": true}),
            "?`unusable` in its line must be a text".into(),
        ),
        (json!({"uid": 5}), "?`uid` in its line must be a text".into()),
        (
            json!({"labels": {"a": 5}}),
            "?`labels` in its line must be an object of texts".into(),
        ),
        (
            json!({"properties": ["SECRET"]}),
            "?`properties` in its line must be an object of texts".into(),
        ),
        (
            json!({"access": {}, "context": "SECRET"}),
            "?`context` in its line is for a `kubeconfig`".into(),
        ),
        (
            json!({"access": {"sever": "SECRET"}}),
            "?`access` in its line has a field that is not known".into(),
        ),
        (
            json!({"access": {}}),
            "?its kubeconfig: context `a`: clusters[a].cluster.server: missing".into(),
        ),
        (
            json!({"access": {"server": ""}}),
            "?its kubeconfig: context `a`: clusters[a].cluster.server: ".into(),
        ),
        (
            json!({"access": {"server": "SECRET"}}),
            "?its kubeconfig: context `a`: clusters[a].cluster.server: ".into(),
        ),
        (
            json!({"access": {"server": ["SECRET"]}}),
            "?its kubeconfig: not a kubeconfig: line 1".into(),
        ),
        (
            json!({"kubeconfig": ""}),
            "?its kubeconfig: not a kubeconfig: empty".into(),
        ),
        (
            json!({"kubeconfig": "SECRET"}),
            "?its kubeconfig: not a kubeconfig: line 1".into(),
        ),
        (json!({"kubeconfig": {}}), "?its kubeconfig: ".into()),
        (
            json!({"unusable": "is\n being\u{1b}[31m  made"}),
            "?is being[31m made".into(),
        ),
    ] {
        let said = read(&cluster(fields.clone()));
        assert!(
            said.starts_with(&told) && !said.contains("SECRET"),
            "{fields}: {said}"
        );
    }
}

#[test]
fn what_a_kubeconfig_may_ask_for_is_the_operators_to_say() {
    let exec = json!({"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws"});
    for (access, allowed) in [
        (
            json!({"server": "https://a.test", "exec": exec}),
            Policy::strict().allow_command("aws"),
        ),
        (
            json!({"server": "https://127.0.0.1:6443"}),
            Policy::strict().allow_local_servers(),
        ),
        (
            json!({"server": "http://a.test", "token": "SECRET"}),
            Policy::own_files(),
        ),
        (
            json!({"server": "https://a.test", "insecure-skip-tls-verify": true}),
            Policy::strict().allow_insecure_tls(),
        ),
    ] {
        let line = cluster(json!({"access": access}));
        let refused = read(&line);
        assert!(
            refused.starts_with("?its kubeconfig: context `a`: ") && !refused.contains("SECRET"),
            "{refused}"
        );
        let taken = read_by(line.as_bytes(), &allowed);
        assert!(taken.starts_with("+http"), "{taken}");
    }
}

#[test]
fn a_certificate_that_has_expired_is_refused() {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["a".into()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    let expired = params.self_signed(&key).unwrap();
    let data = |pem: String| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(pem)
    };
    let access = json!({
        "server": "https://a.test",
        "client-certificate-data": data(expired.pem()),
        "client-key-data": data(key.serialize_pem()),
    });
    let said = read(&cluster(json!({"access": access})));
    assert!(
        said.contains("client-certificate-data") && said.contains("expired"),
        "{said}"
    );
}

#[test]
fn a_kubeconfig_is_text_or_an_object_with_a_context_to_choose() {
    let object = json!({
        "clusters": [
            {"name": "x", "cluster": {"server": "https://x.test"}},
            {"name": "y", "cluster": {"server": "https://y.test"}},
        ],
        "contexts": [
            {"name": "x", "context": {"cluster": "x", "user": "u"}},
            {"name": "y", "context": {"cluster": "y", "user": "u"}},
        ],
        "current-context": "x",
        "users": [{"name": "u", "user": {"token": "SECRET"}}],
    });
    for kubeconfig in [object.clone(), Value::String(object.to_string())] {
        assert_eq!(
            read(&cluster(json!({"kubeconfig": kubeconfig}))),
            "+https://x.test/"
        );
        let chosen = json!({"kubeconfig": kubeconfig, "context": "y"});
        assert_eq!(read(&cluster(chosen)), "+https://y.test/");
        let absent = read(&cluster(json!({"kubeconfig": kubeconfig, "context": "z"})));
        assert!(absent.contains("context `z`"), "{absent}");
    }
}
