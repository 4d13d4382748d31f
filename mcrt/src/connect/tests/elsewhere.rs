//! Connections that lead elsewhere than their kubeconfig says.
use super::{
    super::{Access, Connection, Policy, Rejected},
    yaml,
};

fn vetted(server: &str, cluster: &[&str], user: &[&str], policy: &Policy) -> Connection {
    Connection::from_bytes(yaml(server, cluster, user), None, policy).unwrap()
}

fn lenient() -> Policy {
    Policy::own_files().allow_command("aws")
}

#[test]
fn another_address_is_another_cluster_and_the_same_one_is_not() {
    let of = |server| Access::from(vetted(server, &[], &["token: x"], &lenient()));
    let (here, there) = (of("https://localhost:8443"), of("https://a.ns:443"));
    let moved = vetted("https://localhost:8443", &[], &["token: x"], &lenient());
    let moved = Access::from(moved.with_server("https://a.ns:443", &Policy::strict()).unwrap());
    assert_ne!(moved.identity(), here.identity());
    assert_eq!(moved.identity(), there.identity());
    assert_eq!(moved.fingerprint(), there.fingerprint());
    assert_eq!(moved.server(), there.server());
}

#[test]
fn the_name_in_the_certificate_counts_as_if_the_kubeconfig_said_it() {
    let said = vetted("https://a.ns", &["tls-server-name: localhost"], &[], &lenient());
    let given = vetted("https://a.ns", &[], &[], &lenient());
    let given = given.with_tls_server_name("localhost").unwrap();
    assert_eq!(
        Access::from(given.clone()).fingerprint(),
        Access::from(said).fingerprint()
    );
    let plain = given.with_tls_server_name("").unwrap();
    let unnamed = vetted("https://a.ns", &[], &[], &lenient());
    assert_eq!(
        Access::from(plain.clone()).identity(),
        Access::from(unnamed).identity()
    );
    let refused = plain.with_tls_server_name("hunter2 SECRET").unwrap_err();
    assert!(!refused.to_string().contains("hunter2"), "{refused}");
}

#[test]
fn the_address_and_the_proxy_are_vetted_by_the_policy_that_is_given_with_it() {
    let proxied = ["proxy-url: http://127.0.0.1:3128"];
    for (cluster, server, field) in [
        (&[][..], "https://127.0.0.1:6443", ".server"),
        (&[], "http://a.ns", ".server"),
        (&[], "https://hunter2@a.ns", ".server"),
        (&[], "https://a.ns/?hunter2", ".server"),
        (&[], "hunter2", ".server"),
        (&[], "", ".server"),
        (&proxied[..], "https://a.ns", ".proxy-url"),
    ] {
        let connection = vetted("https://localhost:8443", cluster, &[], &lenient());
        let refused = connection.with_server(server, &Policy::strict()).unwrap_err();
        assert!(
            matches!(&refused, Rejected::Invalid { field: at, .. } | Rejected::Forbidden { field: at, .. }
                if at.ends_with(field)),
            "{server}: {refused}"
        );
        assert!(!refused.to_string().contains("hunter2"), "{refused}");
    }
    // A proxy on this machine that the policy lets through only as a proxy elsewhere.
    let connection = vetted("https://localhost:8443", &proxied, &[], &lenient());
    let policy = Policy::strict().allow_proxies();
    assert!(connection.with_server("https://a.ns", &policy).is_err());
}

#[test]
fn a_credential_program_is_told_of_the_address_that_is_used() {
    let user = [
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never, \
         provideClusterInfo: true}",
    ];
    let moved = vetted("https://localhost:8443", &[], &user, &lenient())
        .with_server("https://a.ns:443", &Policy::strict())
        .and_then(|connection| connection.with_tls_server_name("localhost"))
        .unwrap();
    let there = vetted(
        "https://a.ns:443",
        &["tls-server-name: localhost"],
        &user,
        &lenient(),
    );
    assert_eq!(Access::from(moved).identity(), Access::from(there).identity());
}
