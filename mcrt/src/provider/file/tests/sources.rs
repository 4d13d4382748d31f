//! Files, directories, patterns and lists.
use super::{super::File, Files, config, follow};
use crate::provider::Provider;
use std::{env, fs, path::PathBuf};

#[tokio::test]
async fn a_list_is_merged_and_a_context_may_take_its_user_from_another_file() {
    let files = Files::new();
    let whole = config(&["a", "b"]);
    let (contexts, users) = whole.split_once("users:\n").unwrap();
    let first = files.write("first", contexts);
    let second = files.write("second", &format!("users:\n{users}"));
    let absent = files.path("absent");
    let list = env::join_paths([&first, &absent, &second]).unwrap();
    let (_file, mut reader) = follow(&[list.as_ref()]);
    let changes = reader.until("synced").await;
    assert_eq!(changes[..2], ["+a", "+b"]);
    // The first file to name a thing wins.
    let other = config(&["a", "c"]).replace("a.test", "other.test");
    files.write("second", &format!("{other}{users}"));
    reader.until("+c").await;
    assert_eq!(reader.clusters["a"], "https://a.test:6443/");
}

#[tokio::test]
async fn of_a_directory_only_files_with_the_names_of_kubeconfigs_count() {
    let files = Files::new();
    for (name, cluster) in [
        ("config", "a"),
        ("kubeconfig", "b"),
        ("c.kubeconfig", "c"),
        ("d.yaml", "d"),
        ("admin.conf", "e"),
        (".hidden.yaml", "hidden"),
        ("config~", "backup"),
        ("README.md", "readme"),
    ] {
        files.write(name, &config(&[cluster]));
    }
    fs::create_dir(files.path("cache.yaml")).unwrap();
    let (_file, mut reader) = follow(&[files.0.path()]);
    assert_eq!(
        reader.until("synced").await,
        ["+a", "+b", "+c", "+d", "+e", "synced"]
    );
    files.write("f.yml", &config(&["f"]));
    assert_eq!(reader.next().await, "+f");
    fs::remove_file(files.path("d.yaml")).unwrap();
    assert_eq!(reader.next().await, "-d");
}

#[tokio::test]
async fn a_pattern_counts_what_it_matches_file_by_file() {
    let files = Files::new();
    fs::create_dir(files.path("eu")).unwrap();
    files.write("eu/kubeconfig", &config(&["a"]));
    let pattern = files.path("*/kubeconfig");
    let (_file, mut reader) = follow(&[&pattern]);
    assert_eq!(reader.until("synced").await, ["+a", "synced"]);
    fs::create_dir(files.path("us")).unwrap();
    files.write("us/kubeconfig", &config(&["b"]));
    assert_eq!(reader.next().await, "+b");
    fs::remove_file(files.path("eu/kubeconfig")).unwrap();
    assert_eq!(reader.next().await, "-a");
}

#[tokio::test]
async fn a_file_and_its_directory_may_come_after_the_start() {
    let files = Files::new();
    let path = files.path("later/config");
    let (_file, mut reader) = follow(&[&path]);
    let said = format!("!{}: does not exist", path.display());
    assert_eq!(reader.take(2).await, [said.as_str(), "synced"]);
    fs::create_dir(files.path("later")).unwrap();
    files.write("later/config", &config(&["a", "b"]));
    reader.until("+b").await;
    assert_eq!(reader.clusters.len(), 2);
}

#[tokio::test]
async fn the_clusters_of_several_directories_come_together() {
    let files = Files::new();
    for directory in ["one", "two"] {
        fs::create_dir(files.path(directory)).unwrap();
    }
    files.write("one/config", &config(&["a"]));
    let (_file, mut reader) = follow(&[&files.path("one"), &files.path("two")]);
    assert_eq!(reader.until("synced").await, ["+a", "synced"]);
    files.write("two/config", &config(&["b", "c"]));
    assert_eq!(reader.take(2).await, ["+b", "+c"]);
    fs::remove_file(files.path("one/config")).unwrap();
    reader.until("-a").await;
}

#[tokio::test]
async fn contexts_of_one_name_are_told_apart_by_their_files_while_there_are_several() {
    let files = Files::new();
    files.write("one.yaml", &config(&["admin"]));
    let (_file, mut reader) = follow(&[files.0.path()]);
    assert_eq!(reader.until("synced").await, ["+admin", "synced"]);
    files.write("two.yaml", &config(&["admin"]));
    assert_eq!(reader.take(3).await, ["-admin", "+one/admin", "+two/admin"]);
    fs::remove_file(files.path("one.yaml")).unwrap();
    assert_eq!(reader.take(3).await, ["-one/admin", "-two/admin", "+admin"]);
}

#[tokio::test]
async fn a_file_named_twice_counts_once() {
    let files = Files::new();
    let path = files.write("config", &config(&["a"]));
    let (_file, mut reader) = follow(&[&path, files.0.path()]);
    assert_eq!(reader.until("synced").await, ["+a", "synced"]);
}

#[test]
fn debug_shows_paths_only() {
    let file = File::new(["/a/b", "/c:/d"]);
    assert_eq!(format!("{file:?}"), "File([\"/a/b\", \"/c:/d\"])");
    assert_eq!(file.name(), "file");
    assert!(!File::new::<PathBuf>([]).sources.is_empty() || env::home_dir().is_none());
}
