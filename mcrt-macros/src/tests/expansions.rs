//! Each input expands to its committed file. `MCRT_UPDATE_EXPANSIONS=1` rewrites the files.

use super::support::{expand, folder, formatted, inputs};
use proc_macro2::TokenStream;
use std::{collections::BTreeSet, env, fs};

#[test]
fn every_input_expands_to_its_committed_file() {
    let update = env::var_os("MCRT_UPDATE_EXPANSIONS").is_some();
    let mut stale = Vec::new();
    for (name, text) in inputs() {
        let header = text.lines().next().expect("inputs begin with a sentence");
        let expansion = format!("{header}\n\n{}", formatted(expand(&text, &TokenStream::new())));
        let path = folder().join(format!("{name}.rs"));
        if update {
            fs::write(&path, &expansion).expect("the folder can be written");
        }
        if fs::read_to_string(&path).ok().as_ref() != Some(&expansion) {
            stale.push(format!("{name}:\n{expansion}"));
        }
    }
    assert!(
        stale.is_empty(),
        "run with MCRT_UPDATE_EXPANSIONS=1 and read the difference:\n{}",
        stale.join("\n")
    );
}

#[test]
fn every_committed_file_has_an_input() {
    let inputs: BTreeSet<String> = inputs().into_iter().map(|(name, _)| name).collect();
    let files = fs::read_dir(folder()).expect("the folder is committed");
    let orphans: Vec<_> = files
        .map(|file| file.expect("the folder can be read").path())
        .filter(|path| {
            path.is_file()
                && !inputs.contains(&*path.file_stem().expect("files have names").to_string_lossy())
        })
        .collect();
    assert!(orphans.is_empty(), "{orphans:?}");
}

#[test]
fn the_features_of_the_application_are_asked_for_in_its_own_crate() {
    let expansion = formatted(expand(
        "#[multicluster_controller(for = ConfigMap)] struct TeamTokens;",
        &TokenStream::new(),
    ));
    let features = [
        "sim",
        "file",
        "kind",
        "kubeconfig",
        "cluster-api",
        "cluster-profile",
        "namespace",
        "kcp",
        "command",
    ];
    for feature in features {
        let guarded = format!("#[cfg(feature = \"{feature}\")]\n        \"{feature}\"");
        assert!(
            expansion.contains(&guarded),
            "{feature} is not guarded in\n{expansion}"
        );
    }
    // Without any of these features the list is empty: choosing a provider, or failing, is left to the start.
    assert_eq!(expansion.matches("cfg(feature").count(), features.len());
    assert!(!expansion.contains("compile_error"));
}
