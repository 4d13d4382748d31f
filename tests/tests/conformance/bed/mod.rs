//! What a behaviour is shown on: a server of either sort, a namespace of its own, and plain HTTP.

mod answer;
mod ask;
mod definition;
mod objects;
mod real;
mod stream;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use kube::Client;
use mcrt_sim::{Server, User};
use parking_lot::Mutex;
use serde_json::{Value, json};

pub(crate) use self::{
    answer::Answer,
    ask::{APPLY, Ask, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH},
    definition::{DEFINITIONS, Definition},
    objects::{config_map, deployment, pod, secret},
    stream::Watch,
};

/// For one behaviour. The garbage collector and namespace controller of a busy machine take their time; on the
/// simulator the clock is paused, so that waiting in vain takes none.
const LIMIT: Duration = Duration::from_mins(2);
/// For one thing a behaviour waits for.
const EVENTUALLY: Duration = Duration::from_mins(1);
/// Exchanges that a failure shows.
const SHOWN: usize = 6;

const SIMULATED_ADMIN: &str = "admin-of-the-simulator";
const SIMULATED_LIMITED: &str = "limited-of-the-simulator";

/// A server and a fresh namespace on it.
pub(crate) struct Bed {
    client: Client,
    namespace: String,
    admin: String,
    limited: String,
    exchanges: Mutex<Vec<String>>,
}

/// Shows a behaviour on a simulator of its own.
pub(crate) async fn on_simulator(behaviour: impl AsyncFn(&Bed)) {
    let server = Server::new("conformance");
    server.add_token(SIMULATED_ADMIN, User::admin("admin").group("system:masters"));
    server.add_token(SIMULATED_LIMITED, User::new("limited").group("limited"));
    let client = Client::new(server.service(), "default");
    let bed = Bed::new(client, SIMULATED_ADMIN.into(), SIMULATED_LIMITED.into());
    show(bed, behaviour).await;
}

/// Shows a behaviour on the real server that all share; does nothing where there is none.
pub(crate) async fn on_real_server(behaviour: impl AsyncFn(&Bed)) {
    let Some(plane) = real::plane() else { return };
    let bed = Bed::new(
        real::client(plane),
        plane.admin_token(),
        real::limited_token(plane),
    );
    show(bed, behaviour).await;
}

async fn show(bed: Bed, behaviour: impl AsyncFn(&Bed)) {
    bed.prepare().await;
    let shown = tokio::time::timeout(LIMIT, behaviour(&bed)).await;
    assert!(shown.is_ok(), "the behaviour was not shown within {LIMIT:?}");
}

impl Bed {
    fn new(client: Client, admin: String, limited: String) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        Self {
            client,
            namespace: format!("bed-{}", COUNT.fetch_add(1, Ordering::Relaxed)),
            admin,
            limited,
            exchanges: Mutex::default(),
        }
    }

    /// Makes the namespace and waits for what controllers put into it, which no behaviour is to be disturbed by.
    async fn prepare(&self) {
        let namespace = json!({"metadata": {"name": self.namespace}});
        self.post("/api/v1/namespaces", namespace).await.expect(201);
        self.eventually("the root CA of the namespace", async || {
            let found = self.get(self.object("configmaps", "kube-root-ca.crt")).await;
            if found.code() == 200 {
                Ok(())
            } else {
                Err(found.to_string())
            }
        })
        .await;
        self.exchanges.lock().clear();
    }

    /// The namespace that only this behaviour uses. It holds the ConfigMap `kube-root-ca.crt`, and no Secrets.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// A name for something outside of the namespace, that no other behaviour uses.
    pub(crate) fn unique(&self, name: &str) -> String {
        format!("{name}-{}", self.namespace)
    }

    /// The path of a resource in the namespace: `configmaps`, or with group and version `apps/v1/deployments`.
    pub(crate) fn collection(&self, resource: &str) -> String {
        let (root, plural) = split(resource);
        format!("{root}/namespaces/{}/{plural}", self.namespace)
    }

    /// The path of an object in the namespace, or of a subresource: `object("apps/v1/deployments", "web/status")`.
    pub(crate) fn object(&self, resource: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(resource))
    }

    /// Creates an object in the namespace and gives it as it was stored.
    pub(crate) async fn create(&self, resource: &str, object: Value) -> Value {
        self.post(self.collection(resource), object).await.expect(201)
    }

    /// Reads an object of the namespace.
    pub(crate) async fn read(&self, resource: &str, name: &str) -> Value {
        self.get(self.object(resource, name)).await.expect(200)
    }

    /// Looks until it finds what it waits for: for what controllers do in their own time.
    pub(crate) async fn eventually<T>(&self, what: &str, look: impl AsyncFnMut() -> Result<T, String>) -> T {
        mcrt_tests::eventually(EVENTUALLY, what, look).await
    }

    /// Waits until an object is gone.
    pub(crate) async fn gone(&self, path: &str) {
        self.eventually(&format!("{path} to be gone"), async || {
            match self.get(path).await {
                found if found.code() == 404 => Ok(()),
                found => Err(found.to_string()),
            }
        })
        .await;
    }

    fn note(&self, exchange: String) {
        self.exchanges.lock().push(exchange);
    }
}

/// The root of a group's version and the plural.
fn split(resource: &str) -> (String, &str) {
    match resource.rsplit_once('/') {
        None => ("/api/v1".to_owned(), resource),
        Some((api_version, plural)) => (format!("/apis/{api_version}"), plural),
    }
}

/// A behaviour that fails shows what was said before.
impl Drop for Bed {
    fn drop(&mut self) {
        if thread::panicking() {
            let exchanges = self.exchanges.lock();
            let shown = &exchanges[exchanges.len().saturating_sub(SHOWN)..];
            println!("the last of {} exchanges:\n{}", exchanges.len(), shown.join("\n"));
        }
    }
}
