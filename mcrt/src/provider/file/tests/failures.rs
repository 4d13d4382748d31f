//! Files that are wrong: what was good stays, what is wrong is said, only what is wrong is left out.
use super::{Files, config, follow};
use crate::provider::tests::Reader;
use std::{fs, time::Duration};

#[tokio::test]
async fn a_half_written_file_keeps_its_clusters_and_names_the_place() {
    let files = Files::new();
    let path = files.write("config", &config(&["a", "b"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    files.write("config", "clusters:\n- name: a\n  cluster: {token: [SECRET\n");
    let said = reader.next().await;
    assert!(
        said.starts_with(&format!("!{}: not a kubeconfig: line ", path.display())),
        "{said}"
    );
    assert!(said.ends_with("; its clusters stay as they were"), "{said}");
    assert!(!said.contains("SECRET"), "{said}");
    files.write("config", &config(&["a", "b", "c"]));
    assert_eq!(reader.next().await, "+c");
}

#[tokio::test]
async fn a_file_that_is_emptied_keeps_its_clusters() {
    let files = Files::new();
    let path = files.write("config", &config(&["a"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    files.write("config", "");
    let said = format!("!{}: is empty; its clusters stay as they were", path.display());
    assert_eq!(reader.next().await, said);
    files.write("config", " \n\n");
    assert!(reader.is_quiet(super::HURRIED.debounce * 3).await, "said once");
    files.write("config", &config(&["a", "b"]));
    assert_eq!(reader.next().await, "+b");
}

#[tokio::test]
async fn a_file_truncated_and_written_a_moment_later_only_shows_the_outcome() {
    let files = Files::new();
    let path = files.write("config", &config(&["a", "b"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    for name in ["c", "d", "e"] {
        files.write("config", "");
        assert!(reader.is_quiet(Duration::from_millis(50)).await);
        files.write("config", &config(&["a", "b", name]));
        reader.until(&format!("+{name}")).await;
        assert!(reader.clusters.contains_key("a") && reader.clusters.contains_key("b"));
    }
}

#[tokio::test]
async fn a_context_that_names_an_absent_cluster_or_user_is_left_out_alone() {
    let files = Files::new();
    let path = files.write("config", &config(&["a"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    let bad = "contexts:\n- context: {cluster: nowhere, user: a-user}\n  name: x\n\
               - context: {cluster: a-cluster, user: nobody}\n  name: y\n";
    files.write("config", &config(&["a", "b"]).replace("contexts:\n", bad));
    let changes = reader.take(3).await;
    let at = path.display();
    assert_eq!(
        changes,
        [
            "+b".to_owned(),
            format!("?x: {at}: context `x`: clusters[nowhere]: no such cluster in the kubeconfig"),
            format!("?y: {at}: context `y`: users[nobody]: no such user in the kubeconfig"),
        ]
    );
}

#[tokio::test]
async fn a_context_that_becomes_unusable_keeps_its_last_good_description() {
    let files = Files::new();
    let path = files.write("config", &config(&["a", "b"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    let program = config(&["a", "b", "c"]).replace("token: secret-of-b", "exec: {command: SECRET}");
    files.write("config", &program);
    assert_eq!(reader.next().await, "+c");
    let said = reader.next().await;
    assert!(
        said.contains("context `b`: users[b-user].user.exec: runs a program"),
        "{said}"
    );
    assert!(
        said.starts_with("?b: ") && reader.clusters.contains_key("b") && !said.contains("SECRET"),
        "{said}"
    );
    files.write("config", &config(&["a", "b", "c"]));
    assert_eq!(reader.next().await, "+b", "which takes the rejection back");
    files.write("config", &config(&["a", "c"]));
    assert_eq!(reader.next().await, "-b");
}

#[tokio::test]
async fn a_context_that_never_could_be_used_goes_with_its_file() {
    let files = Files::new();
    let bad = config(&["a"]).replace("token: secret-of-a", "exec: {command: x}");
    let path = files.write("config", &bad);
    let (_file, mut reader) = follow(&[&path]);
    let said = reader.until("synced").await;
    assert!(
        said[0].starts_with("?a: ") && reader.clusters.is_empty(),
        "{said:?}"
    );
    assert!(reader.is_quiet(super::HURRIED.debounce * 3).await, "said once");
    files.write("config", &config(&["b"]));
    assert_eq!(reader.take(2).await, ["-a", "+b"], "the rejection goes too");
}

#[tokio::test]
async fn a_directory_that_vanishes_keeps_its_clusters_and_may_come_back() {
    let files = Files::new();
    let directory = files.path("clusters");
    fs::create_dir(&directory).unwrap();
    files.write("clusters/one.yaml", &config(&["a"]));
    let (_file, mut reader) = follow(&[&directory]);
    let (_other, mut single) = follow(&[&directory.join("one.yaml")]);
    reader.until("synced").await;
    single.until("synced").await;
    fs::remove_dir_all(&directory).unwrap();
    for reader in [&mut reader, &mut single] {
        let said = reader.next().await;
        assert!(said.starts_with('!') && said.ends_with("as they were"), "{said}");
    }
    fs::create_dir(&directory).unwrap();
    files.write("clusters/one.yaml", &config(&["a", "b"]));
    for reader in [&mut reader, &mut single] {
        let changes = reader.until("+b").await;
        assert!(
            changes
                .iter()
                .all(|change| change.starts_with('!') || change == "+b"),
            "{changes:?}"
        );
    }
}

#[tokio::test]
async fn files_that_are_no_files_or_too_large_are_said() {
    let files = Files::new();
    let large = files.write(
        "large.yaml",
        &format!("# {}\n{}", "x".repeat(2 << 20), config(&["a"])),
    );
    let binary = files.path("binary.yaml");
    fs::write(&binary, [0xc3, 0x28]).unwrap();
    let absent = files.path("absent");
    let (_file, mut reader) = follow(&[&large, &binary, &absent, "/dev/zero".as_ref()]);
    let mut said = reader.until("synced").await;
    said.sort();
    let at = |path: &std::path::Path, text: &str| format!("!{}: {text}", path.display());
    assert_eq!(
        said,
        [
            at("/dev/zero".as_ref(), "not a regular file"),
            at(&absent, "does not exist"),
            at(&binary, "not UTF-8"),
            at(&large, "larger than 1 MiB, which no kubeconfig is"),
            "synced".into(),
        ]
    );
}

#[tokio::test]
async fn a_stream_started_again_does_not_forget_what_was_good() {
    let files = Files::new();
    let path = files.write("config", &config(&["a"]));
    let (file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    drop(reader);
    files.write("config", "{");
    let mut again = Reader::of(&file);
    let changes = again.until("synced").await;
    assert_eq!(changes[0], "+a");
    assert!(changes[1].contains("not a kubeconfig"), "{changes:?}");
}
