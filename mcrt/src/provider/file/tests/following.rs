//! Changes of files that show as changes of clusters, and those that do not.
use super::{Files, config, follow};
use std::{fs, os::unix::fs::symlink};

#[tokio::test]
async fn every_context_is_a_cluster_and_changes_follow() {
    let files = Files::new();
    let path = files.write("config", &config(&["a", "b"]));
    let (_file, mut reader) = follow(&[&path]);
    assert_eq!(reader.take(3).await, ["+a", "+b", "synced"]);
    assert_eq!(reader.clusters["a"], "https://a.test:6443/");
    files.write("config", &config(&["b", "c"]));
    assert_eq!(reader.take(2).await, ["-a", "+c"]);
    files.write("config", &config(&["b", "c"]).replace("c.test", "elsewhere.test"));
    assert_eq!(reader.next().await, "+c");
    assert_eq!(reader.clusters["c"], "https://elsewhere.test:6443/");
}

#[tokio::test]
async fn a_file_written_again_with_equal_contents_changes_nothing() {
    let files = Files::new();
    let path = files.write("config", &config(&["a"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    files.write("config", &config(&["a"]));
    assert!(reader.is_quiet(super::HURRIED.debounce * 3).await);
    files.write("config", &format!("# a comment\n{}", config(&["a"])));
    assert!(reader.is_quiet(super::HURRIED.debounce * 3).await);
    files.write("config", &config(&["a", "b"]));
    assert_eq!(
        reader.next().await,
        "+b",
        "the first change is the one that says something new"
    );
}

#[tokio::test]
async fn a_file_replaced_by_rename_is_read() {
    let files = Files::new();
    let path = files.write("config", &config(&["a"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    for name in ["b", "c"] {
        let new = files.write("config.new", &config(&["a", name]));
        fs::rename(new, &path).unwrap();
        reader.until(&format!("+{name}")).await;
    }
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["a", "c"]);
}

/// As kubelets mount Secrets: the file is a link into `..data`, which is a link that is swapped.
#[tokio::test]
async fn a_mounted_secret_that_is_swapped_is_read() {
    let files = Files::new();
    let publish = |version: &str, names: &[&str]| {
        fs::create_dir(files.path(version)).unwrap();
        files.write(&format!("{version}/kubeconfig"), &config(names));
        symlink(version, files.path("..new")).unwrap();
        fs::rename(files.path("..new"), files.path("..data")).unwrap();
    };
    publish("..1", &["a"]);
    symlink("..data/kubeconfig", files.path("kubeconfig")).unwrap();
    let (_file, mut reader) = follow(&[&files.path("kubeconfig")]);
    let (_directory, mut listing) = follow(&[files.0.path()]);
    reader.until("synced").await;
    assert_eq!(listing.until("synced").await, ["+a", "synced"]);
    publish("..2", &["a", "b"]);
    fs::remove_dir_all(files.path("..1")).unwrap();
    assert_eq!(reader.next().await, "+b");
    assert_eq!(listing.next().await, "+b");
    publish("..3", &["b"]);
    fs::remove_dir_all(files.path("..2")).unwrap();
    assert_eq!(reader.next().await, "-a");
    assert_eq!(listing.next().await, "-a");
}

#[tokio::test]
async fn a_link_out_of_the_directory_is_followed() {
    let (files, elsewhere) = (Files::new(), Files::new());
    let real = elsewhere.write("real", &config(&["a"]));
    symlink(&real, files.path("config")).unwrap();
    let (_file, mut reader) = follow(&[&files.path("config")]);
    reader.until("synced").await;
    elsewhere.write("real", &config(&["a", "b"]));
    assert_eq!(reader.next().await, "+b");
}

#[tokio::test]
async fn a_file_that_is_deleted_takes_its_clusters_along() {
    let files = Files::new();
    let path = files.write("config", &config(&["a", "b"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    fs::remove_file(&path).unwrap();
    let mut changes = reader.take(2).await;
    changes.retain(|change| !change.starts_with('!'));
    assert_eq!(changes, ["-a", "-b"]);
    files.write("config", &config(&["a"]));
    reader.until("+a").await;
}

#[tokio::test]
async fn a_file_deleted_and_written_anew_at_once_removes_nothing() {
    let files = Files::new();
    let path = files.write("config", &config(&["a"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    for _ in 0..3 {
        fs::remove_file(&path).unwrap();
        assert!(reader.is_quiet(super::HURRIED.debounce / 2).await);
        files.write("config", &config(&["a"]));
        assert!(reader.is_quiet(super::HURRIED.debounce * 2).await);
    }
    files.write("config", &config(&["a", "b"]));
    assert_eq!(reader.next().await, "+b");
}

#[tokio::test]
async fn what_a_file_refers_to_counts_at_the_next_look() {
    use crate::connect::Connection;
    let files = Files::new();
    let ca = files.path("ca.crt");
    let authority = || {
        let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params
            .self_signed(&rcgen::KeyPair::generate().unwrap())
            .unwrap()
            .pem()
    };
    fs::write(&ca, authority()).unwrap();
    let text = config(&["a"]).replace("  cluster:\n", "").replace(
        "    server: https://a.test:6443\n",
        "    server: https://a.test:6443\n    certificate-authority: ca.crt\n",
    );
    let path = files.write("config", &text);
    Connection::from_files(&[&path], Some("a")).unwrap();
    let (_file, mut reader) = follow(&[&path]);
    assert_eq!(reader.take(2).await, ["+a", "synced"]);
    fs::write(&ca, authority()).unwrap();
    assert_eq!(reader.next().await, "+a");
}
