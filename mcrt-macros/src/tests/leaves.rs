//! What each leaf accepts, in tables.

use crate::{
    names::{constant, kebab, nearest, request_alias, without_self},
    parse::{
        duration, is_controller_name,
        pick::fault,
        selector::{check_fields, check_labels},
    },
};
use proc_macro2::{Ident, Span};
use std::time::Duration;

fn ident(name: &str) -> Ident {
    syn::parse_str(name).unwrap_or_else(|_| Ident::new_raw(name, Span::call_site()))
}

#[test]
fn durations_are_a_number_and_a_unit() {
    let good = [
        ("1ms", 1),
        ("30s", 30_000),
        ("5m", 300_000),
        ("2h", 7_200_000),
        ("007s", 7_000),
    ];
    for (text, milliseconds) in good {
        assert_eq!(
            duration::parse(text),
            Ok(Duration::from_millis(milliseconds)),
            "{text}"
        );
    }
    let bad = [
        "",
        "s",
        "30",
        "30 s",
        "-1s",
        "1.5s",
        "1d",
        "1S",
        "1m30s",
        "1 fortnight",
        "0s",
        "0ms",
        "18446744073709551616ms",
        "18446744073709551615h",
    ];
    for text in bad {
        assert!(duration::parse(text).is_err(), "{text}");
    }
}

#[test]
fn any_text_that_can_name_a_cluster_is_a_name_or_a_pattern() {
    let long = "x".repeat(253);
    let good = [
        "prod",
        "eu-*",
        "*",
        "arn:aws:eks:eu-west-1:123:cluster/prod",
        "a#b",
        "Großbuchstaben",
        &long,
    ];
    for name in good {
        assert_eq!(fault(name), None, "{name}");
    }
    let longer = "x".repeat(254);
    for name in ["", "a\nb", &longer] {
        assert!(fault(name).is_some(), "{name}");
    }
}

#[test]
fn label_selectors_follow_the_grammar_of_the_api_server() {
    let long = "a".repeat(63);
    let good = [
        "app",
        "!app",
        "app=web",
        "app==web",
        "app!=web",
        "app=",
        "app = web , tier != db",
        "mcrt.dev/team",
        "mcrt.dev/team=a.b-c_D9",
        "tier in (web, api)",
        "tier notin (web)",
        "tier in ()",
        "tier in (web,)",
        "tier  in  (web),!canary,app=x",
        "replicas>3,replicas<10",
        "replicas > -1",
        "in",
        "in in (notin)",
        &long,
    ];
    for selector in good {
        assert_eq!(check_labels(selector), Ok(()), "{selector}");
    }
    let too_long = "a".repeat(64);
    let bad = [
        ("a=b,,c=d", "empty requirement between commas"),
        (",a", "empty requirement between commas"),
        ("a,", "empty requirement between commas"),
        ("=web", "a requirement begins with a label key"),
        ("!", "a requirement begins with a label key"),
        (
            "app in",
            "`in` after `app`: expected `=`, `!=`, `in (...)` or `notin (...)`",
        ),
        (
            "app web",
            "`web` after `app`: expected `=`, `!=`, `in (...)` or `notin (...)`",
        ),
        ("app in (web", "`(` without `)`"),
        ("app in web)", "`)` without `(`"),
        ("app in ((web))", "`(` inside parentheses"),
        (
            "app on (web)",
            "`app on (web)` is not of the form `key in (a, b)` or `key notin (a, b)`",
        ),
        (
            "app in (web) x",
            "`app in (web) x` is not of the form `key in (a, b)` or `key notin (a, b)`",
        ),
        (
            "replicas>many",
            "`many` is not a whole number, which `>` and `<` compare with",
        ),
        (
            "Mcrt.dev/team=a",
            "`Mcrt.dev` in `Mcrt.dev/team` is not a DNS name",
        ),
        ("/team=a", "`` in `/team` is not a DNS name"),
    ];
    for (selector, why) in bad {
        assert_eq!(check_labels(selector), Err(why.to_owned()), "{selector}");
    }
    for selector in [
        "a/b/c=d",
        "-a=b",
        "a=b c",
        "a=-b",
        "a=ü",
        "a=b=c",
        "app in (-)",
        &too_long,
    ] {
        assert!(check_labels(selector).is_err(), "{selector}");
    }
}

#[test]
fn field_selectors_are_paths_and_values() {
    let good = [
        "metadata.name=web",
        "metadata.name==web",
        "metadata.name!=web",
        "status.phase!=Running,spec.nodeName=node-1",
        "spec.nodeName=",
        r"reason=a\,b\=c\\",
    ];
    for selector in good {
        assert_eq!(check_fields(selector), Ok(()), "{selector}");
    }
    let bad = [
        "",
        "metadata.name",
        "=web",
        "!=web",
        "a=b,",
        "a=b,,c=d",
        "a=b=c",
        r"a=\n",
        r"a=b\",
        "a b=c",
        "metadata.name in (a)",
    ];
    for selector in bad {
        assert!(check_fields(selector).is_err(), "{selector}");
    }
}

#[test]
fn controller_names_are_dns_labels() {
    for name in ["a", "team-tokens", "0", "a0-9"] {
        assert!(is_controller_name(name), "{name}");
    }
    for name in ["", "-a", "a-", "A", "a_b", "a.b", "ü", &"a".repeat(64)] {
        assert!(!is_controller_name(name), "{name}");
    }
}

#[test]
fn names_are_made_from_names() {
    let kebabs = [
        ("TeamTokens", "team-tokens"),
        ("HTTPRoutes", "http-routes"),
        ("Ipv4Pool", "ipv4-pool"),
        ("X", "x"),
        ("A1B", "a1-b"),
        ("Team_Tokens", "team-tokens"),
        ("r#Type", "type"),
    ];
    for (name, expected) in kebabs {
        assert_eq!(kebab(&ident(name)), expected, "{name}");
    }
    assert_eq!(constant(&ident("by_team")), "BY_TEAM");
    assert_eq!(constant(&ident("r#type")), "TYPE");
    assert_eq!(request_alias(&ident("TeamTokens")), "TeamTokensRequest");
}

#[test]
fn the_nearest_word_is_near() {
    let known = ["for", "owns", "watches", "uses"];
    assert_eq!(nearest("own", known), Some("owns"));
    assert_eq!(nearest("watch", known), Some("watches"));
    assert_eq!(nearest("use", known), Some("uses"));
    assert_eq!(nearest("finalizers", known), None);
    assert_eq!(nearest("x", known), None);
}

#[test]
fn self_is_written_out_at_any_depth() {
    let ty: syn::Type = syn::parse_quote!(TeamTokens);
    let tokens = quote::quote!(Vec<(Self, [Self::Kind; 2], &'static self_)>);
    let expected = quote::quote!(Vec<(TeamTokens, [TeamTokens::Kind; 2], &'static self_)>);
    assert_eq!(without_self(tokens, &ty).to_string(), expected.to_string());
}
