//! What both sides work on: a real API server, its objects, and ways to it.

use std::{collections::BTreeMap, path::PathBuf};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
    config::Kubeconfig,
};
use mcrt_tests::{
    control_plane::{ControlPlane, User, assets},
    proxy::Proxy,
};
use tempfile::TempDir;

use super::{Arguments, Outcome};

/// Begins the name of every object that counts.
pub(crate) const PREFIX: &str = "compare-";
/// The label of the one object that is watched where a cluster is to seem empty.
pub(crate) const MARKER: &str = "mcrt.dev/compare-marker";
const SIZE: usize = 1024;
/// Objects created at once.
const CREATING: usize = 16;

pub(crate) struct Site {
    plane: ControlPlane,
    _black_holes: Vec<Proxy>,
    folder: TempDir,
}

impl Site {
    /// Starts the API server and fills it; nothing if there are no programs for it on this machine.
    pub(crate) async fn start(arguments: &Arguments) -> Outcome<Option<Self>> {
        let Some(assets) = assets()? else { return Ok(None) };
        let plane = ControlPlane::start(&assets).await?;
        fill(&plane, arguments).await?;
        let (mut black_holes, mut targets) = (Vec::new(), Vec::new());
        for _ in 0..arguments.black_holes {
            let proxy = Proxy::black_hole().await?;
            targets.push(format!("https://{}", proxy.address()));
            black_holes.push(proxy);
        }
        let site = Self {
            plane,
            _black_holes: black_holes,
            folder: tempfile::tempdir()?,
        };
        site.write(arguments.contexts - arguments.black_holes, &targets)?;
        Ok(Some(site))
    }

    /// A kubeconfig of all contexts.
    pub(crate) fn all(&self) -> PathBuf {
        self.folder.path().join("all")
    }

    /// A kubeconfig of those that answer.
    pub(crate) fn healthy(&self) -> PathBuf {
        self.folder.path().join("healthy")
    }

    pub(crate) async fn stop(self) {
        self.plane.stop().await;
    }

    fn write(&self, healthy: usize, black_holes: &[String]) -> Outcome {
        let contexts: Vec<_> = (0..healthy + black_holes.len())
            .map(|at| format!("context-{at}"))
            .collect();
        // The first contexts are those that do not answer: nobody gets to them last by chance.
        let (silent, answering) = contexts.split_at(black_holes.len());
        let text = self.plane.kubeconfig_of(User::Admin, answering);
        std::fs::write(self.healthy(), &text)?;
        let mut all = Kubeconfig::from_yaml(&text)?;
        if !silent.is_empty() {
            let mut others = Kubeconfig::from_yaml(&self.plane.kubeconfig_of(User::Admin, silent))?;
            for (cluster, server) in others.clusters.iter_mut().zip(black_holes) {
                if let Some(cluster) = &mut cluster.cluster {
                    cluster.server = Some(server.clone());
                }
            }
            all = others.merge(all)?;
        }
        // YAML is a superset of JSON.
        std::fs::write(self.all(), serde_json::to_string(&all)?)?;
        Ok(())
    }
}

async fn fill(plane: &ControlPlane, arguments: &Arguments) -> Outcome {
    let api = Api::<ConfigMap>::default_namespaced(plane.client());
    futures::stream::iter(0..arguments.objects)
        .map(|at| {
            let (api, config) = (api.clone(), config_map(at, arguments.entries));
            async move { api.create(&PostParams::default(), &config).await }
        })
        .buffer_unordered(CREATING)
        .try_collect::<Vec<_>>()
        .await?;
    Ok(())
}

fn config_map(at: usize, entries: usize) -> ConfigMap {
    let labels = (at == 0).then(|| BTreeMap::from([(MARKER.to_owned(), String::new())]));
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(format!("{PREFIX}{at}")),
            labels,
            ..ObjectMeta::default()
        },
        data: Some(
            (0..entries)
                .map(|nth| (format!("key-{nth}"), "v".repeat(SIZE / entries)))
                .collect(),
        ),
        ..ConfigMap::default()
    }
}
