//! Look-ups by value.
use super::{super::IndexRef, *};

fn names(cache: &Cache<ConfigMap>, index: &IndexRef<ConfigMap, String>, team: &str) -> Vec<String> {
    let found = cache.store().by_index(index, &team.to_owned());
    let mut names: Vec<_> = found.iter().map(|object| object.name_any()).collect();
    names.sort();
    names
}

async fn by_team(cache: &Cache<ConfigMap>) -> IndexRef<ConfigMap, String> {
    let team = |object: &ConfigMap| object.labels().get("team").cloned().into_iter().collect();
    cache.index("by_team", Arc::new(team)).await
}

#[tokio::test(start_paused = true)]
async fn an_index_follows_additions_updates_and_deletions_and_a_late_one_is_complete() {
    let server = Server::with(&["x/a", "x/b"]);
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    let early = by_team(&cache).await;
    cache.start();
    synced(&cache).await;
    until("a watch", || server.open_watches() == 1).await;
    let late = by_team(&cache).await;
    for index in [&early, &late] {
        assert_eq!(names(&cache, index, "1"), ["a", "b"]);
    }
    server.put("x/a", "2");
    server.put("x/c", "2");
    server.delete("x/b");
    until("the changes", || {
        cache.store().len() == 2 && cache.store().get(&key("x/b")).is_none()
    })
    .await;
    for index in [&early, &late] {
        assert!(names(&cache, index, "1").is_empty());
        assert_eq!(names(&cache, index, "2"), ["a", "c"]);
    }
    let other = caches.open::<ConfigMap>(
        WatchScope {
            labels: Some("other".into()),
            ..scope()
        },
        (),
    );
    assert!(other.store().by_index(&early, &"2".to_owned()).is_empty());
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_index_function_that_panics_hides_that_object_from_that_index_only() {
    let server = Server::with(&["x/bad", "x/good"]);
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    let index = cache
        .index(
            "picky",
            Arc::new(|object: &ConfigMap| {
                assert_ne!(object.name_any(), "bad", "scripted");
                vec!["all".to_owned()]
            }),
        )
        .await;
    let teams = by_team(&cache).await;
    cache.start();
    synced(&cache).await;
    assert_eq!(names(&cache, &index, "all"), ["good"]);
    assert_eq!(names(&cache, &teams, "1"), ["bad", "good"]);
    assert_eq!(cache.store().len(), 2);
    assert_eq!(cache.stats().panics, 1);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_is_told_of_a_change_finds_it_in_the_index() {
    struct Looks(Cache<ConfigMap>, IndexRef<ConfigMap, String>, Mutex<Vec<usize>>);
    impl DeltaSink<ConfigMap> for Looks {
        fn on_delta(&self, delta: Delta<'_, ConfigMap>, _: Origin) {
            if delta.object().is_some() {
                self.2.lock().push(names(&self.0, &self.1, "1").len());
            }
        }
    }
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    let index = by_team(&cache).await;
    let looks = Arc::new(Looks(cache.clone(), index, Mutex::default()));
    let _subscription = cache.subscribe(looks.clone()).await;
    cache.start();
    synced(&cache).await;
    until("a watch", || server.open_watches() == 1).await;
    server.put("x/b", "1");
    server.delete("x/a");
    until("three deltas", || looks.2.lock().len() == 3).await;
    assert_eq!(*looks.2.lock(), [1, 2, 1]);
    caches.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_never_finds_an_object_under_a_value_that_it_does_not_have() {
    let server = Server::with(&["x/a", "x/b", "x/c"]);
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    let index = by_team(&cache).await;
    cache.start();
    synced(&cache).await;
    let writing = tokio::task::spawn_blocking({
        let server = server.clone();
        move || {
            for n in 0..600 {
                server.put(["x/a", "x/b", "x/c"][n % 3], ["1", "2"][n % 2]);
            }
        }
    });
    let mut found = 0;
    while !writing.is_finished() {
        for team in ["1", "2"] {
            let objects = cache.store().by_index(&index, &team.to_owned());
            assert!(objects.iter().all(|object| object.labels()["team"] == team));
            found += objects.len();
        }
        tokio::task::yield_now().await;
    }
    assert!(found > 0);
    writing.await.unwrap();
    caches.close().await;
}
