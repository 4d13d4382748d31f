//! One look at everything: the clusters that the files describe now, and what is wrong with them.
use super::{
    Timing,
    content::Content,
    naming::names,
    sources::{Group, Listing, Source},
};
use crate::{
    cluster::ClusterName,
    connect::{Connection, Policy, merge},
    provider::ClusterSpec,
};
use kube::config::Kubeconfig;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

/// What is remembered between looks.
pub(super) struct Scanner {
    sources: Vec<Source>,
    timing: Timing,
    pub(super) policy: Policy,
    contents: BTreeMap<PathBuf, Content>,
    /// The last good description of each context.
    described: BTreeMap<Place, Connection>,
}

/// Where a context stands.
type Place = (PathBuf, String);

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) clusters: Vec<ClusterSpec>,
    /// What cannot be used as it is described now, and why; of these, what could be before is among the clusters too.
    pub(super) rejected: BTreeMap<ClusterName, String>,
    pub(super) problems: BTreeSet<String>,
    pub(super) directories: BTreeSet<PathBuf>,
    /// When to look again to be sure of something.
    pub(super) again: Option<Duration>,
}

/// What a context is good for.
struct Found {
    /// As it is described now, or was when it could last be used.
    connection: Option<Connection>,
    rejected: Option<String>,
}

impl Scan {
    fn add(&mut self, name: ClusterName, uid: String, found: &Found) {
        if let Some(reason) = &found.rejected {
            self.rejected.insert(name.clone(), reason.clone());
        }
        if let Some(connection) = &found.connection {
            self.clusters
                .push(ClusterSpec::new(name, uid, connection.clone()));
        }
    }
}

impl Scanner {
    pub(super) fn new(sources: Vec<Source>, timing: Timing) -> Self {
        Self {
            sources,
            timing,
            policy: Policy::own_files(),
            contents: BTreeMap::new(),
            described: BTreeMap::new(),
        }
    }

    /// Looks at everything. Blocks for the files.
    pub(super) fn scan(&mut self) -> Scan {
        let mut listing = Listing::default();
        for source in &mut self.sources {
            source.look(&mut listing);
        }
        let mut scan = Scan {
            problems: listing.problems.into_iter().collect(),
            directories: listing.directories,
            ..Scan::default()
        };
        let mut listed: HashSet<PathBuf> = listing.groups.iter().flatten().cloned().collect();
        let mut groups = listing.groups;
        // Files that left their directory still get their second look; then they are forgotten.
        let left: Vec<_> = self
            .contents
            .keys()
            .filter(|path| !listed.contains(*path))
            .cloned()
            .collect();
        groups.extend(left.iter().map(|path| vec![path.clone()]));
        listed.extend(left);
        for path in &listed {
            self.look(path, &mut scan);
        }
        self.describe(&groups, &mut scan);
        self.contents.retain(|_, content| !content.is_void());
        scan
    }

    fn look(&mut self, path: &Path, scan: &mut Scan) {
        let content = self.contents.entry(path.to_owned()).or_default();
        let look = content.look(path, self.timing.debounce, self.timing.settle);
        scan.problems.extend(look.problem);
        scan.again = [scan.again, look.again].into_iter().flatten().min();
        // Where a link leads is where its contents change.
        if let Ok(real) = path.canonicalize()
            && let Some(directory) = real.parent()
        {
            scan.directories.insert(directory.to_owned());
        }
    }

    fn describe(&mut self, groups: &[Group], scan: &mut Scan) {
        let mut found: BTreeMap<Place, Found> = BTreeMap::new();
        for group in groups {
            let (merged, places) = self.merged(group);
            for place in places {
                if found.contains_key(&place) {
                    continue;
                }
                let described = Connection::from_kubeconfig_with(&merged, &place.1, &self.policy);
                let here = self.found(&place, described);
                found.insert(place, here);
            }
        }
        // A context that cannot be used has its name all the same: names do not change with what is wrong.
        let places: Vec<(&Path, &str)> = found
            .keys()
            .map(|(path, name)| (path.as_path(), name.as_str()))
            .collect();
        let names = names(&places);
        self.described.clear();
        for ((place, found), name) in found.into_iter().zip(names) {
            let uid = format!("{}#{}", place.0.display(), place.1);
            match name {
                Ok(name) => scan.add(name, uid, &found),
                Err(error) => {
                    scan.problems.insert(format!("{}: {error}", place.0.display()));
                }
            }
            if let Some(connection) = found.connection {
                self.described.insert(place, connection);
            }
        }
    }

    /// A description that cannot be used is no reason to give up the last one that could.
    fn found(&self, place: &Place, described: Result<Connection, crate::connect::Rejected>) -> Found {
        match described {
            Ok(connection) => Found {
                connection: Some(connection),
                rejected: None,
            },
            Err(error) => Found {
                connection: self.described.get(place).cloned(),
                rejected: Some(format!("{}: {error}", place.0.display())),
            },
        }
    }

    /// The files of a group as one, and where each context comes from.
    fn merged(&self, group: &Group) -> (Kubeconfig, Vec<Place>) {
        let mut merged = Kubeconfig::default();
        let mut places: Vec<Place> = Vec::new();
        for path in group {
            let Some(next) = self.contents.get(path).and_then(Content::good) else {
                continue;
            };
            for named in &next.contexts {
                if !places.iter().any(|(_, name)| *name == named.name) {
                    places.push((path.clone(), named.name.clone()));
                }
            }
            merged = merge(merged, next.clone());
        }
        (merged, places)
    }
}
