//! What makes two ways to a cluster the same.
use super::{
    super::{Access, Connection},
    kubeconfig,
    tls::{Authority, data},
    yaml,
};
use std::collections::HashSet;

fn fingerprint(yaml: &str) -> u64 {
    let kubeconfig = kubeconfig(yaml);
    let context = kubeconfig.contexts[0].name.clone();
    Access::from(Connection::from_kubeconfig(&kubeconfig, &context).unwrap()).fingerprint()
}

#[test]
fn every_part_of_the_way_counts() {
    let ca = data("certificate-authority-data", &Authority::new().pem());
    let other_ca = data("certificate-authority-data", &Authority::new().pem());
    let all = [
        yaml("https://a.test", &[], &[]),
        yaml("https://b.test", &[], &[]),
        yaml("http://a.test", &[], &[]),
        yaml("https://a.test", &[&ca], &[]),
        yaml("https://a.test", &[&other_ca], &[]),
        yaml("https://a.test", &["insecure-skip-tls-verify: true"], &[]),
        yaml("https://a.test", &["tls-server-name: x"], &[]),
        yaml("https://a.test", &[], &["token: x"]),
        yaml("https://a.test", &[], &["token: y"]),
        yaml("https://a.test", &[], &["username: x"]),
        yaml("https://a.test", &[], &["username: x", "password: x"]),
        yaml("https://a.test", &[], &[]).replace("cluster: k\n", "cluster: k\n    namespace: n\n"),
    ];
    let distinct: HashSet<u64> = all.iter().map(|yaml| fingerprint(yaml)).collect();
    assert_eq!(distinct.len(), all.len());
}

#[test]
fn names_within_the_kubeconfig_do_not_count() {
    let one = yaml("https://a.test", &[], &["token: x"]);
    let other = one
        .replace("name: c", "name: z")
        .replace("name: u", "name: v")
        .replace("user: u", "user: v");
    assert_eq!(fingerprint(&one), fingerprint(&other));
}

#[test]
fn the_contents_of_certificate_files_count_and_of_token_files_only_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let (ca, token) = (directory.path().join("ca"), directory.path().join("token"));
    let write_ca = || std::fs::write(&ca, Authority::new().pem()).unwrap();
    write_ca();
    std::fs::write(&token, "one").unwrap();
    let yaml = yaml(
        "https://a.test",
        &[&format!("certificate-authority: {}", ca.display())],
        &[&format!("tokenFile: {}", token.display())],
    );
    let before = fingerprint(&yaml);
    std::fs::write(&token, "two").unwrap();
    assert_eq!(fingerprint(&yaml), before, "the client reads it again by itself");
    write_ca();
    assert_ne!(fingerprint(&yaml), before);
}

#[test]
fn services_are_told_apart_by_their_identity() {
    let service = |identity: &str| {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::ready(Ok::<_, std::convert::Infallible>(http::Response::new(
                kube::client::Body::empty(),
            )))
        });
        Access::service(identity, service)
    };
    assert_eq!(service("a").fingerprint(), service("a").fingerprint());
    assert_ne!(service("a").fingerprint(), service("b").fingerprint());
    assert_eq!(format!("{:?}", service("a")), "Service(Service(\"a\"))");
}
