//! One address, and what is seen through it.
use super::{
    Kcp, Of,
    listing::{News, listing},
};
use crate::{
    apis::kcp::{APIBinding, CLUSTER, LogicalCluster, PATH, v1alpha1},
    cache::Backoff,
    connect::{Access, Life, SharedServer, TransportSettings},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::{Client, ResourceExt, runtime::watcher};
use std::{
    collections::BTreeMap,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::time::sleep;

/// An object that makes its workspace a cluster, if it is ready.
#[derive(Clone)]
pub(super) struct Seen {
    /// The logical cluster that it is in.
    pub(super) cluster: Option<Arc<str>>,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) ready: bool,
    pub(super) path: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
}

/// One address while it is named.
pub(super) struct Endpoint {
    pub(super) server: SharedServer,
    news: BoxStream<'static, News<Seen>>,
    /// By logical cluster, then by name.
    seen: BTreeMap<Arc<str>, BTreeMap<String, Seen>>,
    /// Whether everything that is there was seen.
    pub(super) synced: bool,
    /// Whether what was seen may be out of date.
    pub(super) failing: bool,
    /// Its connections.
    _life: Life,
}

impl Endpoint {
    /// Behind an address that has been vetted.
    pub(super) fn open(
        kcp: &Kcp,
        access: Access,
        all: &Access,
        settings: &TransportSettings,
        initializers: Vec<String>,
    ) -> Result<Self, String> {
        let life = Life::new();
        let client = all.client(settings, &life).map_err(|error| error.to_string())?;
        let news = match &kcp.of {
            Of::Slice(_) => bindings(client, kcp.ready.clone()),
            Of::Initializer(_) => listing::<LogicalCluster>(client, watcher::Config::default())
                .map(move |news| news.map(|cluster| waiting(&cluster, &initializers)))
                .boxed(),
        };
        Ok(Self {
            server: kcp.server(access),
            news,
            seen: BTreeMap::new(),
            synced: false,
            failing: false,
            _life: life,
        })
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<News<Seen>>> {
        self.news.poll_next_unpin(cx)
    }

    /// What makes this logical cluster one to be engaged: of several the first by name.
    pub(super) fn ready(&self, cluster: &str) -> Option<&Seen> {
        self.seen.get(cluster)?.values().find(|seen| seen.ready)
    }

    /// The logical clusters in which there is anything.
    pub(super) fn clusters(&self) -> impl Iterator<Item = &Arc<str>> {
        self.seen.keys()
    }

    /// These are all: gives the names of those without a cluster.
    pub(super) fn replace(&mut self, all: Vec<Seen>) -> Vec<String> {
        self.seen.clear();
        let strays = all.into_iter().filter_map(|one| self.put(one));
        strays.collect()
    }

    /// This one is there; gives its name if it says of no cluster that it is in it.
    pub(super) fn put(&mut self, one: Seen) -> Option<String> {
        let Some(cluster) = one.cluster.clone() else {
            return Some(one.name);
        };
        self.seen
            .entry(cluster)
            .or_default()
            .insert(one.name.clone(), one);
        None
    }

    pub(super) fn drop_one(&mut self, one: &Seen) {
        let Some(cluster) = &one.cluster else { return };
        if let Some(known) = self.seen.get_mut(cluster) {
            known.remove(&one.name);
            if known.is_empty() {
                self.seen.remove(cluster);
            }
        }
    }
}

type Ready = Option<Arc<dyn Fn(&APIBinding) -> bool + Send + Sync>>;

fn seen(object: &impl ResourceExt, ready: bool) -> Seen {
    let annotation = |name: &str| {
        let value = object.annotations().get(name);
        value.filter(|value| !value.is_empty())
    };
    Seen {
        cluster: annotation(CLUSTER).map(|name| Arc::from(name.as_str())),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        // What is being deleted is on its way out.
        ready: ready && object.meta().deletion_timestamp.is_none(),
        path: annotation(PATH).cloned(),
        labels: object.labels().clone(),
    }
}

fn waiting(cluster: &LogicalCluster, initializers: &[String]) -> Seen {
    let initializers: Vec<_> = initializers.iter().map(String::as_str).collect();
    seen(cluster, cluster.waits_for(&initializers))
}

/// The bindings in either version, whichever is served.
fn bindings(client: Client, ready: Ready) -> BoxStream<'static, News<Seen>> {
    let state = Bindings {
        news: newer(client.clone(), ready.clone()),
        client,
        ready,
        is_newer: true,
        misses: 0,
        backoff: Backoff::new(),
    };
    stream::unfold(state, async |mut state| {
        let news = state.next().await?;
        Some((news, state))
    })
    .boxed()
}

fn is_ready(binding: &APIBinding, ready: &Ready) -> bool {
    match ready {
        Some(ready) => ready(binding),
        None => binding.is_ready(),
    }
}

fn newer(client: Client, ready: Ready) -> BoxStream<'static, News<Seen>> {
    listing::<APIBinding>(client, watcher::Config::default())
        .map(move |news| news.map(|binding| seen(&binding, is_ready(&binding, &ready))))
        .boxed()
}

fn older(client: Client, ready: Ready) -> BoxStream<'static, News<Seen>> {
    listing::<v1alpha1::APIBinding>(client, watcher::Config::default())
        .map(move |news| {
            news.map(|binding| {
                let binding = APIBinding::from(binding);
                seen(&binding, is_ready(&binding, &ready))
            })
        })
        .boxed()
}

struct Bindings {
    news: BoxStream<'static, News<Seen>>,
    client: Client,
    ready: Ready,
    is_newer: bool,
    /// How often in a row a version was not served.
    misses: u32,
    backoff: Backoff,
}

impl Bindings {
    async fn next(&mut self) -> Option<News<Seen>> {
        loop {
            let news = self.news.next().await?;
            let News::Failed(Some(404), _) = news else {
                if !matches!(news, News::Failed(..)) {
                    self.misses = 0;
                    self.backoff.reset();
                }
                return Some(news);
            };
            self.misses += 1;
            if self.misses.is_multiple_of(2) {
                sleep(self.backoff.pause()).await;
            }
            let make = if self.is_newer { older } else { newer };
            self.is_newer = !self.is_newer;
            self.news = make(self.client.clone(), self.ready.clone());
            // One of the two has to be there.
            if self.misses > 1 {
                return Some(news);
            }
        }
    }
}
