//! Kubeconfigs that somebody's disk, editor or malice has changed: no panic, no secret in any text.
use super::{
    super::{Access, Connection, kubeconfig::parse},
    yaml,
};
use proptest::{collection::vec, prelude::*, sample::Index};

const TOKEN: &str = "PLANTEDTOKEN";

fn original() -> String {
    let user = [
        "token: PLANTEDTOKEN",
        "client-key-data: PLANTEDTOKEN",
        "password: PLANTEDTOKEN",
    ];
    yaml(
        "https://a.test",
        &["certificate-authority-data: PLANTEDTOKEN"],
        &user,
    )
}

/// Everything that can be shown of a text: what was refused, and what was accepted.
fn shown(text: &str) -> String {
    let kubeconfig = match parse(text, None) {
        Ok(kubeconfig) => kubeconfig,
        Err(error) => return format!("{error} {error:?}"),
    };
    let contexts = kubeconfig.contexts.iter();
    let shown = contexts.map(
        |named| match Connection::from_kubeconfig(&kubeconfig, &named.name) {
            Ok(connection) => format!("{:?}", Access::from(connection)),
            Err(error) => format!("{error} {error:?}"),
        },
    );
    shown.collect::<Vec<_>>().join("\n")
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        shown(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_kubeconfig_cut_anywhere_shows_no_secret(at: Index) {
        let text = original();
        prop_assert!(!shown(&text[..at.index(text.len())]).contains(TOKEN));
    }

    #[test]
    fn a_kubeconfig_with_changed_bytes_shows_no_secret(
        changes in vec((any::<Index>(), any::<char>(), 0..3u8), 1..8),
    ) {
        let mut text: Vec<char> = original().chars().collect();
        for (at, new, how) in changes {
            let at = at.index(text.len());
            match how {
                0 => text[at] = new,
                1 => text.insert(at, new),
                _ => drop(text.remove(at)),
            }
        }
        prop_assert!(!shown(&text.into_iter().collect::<String>()).contains(TOKEN));
    }

    #[test]
    fn a_kubeconfig_with_lines_lost_doubled_or_moved_shows_no_secret(
        changes in vec((any::<Index>(), any::<Index>(), 0..3u8), 1..6),
    ) {
        let text = original();
        let mut lines: Vec<&str> = text.lines().collect();
        for (from, to, how) in changes {
            let from = from.index(lines.len());
            let line = lines[from];
            if how > 0 {
                lines.remove(from);
            }
            if how < 2 || lines.is_empty() {
                lines.insert(to.index(lines.len() + 1), line);
            }
        }
        prop_assert!(!shown(&lines.join("\n")).contains(TOKEN));
    }
}
