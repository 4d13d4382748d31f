//! A kind that decodes once and not again: what it breaks is its own.
use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer, de::Error};
use std::{
    borrow::Cow,
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A config map of which each version decodes once.
#[derive(Clone)]
struct Fickle(ConfigMap);

static SEEN: Mutex<Option<HashSet<(String, String)>>> = Mutex::new(None);

impl<'de> Deserialize<'de> for Fickle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = ConfigMap::deserialize(deserializer)?;
        let version = (object.name_any(), object.resource_version().unwrap_or_default());
        if SEEN.lock().get_or_insert_default().insert(version) {
            Ok(Self(object))
        } else {
            Err(D::Error::custom("hunter2"))
        }
    }
}

impl Resource for Fickle {
    type DynamicType = ();
    type Scope = <ConfigMap as Resource>::Scope;

    fn kind(dt: &()) -> Cow<'_, str> {
        ConfigMap::kind(dt)
    }
    fn group(dt: &()) -> Cow<'_, str> {
        ConfigMap::group(dt)
    }
    fn version(dt: &()) -> Cow<'_, str> {
        ConfigMap::version(dt)
    }
    fn plural(dt: &()) -> Cow<'_, str> {
        ConfigMap::plural(dt)
    }
    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

/// Looks inside of what it is told.
struct Looks;

impl DeltaSink<Fickle> for Looks {
    fn on_delta(&self, delta: Delta<'_, Fickle>, _: Origin) {
        if let Some(object) = delta.object() {
            assert!(object.object().meta().name.is_some());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_decodes_only_once_is_lost_to_who_looks_inside_and_to_nobody_else() {
    let server = Server::with(&["x/fickle"]);
    let caches = caches(&server);
    let cache = caches.open::<Fickle>(scope(), ());
    let index = cache.index("all", Arc::new(|_: &Fickle| vec![1])).await;
    let recorder = Arc::new(Recorder::default());
    let _looks = cache.subscribe(Arc::new(Looks)).await;
    let _subscription = cache.subscribe(recorder.clone()).await;
    cache.start();
    synced(&cache).await;
    until("a watch", || server.open_watches() == 1).await;
    server.put("x/fickle", "2");
    server.delete("x/fickle");
    until("three changes", || recorder.len() == 4).await;
    assert_eq!(
        recorder.take(),
        ["(+x/fickle)", "synced", "~x/fickle", "-x/fickle"]
    );
    // Of what was added, updated and deleted the sink saw nothing, nor the index of the two versions.
    assert_eq!(cache.stats().panics, 5);
    assert!(cache.store().by_index(&index, &1).is_empty());
    server.put("x/other", "1");
    until("another object", || cache.store().len() == 1).await;
    assert_eq!(cache.store().keys(), [key("x/other")]);
    let read = catch_unwind(AssertUnwindSafe(|| cache.store().get(&key("x/other"))));
    let panic = read.map(|_| ()).unwrap_err();
    let text = crate::panic::panic_text(&*panic);
    assert!(!text.contains("hunter2"), "{text}");
    // The lock is free.
    assert_eq!(cache.store().len(), 1);
    caches.close().await;
}
