//! Files seen while they are written: cut at every byte.
use super::{
    super::{content::Content, scan::Scanner, sources::Source},
    Files, HURRIED, Timing, config, follow,
};
use proptest::{collection::vec, prelude::*, sample::Index};
use std::{collections::BTreeMap, fs, time::Duration};

/// Clusters by name, with their fingerprints.
fn found(scanner: &mut Scanner) -> BTreeMap<String, u64> {
    let clusters = scanner.scan().clusters.into_iter();
    clusters
        .map(|spec| (spec.name.to_string(), spec.access.fingerprint()))
        .collect()
}

#[test]
fn a_file_cut_at_any_byte_loses_no_cluster_and_describes_none_by_halves() {
    let old = config(&["a", "b", "c"]);
    let new = config(&["a", "b", "d"]).replace("secret", "fresh");
    let unhurried = Timing {
        settle: Duration::from_hours(1),
        ..HURRIED
    };
    for text in [&old, &new] {
        let files = Files::new();
        let path = files.write("config", &old);
        let mut scanner = Scanner::new(vec![Source::of(&path)], unhurried);
        let before = found(&mut scanner);
        let whole = found(&mut Scanner::new(
            vec![Source::of(&files.write("whole", text))],
            unhurried,
        ));
        for at in 0..text.len() {
            fs::write(&path, &text[..at]).unwrap();
            let now = found(&mut scanner);
            assert!(
                now.contains_key("a") && now.contains_key("b"),
                "cut at {at}: {now:?}"
            );
            for (name, fingerprint) in &now {
                let known = [before.get(name), whole.get(name)];
                assert!(
                    known.contains(&Some(fingerprint)),
                    "cut at {at}: `{name}` is described by halves"
                );
            }
        }
        fs::write(&path, text).unwrap();
        assert_eq!(found(&mut scanner), whole);
    }
}

#[tokio::test]
async fn a_file_that_only_looks_cut_off_is_believed_once_it_has_stood_still() {
    let files = Files::new();
    let path = files.write("config", &config(&["a", "b"]));
    let (_file, mut reader) = follow(&[&path]);
    reader.until("synced").await;
    let whole = config(&["a"]);
    files.write("config", whole.trim_end());
    let began = std::time::Instant::now();
    let said = format!(
        "!{}: looks half-written; its clusters stay as they were",
        path.display()
    );
    assert_eq!(reader.take(2).await, [said.as_str(), "-b"]);
    assert!(began.elapsed() >= HURRIED.settle);
}

#[test]
fn a_doubt_starts_over_when_the_text_changes() {
    let files = Files::new();
    let whole = config(&["a", "b"]);
    let path = files.write("config", &whole);
    let mut content = Content::default();
    let minute = Duration::from_mins(1);
    content.look(&path, minute, minute);
    for at in [40, 60] {
        fs::write(&path, &whole[..at]).unwrap();
        let look = content.look(&path, minute, minute);
        assert!(look.problem.is_some());
        assert_eq!(content.good().unwrap().contexts.len(), 2);
    }
    fs::write(&path, &whole).unwrap();
    let look = content.look(&path, minute, minute);
    assert!(look.problem.is_none() && look.again.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn files_with_changed_bytes_show_no_secret_and_never_panic(
        changes in vec((any::<Index>(), any::<u8>()), 1..6),
    ) {
        let files = Files::new();
        let path = files.write("config", &config(&["a", "b"]));
        let mut scanner = Scanner::new(vec![Source::of(&path)], HURRIED);
        scanner.scan();
        let mut bytes = config(&["a", "b"]).into_bytes();
        for (at, new) in changes {
            let at = at.index(bytes.len());
            bytes[at] = new;
        }
        fs::write(&path, bytes).unwrap();
        let shown = format!("{:?}", scanner.scan());
        prop_assert!(!shown.contains("secret-of"), "{shown}");
    }
}
