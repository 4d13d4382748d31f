//! Whatever happens to merged, filtered, renamed and deduplicated providers in whatever order, the set at the end is the
//! one that a model of a few lines says.
use super::{Reader, name, spec};
use crate::{
    cluster::ClusterName,
    provider::{
        ClusterSpec, ProviderExt,
        providers::{Clusters, Merge},
    },
};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

const SOURCES: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Replace { source: usize, cluster: u8, server: u8 },
    Remove { source: usize, cluster: u8 },
    Join(usize),
    Leave(usize),
    Read,
}

fn step() -> impl Strategy<Value = Step> {
    let source = || 0..SOURCES;
    prop_oneof![
        5 => (source(), 0u8..6, 0u8..6).prop_map(|(source, cluster, server)| Step::Replace { source, cluster, server }),
        3 => (source(), 0u8..6).prop_map(|(source, cluster)| Step::Remove { source, cluster }),
        1 => source().prop_map(Step::Join),
        1 => source().prop_map(Step::Leave),
        3 => Just(Step::Read),
    ]
}

/// What each source holds; those that are not merged hold theirs outside.
#[derive(Default)]
struct Model {
    sources: [BTreeMap<u8, u8>; SOURCES],
    merged: BTreeSet<usize>,
}

impl Model {
    /// For each name, every server that some source gives it.
    fn names(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for source in &self.merged {
            for (cluster, server) in &self.sources[*source] {
                if passes(*server)
                    && let Some(name) = renamed(*cluster)
                {
                    names.entry(name).or_default().insert(server.to_string());
                }
            }
        }
        names
    }
}

fn passes(server: u8) -> bool {
    server != 5
}

/// Two of them become one, and one cannot be named.
fn renamed(cluster: u8) -> Option<String> {
    (cluster != 5).then(|| (cluster / 2).to_string())
}

/// The real thing.
struct Real {
    sources: [Clusters; SOURCES],
    merge: Merge,
}

impl Real {
    fn new() -> Self {
        Self {
            sources: std::array::from_fn(|_| Clusters::new()),
            merge: Merge::new(),
        }
    }

    fn join(&self, source: usize) {
        let provider = self.sources[source]
            .clone()
            .filter(|spec: &ClusterSpec| passes(spec.uid.parse().unwrap()))
            .rename(|name: &ClusterName| {
                let name = renamed(name.as_str().parse().unwrap()).ok_or("no name")?;
                ClusterName::new(name).map_err(|_| "no name")
            });
        // Whether it is there already is the model's to know.
        let _ = self.merge.add(source.to_string(), provider);
    }

    fn take(&self, model: &mut Model, step: &Step) {
        match *step {
            Step::Replace {
                source,
                cluster,
                server,
            } => {
                model.sources[source].insert(cluster, server);
                self.sources[source].replace(spec(&cluster.to_string(), &server.to_string()));
            }
            Step::Remove { source, cluster } => {
                model.sources[source].remove(&cluster);
                self.sources[source].remove(&name(&cluster.to_string()));
            }
            Step::Join(source) => {
                model.merged.insert(source);
                self.join(source);
            }
            Step::Leave(source) => {
                model.merged.remove(&source);
                self.merge.remove(&source.to_string());
            }
            Step::Read => {}
        }
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(test);
}

proptest! {
    #[test]
    fn merged_names_are_those_that_some_source_gives(steps in prop::collection::vec(step(), 1..60)) {
        run(async {
            let (real, mut model) = (Real::new(), Model::default());
            let mut reader = Reader::of(&Arc::new(real.merge.clone()));
            for step in &steps {
                real.take(&mut model, step);
                if matches!(step, Step::Read) {
                    reader.drain().await;
                }
            }
            reader.drain().await;
            let names = model.names();
            assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), names.keys().collect::<Vec<_>>());
            for (name, server) in &reader.clusters {
                assert!(names[name].contains(server), "`{name}` leads to {server}, not to one of {:?}", names[name]);
            }
            // Which one of several it is depends on the order; that there are several is always told.
            for name in names.keys() {
                let claims = (0..SOURCES).filter(|source| model.merged.contains(source)).map(|source| {
                    let mut held = model.sources[source].iter();
                    held.any(|(cluster, server)| passes(*server) && renamed(*cluster).as_ref() == Some(name))
                });
                let claims = claims.filter(|claims| *claims).count();
                let told = reader.rejected.get(name).is_some_and(|reason| reason.contains("provider `"));
                assert_eq!(told, claims > 1, "`{name}`: {:?}", reader.rejected);
            }
        });
    }

    #[test]
    fn deduplicated_clusters_are_those_of_all_names_each_once(steps in prop::collection::vec(step(), 1..60)) {
        run(async {
            let clusters = Clusters::new();
            let mut model = BTreeMap::new();
            let mut reader = Reader::of(&Arc::new(clusters.clone().dedupe()));
            for step in &steps {
                match *step {
                    Step::Replace { cluster, server, .. } => {
                        model.insert(cluster.to_string(), server.to_string());
                        clusters.replace(spec(&cluster.to_string(), &server.to_string()));
                    }
                    Step::Remove { cluster, .. } => {
                        model.remove(&cluster.to_string());
                        clusters.remove(&name(&cluster.to_string()));
                    }
                    _ => drop(reader.drain().await),
                }
                let engaged: BTreeSet<_> = reader.clusters.values().collect();
                assert_eq!(engaged.len(), reader.clusters.len(), "twice engaged: {:?}", reader.clusters);
            }
            reader.drain().await;
            let servers: BTreeSet<_> = model.values().collect();
            assert_eq!(reader.clusters.values().collect::<BTreeSet<_>>(), servers);
            for (cluster, server) in &model {
                match reader.clusters.get(cluster) {
                    Some(engaged) => assert_eq!(engaged, server),
                    None => assert!(reader.rejected.contains_key(cluster), "`{cluster}` is told of"),
                }
            }
            assert_eq!(reader.clusters.len() + reader.rejected.len(), model.len());
        });
    }
}
