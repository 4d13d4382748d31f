//! Which kinds a cluster serves, asked slowly and only while a watch misses one.
use crate::{connect::Breaker, jitter::between};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::{Client, core::ApiResource};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A server that has not answered by then is asked again at the next turn.
const DEADLINE: Duration = Duration::from_secs(30);
/// How soon after an outage the server is asked, by chance: what is missed may have come meanwhile.
const AFTER_OUTAGE: Duration = Duration::from_secs(2);

/// What a group and version was said to serve.
#[derive(Clone)]
enum Answer {
    /// These resources, by their plural names.
    Kinds(Arc<HashSet<String>>),
    /// The server does not say: whoever waits has to try for themselves.
    Secret,
}

/// The kinds of one cluster that watches wait for.
pub(super) struct Served {
    /// Taken by `close`.
    client: Mutex<Option<Client>>,
    breaker: Breaker,
    interval: Duration,
    tracker: TaskTracker,
    stop: CancellationToken,
    /// By group and version, as long as anybody waits. The task of each asks.
    groups: Mutex<HashMap<String, watch::Sender<Answer>>>,
}

impl Served {
    /// The tasks belong to the tracker, and end with the token.
    pub(super) fn new(
        client: Client,
        breaker: Breaker,
        interval: Duration,
        tracker: TaskTracker,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let (client, groups) = (Mutex::new(Some(client)), Mutex::default());
        Arc::new(Self {
            client,
            breaker,
            interval,
            tracker,
            stop,
            groups,
        })
    }

    /// Waits for a kind from now on: answers that came before do not count.
    pub(super) fn await_kind(self: &Arc<Self>, kind: &ApiResource) -> Awaited {
        let mut groups = self.groups.lock();
        let answers = groups.entry(kind.api_version.clone()).or_insert_with(|| {
            let asks = ask(Arc::downgrade(self), kind.clone());
            let stopped = self.stop.clone();
            self.tracker
                .spawn(async move { stopped.run_until_cancelled(asks).await });
            watch::Sender::new(Answer::Kinds(Arc::default()))
        });
        let plural = kind.plural.clone();
        Awaited {
            answers: answers.subscribe(),
            plural,
        }
    }

    /// Nothing of a closed cluster holds its sockets.
    pub(super) fn close(&self) {
        *self.client.lock() = None;
    }

    /// Whether anybody waits for this group and version; if not, it is forgotten.
    fn is_awaited(&self, api_version: &str) -> bool {
        let mut groups = self.groups.lock();
        let awaited = groups
            .get(api_version)
            .is_some_and(|answers| answers.receiver_count() > 0);
        if !awaited {
            groups.remove(api_version);
        }
        awaited
    }

    fn tell(&self, api_version: &str, answer: Answer) {
        if let Some(answers) = self.groups.lock().get(api_version) {
            answers.send_replace(answer);
        }
    }

    /// What the server says, or nothing if it does not answer now: an aggregated API that is down is no answer.
    async fn answer(&self, kind: &ApiResource) -> Option<Answer> {
        let client = self.client.lock().clone()?;
        let asked: Result<APIResourceList, _> = if kind.group.is_empty() {
            client.list_core_api_resources(&kind.version).await
        } else {
            client.list_api_group_resources(&kind.api_version).await
        };
        match asked {
            Ok(list) => {
                let names = list.resources.into_iter().map(|resource| resource.name).collect();
                Some(Answer::Kinds(Arc::new(names)))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Some(Answer::Kinds(Arc::default())),
            Err(kube::Error::Api(status)) if status.code == 403 => Some(Answer::Secret),
            Err(kube::Error::SerdeError(_)) => Some(Answer::Secret),
            Err(_) => None,
        }
    }
}

/// Asks for one group and version until nobody waits for it.
async fn ask(served: Weak<Served>, kind: ApiResource) {
    let Some(mut circuit) = served.upgrade().map(|served| served.breaker.changes()) else {
        return;
    };
    loop {
        let Some(interval) = served.upgrade().map(|served| served.interval) else {
            return;
        };
        // Never later than the interval says; the clusters of a fleet do not ask in step.
        let pause = between(interval.mul_f64(0.6), interval);
        let opened = async { circuit.wait_for(|circuit| !circuit.is_closed()).await.is_ok() };
        if tokio::time::timeout(pause, opened).await.is_ok() {
            if circuit.wait_for(|circuit| circuit.is_closed()).await.is_err() {
                return;
            }
            tokio::time::sleep(between(Duration::ZERO, AFTER_OUTAGE)).await;
        }
        let Some(served) = served.upgrade() else { return };
        if !served.is_awaited(&kind.api_version) {
            return;
        }
        let answer = tokio::time::timeout(DEADLINE, served.answer(&kind)).await;
        if let Ok(Some(answer)) = answer {
            served.tell(&kind.api_version, answer);
        }
    }
}

/// A kind that is waited for.
pub(super) struct Awaited {
    answers: watch::Receiver<Answer>,
    plural: String,
}

impl Awaited {
    /// Resolves when the server says that it serves the kind, or does not say anything about kinds.
    pub(super) async fn served(&mut self) {
        loop {
            if self.answers.changed().await.is_err() {
                // Nobody asks any more: the cluster is being closed, and with it whoever waits here.
                std::future::pending::<()>().await;
            }
            match &*self.answers.borrow_and_update() {
                Answer::Kinds(kinds) if !kinds.contains(&self.plural) => {}
                Answer::Kinds(_) | Answer::Secret => return,
            }
        }
    }
}
