//! Names of clusters from names of contexts, unique whatever the files are called.
use crate::cluster::{ClusterName, InvalidClusterName};
use std::{collections::HashMap, path::Path};

/// A name per (file, context), in the same order.
pub(super) fn names(contexts: &[(&Path, &str)]) -> Vec<Result<ClusterName, InvalidClusterName>> {
    let mut names: Vec<String> = contexts
        .iter()
        .map(|(_, context)| (*context).to_owned())
        .collect();
    let longer: [fn(&Path) -> String; 2] = [stem, |path| path.display().to_string()];
    for prefix in longer {
        let mut used: HashMap<&str, usize> = HashMap::new();
        for name in &names {
            *used.entry(name).or_default() += 1;
        }
        let taken: Vec<bool> = names.iter().map(|name| used[name.as_str()] > 1).collect();
        for (index, (path, context)) in contexts.iter().enumerate() {
            if taken[index] {
                names[index] = format!("{}/{context}", prefix(path));
            }
        }
    }
    names.into_iter().map(ClusterName::new).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(contexts: &[(&str, &str)]) -> Vec<String> {
        let contexts: Vec<_> = contexts
            .iter()
            .map(|(path, context)| (Path::new(*path), *context))
            .collect();
        names(&contexts)
            .into_iter()
            .map(|name| name.unwrap().to_string())
            .collect()
    }

    #[test]
    fn a_context_names_its_cluster() {
        assert_eq!(named(&[("/k/a.yaml", "x"), ("/k/b.yaml", "y")]), ["x", "y"]);
    }

    #[test]
    fn contexts_of_one_name_take_the_stem_of_their_files_all_of_them() {
        let contexts = [("/k/a.yaml", "x"), ("/k/b.yaml", "x"), ("/k/b.yaml", "y")];
        assert_eq!(named(&contexts), ["a/x", "b/x", "y"]);
    }

    #[test]
    fn files_of_one_stem_take_their_paths() {
        let contexts = [("/k/config", "x"), ("/l/config", "x")];
        assert_eq!(named(&contexts), ["/k/config/x", "/l/config/x"]);
    }

    #[test]
    fn a_context_that_looks_like_a_stem_and_a_context_makes_both_take_their_paths() {
        let contexts = [("/k/a.yaml", "x"), ("/k/b.yaml", "x"), ("/k/c.yaml", "a/x")];
        assert_eq!(named(&contexts), ["/k/a.yaml/x", "b/x", "/k/c.yaml/a/x"]);
    }
}
