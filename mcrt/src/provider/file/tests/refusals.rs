//! Contexts that ask for more than they may: each keeps its last good connection, and the others go on.
use super::{Files, HURRIED, config, follow};
use crate::{
    connect::Policy,
    provider::{file::File, tests::Reader},
};
use std::{path::Path, sync::Arc};

/// What the user of context `b` turns into, and how the error ends.
const TURNS: &[(&str, &str)] = &[
    (
        "exec: {command: SECRET}",
        "users[b-user].user.exec: runs a program",
    ),
    (
        "auth-provider: {name: SECRET}",
        "users[b-user].user.auth-provider: never obeyed",
    ),
    ("SECRET: a", "users[b-user].user: has a field that is not known"),
    (
        "client-key-data: SECRET!",
        "users[b-user].user.client-key-data: not base64",
    ),
    (
        "tokenFile: /nowhere/SECRET",
        "users[b-user].user.tokenFile: entity not found",
    ),
    (
        "as-groups: [SECRET]",
        "users[b-user].user.as-groups: has no `as` beside it",
    ),
    (
        "password: SECRET",
        "users[b-user].user.password: has no `username` beside it",
    ),
];

fn by(policy: Policy, path: &Path) -> (Arc<File>, Reader) {
    let file = Arc::new(File::hurried(&[path.to_owned()], HURRIED).policy(policy));
    let reader = Reader::of(&file);
    (file, reader)
}

#[tokio::test]
async fn whatever_a_context_is_refused_for_it_stays_and_the_others_go_on() {
    let files = Files::new();
    let path = files.write("config", &config(&["a", "b"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    for (turn, said) in TURNS {
        let bad = config(&["a", "b", "c"]).replace("token: secret-of-b", turn);
        files.write("config", &bad);
        let told = reader.take(2).await;
        assert_eq!(told[0], "+c");
        let expected = format!("?b: {}: context `b`: {said}", path.display());
        assert!(told[1].starts_with(&expected), "{}", told[1]);
        assert!(!told[1].contains("SECRET"), "{}", told[1]);
        assert_eq!(reader.clusters["b"], "https://b.test:6443/");
        files.write("config", &config(&["a", "b"]));
        assert_eq!(reader.take(2).await, ["-c", "+b"]);
    }
}

#[tokio::test]
async fn a_policy_says_what_the_files_may_ask_for() {
    let files = Files::new();
    let with = "exec: {command: plugin, apiVersion: client.authentication.k8s.io/v1beta1}";
    let path = files.write("config", &config(&["a"]).replace("token: secret-of-a", with));
    let (_file, mut refused) = follow(&[&path]);
    let said = refused.next().await;
    assert!(
        said.starts_with("?a: ") && said.contains("runs a program"),
        "{said}"
    );
    assert_eq!(refused.next().await, "synced");

    let (_file, mut allowed) = by(Policy::own_files().allow_command("plugin"), &path);
    assert_eq!(allowed.take(2).await, ["+a", "synced"]);

    files.write("token", "secret-of-a");
    let from_file = config(&["a"]).replace("token: secret-of-a", "tokenFile: ./token");
    let path = files.write("other", &from_file);
    let (_file, mut strict) = by(Policy::strict(), &path);
    let said = strict.next().await;
    assert!(
        said.contains("users[a-user].user.tokenFile: names a file"),
        "{said}"
    );
    let directory = path.parent().unwrap();
    let (_file, mut within) = by(Policy::strict().allow_files_under(directory), &path);
    assert_eq!(within.take(2).await, ["+a", "synced"]);
}
