//! Proxies of the environment: never used, whatever they are called.
use std::{env, io::ErrorKind, net::TcpListener, process::Command};

/// Tests that reach a server, with TLS and without.
const REACHING: [&str; 2] = [
    "connect::tests::tls::authority_client_certificate_and_server_name_are_used",
    "connect::tests::probe::every_answer_of_an_api_server_says_that_it_is_alive",
];

#[test]
fn proxies_of_the_environment_are_never_used() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    // The environment belongs to a process, and other tests run in this one.
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(REACHING).arg("--exact");
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
        child.env(name, &address).env(name.to_ascii_lowercase(), &address);
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy");
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("2 passed"), "{said}");
    let asked = proxy.accept();
    assert!(
        asked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock),
        "the proxy was asked"
    );
}
