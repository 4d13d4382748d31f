//! What selectors select, and what they refuse.
use super::{super::Property, *};

fn name(name: &str) -> ClusterName {
    ClusterName::new(name).unwrap()
}

fn labelled(labels: &str) -> Properties {
    let pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
    Properties {
        labels: pairs.map(|(key, value)| (key.into(), value.into())).collect(),
        ..Properties::default()
    }
}

#[test]
fn labels_are_selected_as_an_api_server_selects_them() {
    let cases = [
        ("env=prod", "env=prod", true),
        ("env==prod", "env=prod", true),
        ("env=prod", "env=test", false),
        ("env=prod", "", false),
        ("env=", "env=", true),
        ("env!=prod", "", true),
        ("env!=prod", "env=prod", false),
        ("tier in (a, b)", "tier=b", true),
        ("tier in (a)", "", false),
        ("tier notin (a,b)", "", true),
        ("tier notin (a,b)", "tier=a", false),
        ("gpu", "gpu=", true),
        ("gpu", "", false),
        ("!gpu", "", true),
        ("! gpu", "gpu=yes", false),
        ("cores>8", "cores=16", true),
        ("cores > 8", "cores=8", false),
        ("cores<8", "cores=many", false),
        (
            "example.com/env=prod, tier in (a,b),!gpu",
            "example.com/env=prod,tier=a",
            true,
        ),
        (
            "example.com/env=prod,tier in (a,b),!gpu",
            "example.com/env=prod,tier=a,gpu=1",
            false,
        ),
    ];
    for (selector, labels, expected) in cases {
        let selector = ClusterSelector::new().labels(selector);
        selector.check().unwrap();
        assert_eq!(
            selector.selects(&name("a"), &labelled(labels)),
            expected,
            "{selector} of {labels}"
        );
    }
}

#[test]
fn a_star_stands_for_any_text_anywhere_in_a_name() {
    let cases = [
        ("prod", "prod", true),
        ("prod", "prod-1", false),
        ("eu-*", "eu-", true),
        ("eu-*", "eu-1", true),
        ("eu-*", "neu-1", false),
        ("*-test", "eu-test", true),
        ("*-test", "eu-test-1", false),
        ("eu-*-*-1", "eu-west-a-1", true),
        ("eu-*-*-1", "eu-west-1", false),
        ("*", "arn:aws:eks:eu-west-1:123:cluster/prod", true),
        ("arn:*:cluster/*", "arn:aws:eks:eu-west-1:123:cluster/prod", true),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("**", "x", true),
        ("ü*ß", "übermaß", true),
        ("*ab*ab*", "ab", false),
    ];
    for (pattern, cluster, expected) in cases {
        let selector = ClusterSelector::new().names([pattern]);
        selector.check().unwrap();
        let selected = selector.selects(&name(cluster), &Properties::default());
        assert_eq!(selected, expected, "{pattern} of {cluster}");
    }
}

#[test]
fn a_hostile_pattern_takes_no_time() {
    let pattern = "a*".repeat(126);
    let selector = ClusterSelector::new().names([pattern]);
    selector.check().unwrap();
    assert!(!selector.may_select(&name(&format!("{}b", "a".repeat(100)))));
}

#[test]
fn every_given_part_must_hold_and_except_wins() {
    let selector = ClusterSelector::new()
        .labels("env=prod")
        .names(["eu-*", "prod"])
        .except(["eu-test", "*-old"])
        .except_labels("canary,env=prod")
        .except_labels("frozen");
    selector.check().unwrap();
    let cases = [
        ("eu-1", "env=prod", true),
        ("prod", "env=prod", true),
        ("us-1", "env=prod", false),
        ("eu-1", "env=test", false),
        ("eu-test", "env=prod", false),
        ("eu-old", "env=prod", false),
        ("eu-1", "env=prod,canary=1", false),
        ("eu-1", "env=prod,frozen=1", false),
    ];
    for (cluster, labels, expected) in cases {
        assert_eq!(
            selector.selects(&name(cluster), &labelled(labels)),
            expected,
            "{cluster} {labels}"
        );
    }
    assert_eq!(
        selector.to_string(),
        "names eu-*, prod; labels env=prod; except eu-test, *-old; except labels canary,env=prod; except labels frozen"
    );
}

#[test]
fn the_word_of_a_cluster_counts_only_for_names_that_are_trusted() {
    let mut properties = Properties::default();
    let mut say = |name: &str, origin| {
        let value = "eu".to_owned();
        properties
            .named
            .insert(name.to_owned(), Property { value, origin });
    };
    say("a", PropertyOrigin::Provider);
    say("b", PropertyOrigin::Inventory);
    say("c", PropertyOrigin::SelfReported);
    let selects = |property: &str, value: &str, trusted: &[&str]| {
        let trusted = trusted.iter().map(|&name| name.to_owned()).collect();
        let selector = ClusterSelector::new().property(property, value);
        selector.selects_trusting(&name("x"), &properties, &trusted)
    };
    assert!(selects("a", "eu", &[]) && selects("b", "eu", &[]));
    assert!(!selects("a", "us", &["a"]) && !selects("d", "eu", &["d"]));
    assert!(!selects("c", "eu", &[]) && !selects("c", "eu", &["a", "b"]) && selects("c", "eu", &["c"]));
}

#[test]
fn nothing_given_selects_everything() {
    let selector = ClusterSelector::new();
    assert!(selector.is_everything() && selector.selects(&name("x"), &Properties::default()));
    assert_eq!(selector.to_string(), "every cluster");
    assert!(!selector.names(["*"]).is_everything());
}

#[test]
fn what_cannot_be_read_says_why_and_selects_nothing() {
    let new = ClusterSelector::new;
    let long = "x".repeat(254);
    let cases = [
        (new().labels(""), "empty requirement"),
        (new().labels("a=b,,c"), "empty requirement"),
        (new().labels("a in (b"), "`(` without `)`"),
        (new().labels("a in b)"), "`)` without `(`"),
        (new().labels("a in (b(c))"), "`(` inside parentheses"),
        (new().labels("a is (b)"), "is not of the form"),
        (new().labels("a in (b) c"), "is not of the form"),
        (new().labels("a b"), "`b` after `a`"),
        (new().labels("a=b c"), "not a label value"),
        (new().labels("a>b"), "not a whole number"),
        (new().labels("=b"), "begins with a label key"),
        (new().labels("-a=b"), "not a label key"),
        (new().labels("Ex/a=b"), "not a DNS name"),
        (new().except_labels("a=ü"), "not a label value"),
        (new().names(Vec::<String>::new()), "no name is given"),
        (new().names([""]), "it is empty"),
        (new().names([&long]), "longer than 253"),
        (
            new().names(["a\nb"]),
            "`a\\nb` names no cluster: it has a control character",
        ),
        (new().names(["a", "a"]), "`a` is given twice"),
        (new().except(["a"]).except(["a"]), "`a` is given twice"),
        (new().property("", "b"), "has no name"),
    ];
    for (selector, expected) in cases {
        let said = selector.check().unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
        assert!(!selector.selects(&name("a"), &labelled("a=b")), "{selector}");
        assert!(!selector.is_everything() && selector.to_string().starts_with("no cluster"));
    }
}
