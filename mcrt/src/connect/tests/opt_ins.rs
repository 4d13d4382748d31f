//! What a kubeconfig asks for and its policy allows, as servers see it.
use super::{
    super::{Access, Connection, Life, Policy, TransportSettings},
    server::{Server, response},
    yaml,
};
use http::Request;
use kube::client::Body;

/// Asks for a version by a kubeconfig that everything is allowed to.
async fn ask(server: &str, cluster: &[&str], user: &[&str]) {
    let policy = Policy::own_files().allow_command("sh");
    let connection = Connection::from_bytes(yaml(server, cluster, user), None, &policy).unwrap();
    let life = Life::new();
    let transport = Access::from(connection).connect(&TransportSettings::default(), &life);
    let request = Request::get("/version").body(Body::empty()).unwrap();
    // What comes of it is not the question: what was sent is.
    let _ = transport.unwrap().client().send(request).await;
    life.end().await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_token_of_an_allowed_program_goes_with_requests() {
    let mut server = Server::answering(response("200 OK", "{}")).await;
    // Prints its own input as the token, without what a token cannot have.
    let script = r#"t=$(printf '%s' "$GREETING$KUBERNETES_EXEC_INFO" | tr -cd 'a-zA-Z0-9.:/'); printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$t""#;
    let exec = format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable, command: sh, \
         provideClusterInfo: true, env: [{{name: GREETING, value: hello}}], args: [-c, '{}']}}",
        script.replace('\'', "''")
    );
    ask(&format!("http://{}", server.address), &[], &[&exec]).await;
    let seen = server.request().await;
    assert!(seen.contains("authorization: Bearer hello"), "{seen}");
    let told = format!("server:http://{}", server.address);
    assert!(
        seen.contains(&told) && seen.contains("interactive:false"),
        "{seen}"
    );
}

#[tokio::test]
async fn impersonation_goes_with_requests() {
    let mut server = Server::answering(response("200 OK", "{}")).await;
    let user = [
        "token: t",
        "as: jane",
        "as-groups: [devs]",
        "as-user-extra: {acme.com/team: [blue]}",
    ];
    ask(&format!("http://{}", server.address), &[], &user).await;
    let seen = server.request().await;
    for header in [
        "authorization: Bearer t",
        "impersonate-user: jane",
        "impersonate-group: devs",
        "impersonate-extra-acme.com%2fteam: blue",
    ] {
        assert!(seen.contains(&format!("{header}\r\n")), "{seen}");
    }
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_server_and_shown_its_own_password_only() {
    let mut proxy = Server::answering(response("403 Forbidden", "")).await;
    let line = format!("proxy-url: http://user:pass@{}", proxy.address);
    ask("https://a.test:6443", &[&line], &["token: t"]).await;
    let seen = proxy.request().await.to_ascii_lowercase();
    assert!(seen.starts_with("connect a.test:6443 http/1.1\r\n"), "{seen}");
    assert!(
        seen.contains("proxy-authorization: basic dxnlcjpwyxnz\r\n"),
        "{seen}"
    );
    assert!(!seen.contains("bearer"), "{seen}");
}
