//! Texts that are no kubeconfig, or none that is read; and which context of several is meant.
use super::*;
use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

/// Generous for a debug build on a busy machine; unbounded work takes minutes.
const QUICK: Duration = Duration::from_secs(10);

fn refused_quickly(text: &str) -> String {
    let begun = Instant::now();
    let error = vet(text, &Policy::strict()).expect_err(&text[..text.len().min(40)]);
    assert!(begun.elapsed() < QUICK, "{:?}: {error}", begun.elapsed());
    error.to_string()
}

#[test]
fn five_megabytes_are_refused_before_they_are_parsed() {
    let mut large = yaml("https://a.test", &[], &[]);
    large.push_str(&"# x\n".repeat(5 << 18));
    assert!(large.len() > 5_000_000);
    let said = refused_quickly(&large);
    assert_eq!(
        said,
        "not a kubeconfig: larger than 1 MiB, which no kubeconfig is"
    );
}

#[test]
fn a_megabyte_of_anything_is_refused_quickly() {
    let size = (1 << 20) - 100;
    for part in [
        "{", "[", "- ", "a: ", "? ", "! ", "&a ", "*a ", "\"", "|\n ", "- a\n", "<<: {}\n", "---\n", "# x\n",
        "%TAG\n", "{a: ", "[a, ", "x", "\t", "\0",
    ] {
        refused_quickly(&part.repeat(size / part.len()));
        let inner = format!("contexts: {}", part.repeat(size / part.len()));
        refused_quickly(&inner);
    }
}

#[test]
fn a_kubeconfig_of_a_megabyte_is_read() {
    let mut large = yaml("https://a.test", &[], &[]);
    let mut number = 0;
    while large.len() < (1 << 20) - 200 {
        number += 1;
        let _ = write!(large, "- name: u{number}\n  user: {{token: hunter2-SECRET}}\n");
    }
    vet(&large, &Policy::strict()).unwrap();
}

#[test]
fn aliases_that_unfold_without_end_are_refused_but_a_few_are_no_harm() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{inner}]").unwrap();
    }
    let wide = format!("a: &a [{}]\nb: [{}]\n", "x, ".repeat(1000), "*a, ".repeat(90));
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(500_000), "*a, ".repeat(100_000));
    let nested = format!("extra: {}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(refused_quickly(&nested).starts_with("not a kubeconfig: "));
    for text in [bomb, wide, long] {
        let said = refused_quickly(&text);
        let reason = "it nests too deeply, or has more parts, anchors or aliases than a kubeconfig needs";
        assert_eq!(said, format!("not a kubeconfig: {reason}"));
    }
    let few = yaml("https://a.test", &[], &["token: *t"]).replacen(
        "kind:",
        "preferences: {x: &t hunter2-SECRET}\nkind:",
        1,
    );
    vet(&few, &Policy::strict()).unwrap();
}

#[test]
fn a_syntax_error_names_line_column_and_field_but_quotes_nothing() {
    let said = refused_quickly(&yaml("https://a.test", &[], &["token: [hunter2-SECRET"]));
    assert!(said.starts_with("not a kubeconfig: line "), "{said}");
    for (line, field) in [
        (
            "insecure-skip-tls-verify: hunter2-SECRET",
            "insecure-skip-tls-verify",
        ),
        ("server: hunter2-SECRET", "server"),
    ] {
        let said = refused_quickly(&yaml("https://a.test", &[line], &[]));
        assert!(said.contains(&format!("near `{field}`")), "{said}");
    }
    let said = refused_quickly(&yaml(
        "https://a.test",
        &[],
        &["exec: {interactiveMode: hunter2-SECRET}"],
    ));
    assert!(said.contains("near `exec`"), "{said}");
}

#[test]
fn what_is_no_text_or_none_at_all_is_said_so() {
    let whole = yaml("https://a.test", &[], &[]);
    for (text, reason) in [
        (b"\xff\xfe".to_vec(), "not UTF-8"),
        (Vec::new(), "empty"),
        (b"# nothing\n".to_vec(), "empty"),
        (b"null".to_vec(), "empty"),
        (
            format!("{whole}\n---\n{whole}").into_bytes(),
            "has several documents: keep one",
        ),
    ] {
        let error = Connection::from_bytes(text, None, &Policy::strict()).unwrap_err();
        assert_eq!(error.to_string(), format!("not a kubeconfig: {reason}"));
    }
    let marked = format!("\u{feff}---\n{whole}\n...\n");
    vet(&marked, &Policy::strict()).unwrap();
}

#[test]
fn json_is_a_kubeconfig_too() {
    let json = r#"{"clusters":[{"name":"k","cluster":{"server":"https://a.test"}}],
                   "contexts":[{"name":"c","context":{"cluster":"k"}}]}"#;
    assert_eq!(vet(json, &Policy::strict()).unwrap().context(), "c");
}

#[test]
fn of_several_contexts_one_is_named_or_current_or_asked_for() {
    let two = yaml("https://a.test", &[], &[]).replacen(
        "contexts:\n",
        "contexts:\n- {name: d, context: {cluster: k}}\n",
        1,
    );
    assert_eq!(
        vet(&two, &Policy::strict()).unwrap().context(),
        "c",
        "the current one"
    );
    let policy = Policy::strict();
    let named = Connection::from_bytes(&two, Some("d"), &policy).unwrap();
    assert_eq!(named.context(), "d");
    let none = two.replacen("current-context: c\n", "", 1);
    let error = vet(&none, &policy).unwrap_err().to_string();
    assert_eq!(
        error,
        "the kubeconfig has no current-context: name a context, or set one with `kubectl config use-context`"
    );
    let only = yaml("https://a.test", &[], &[]).replacen("current-context: c\n", "", 1);
    assert_eq!(vet(&only, &policy).unwrap().context(), "c", "the only one");
    let error = Connection::from_bytes(&two, Some("z"), &policy).unwrap_err();
    assert_eq!(error.to_string(), "context `z`: not in the kubeconfig");
}

#[test]
fn only_the_chosen_context_is_vetted() {
    let two = yaml("https://a.test", &[], &[])
        .replacen(
            "contexts:\n",
            "contexts:\n- {name: d, context: {cluster: k, user: v}}\n",
            1,
        )
        .replacen(
            "users:\n",
            "users:\n- {name: v, user: {exec: {command: hunter2-SECRET}}}\n",
            1,
        );
    vet(&two, &Policy::strict()).unwrap();
    let error = Connection::from_bytes(&two, Some("d"), &Policy::strict()).unwrap_err();
    assert_eq!(field_of(&error), "users[v].user.exec");
}

#[test]
fn the_first_file_of_a_list_wins_and_files_that_are_not_there_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (directory.path().join("1"), directory.path().join("2"));
    std::fs::write(&first, yaml("https://first.test", &[], &[])).unwrap();
    let extra = yaml("https://second.test", &[], &[])
        .replace("name: c", "name: d")
        .replace("current-context: c", "current-context: d");
    std::fs::write(&second, extra).unwrap();
    let absent = directory.path().join("0");
    let paths = [&absent, &first, &second];
    let current = Connection::from_files(&paths, None).unwrap();
    assert_eq!(
        (current.context(), &*current.server()),
        ("c", "https://first.test/")
    );
    let named = Connection::from_files(&paths, Some("d")).unwrap();
    assert_eq!(
        named.server(),
        "https://first.test/",
        "cluster `k` of the first file wins"
    );
    assert!(matches!(
        Connection::from_files(&[&absent], None),
        Err(Rejected::File { .. })
    ));
}
