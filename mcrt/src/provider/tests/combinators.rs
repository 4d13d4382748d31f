//! What holds for descriptions, and for everything that is made of other providers.
use super::{Reader, name, spec};
use crate::provider::{
    Change, ClusterSpec, Provider, ProviderContext, ProviderExt,
    providers::{Merge, Single},
};
use crate::{cache::CacheSettings, connect::TransportSettings};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{sync::Arc, time::Duration};

#[test]
fn descriptions_are_the_same_if_all_that_counts_is() {
    let one = spec("a", "a");
    assert!(one.says_the_same(&spec("a", "a")));
    assert!(!one.says_the_same(&spec("b", "a")));
    assert!(!one.says_the_same(&spec("a", "b")));
    let other_uid = ClusterSpec {
        uid: "z".into(),
        ..spec("a", "a")
    };
    assert!(!one.says_the_same(&other_uid));
}

/// One that reads the host.
struct OfHost;

impl Provider for OfHost {
    fn name(&self) -> &'static str {
        "of-host"
    }

    fn needs_host(&self) -> bool {
        true
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        let host = cx.host().map(crate::connect::Access::server).unwrap_or_default();
        stream::iter([Change::Upsert(spec("a", &host)), Change::Synced])
            .chain(stream::pending())
            .boxed()
    }
}

async fn reads_host(provider: impl Provider) {
    assert!(provider.needs_host(), "{}", provider.name());
    let host = spec("host", "the host").access;
    let cx = ProviderContext::new(Some(host), TransportSettings::default(), CacheSettings::default());
    let mut reader = Reader::with(&Arc::new(provider), cx);
    reader.until("synced").await;
    assert_eq!(reader.clusters.into_values().collect::<Vec<_>>(), ["the host"]);
}

#[tokio::test]
async fn what_is_made_of_a_provider_needs_the_host_as_that_does_and_hands_it_on() {
    reads_host(OfHost.prefix("eu/")).await;
    reads_host(OfHost.rename(|_| Ok::<_, String>(name("b")))).await;
    reads_host(OfHost.filter(|_| true)).await;
    reads_host(OfHost.dedupe()).await;
    reads_host(Merge::new().with("it", OfHost)).await;
    reads_host(Arc::new(OfHost).dedupe()).await;
    let single = || Single::new(name("a"), spec("a", "a").access);
    assert!(!single().prefix("eu/").dedupe().filter(|_| true).needs_host());
    assert_eq!(single().prefix("eu/").dedupe().filter(|_| true).name(), "single");
}

#[tokio::test(start_paused = true)]
async fn combinators_combine() {
    let eu: Merge = Merge::new().with("a", Single::new(name("Prod"), spec("a", "one").access));
    let all = Merge::new()
        .with("eu", eu.clone().prefix("eu/"))
        .with("other", Single::new(name("US/Prod"), spec("a", "two").access))
        .filter(|spec| spec.name.as_str().contains("Prod"))
        .rename(|name| crate::ClusterName::new(name.as_str().to_lowercase()))
        .dedupe();
    let mut reader = Reader::of(&Arc::new(all));
    assert_eq!(reader.until("synced").await, ["+eu/prod", "+us/prod", "synced"]);
    eu.add("b", Single::new(name("Prod2"), spec("a", "two").access))
        .unwrap();
    assert_eq!(
        reader.next().await,
        "?eu/prod2: it is the same cluster as `us/prod`, and goes by that name alone"
    );
    eu.add("c", Single::new(name("dev"), spec("a", "three").access))
        .unwrap();
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}
