//! One stream of the kind provider: look at the containers, ask for kubeconfigs, say what differs.
use super::{
    Settings,
    engine::Engine,
    listing::{CLUSTER, Listing, Nodes},
    programs::ask,
};
use crate::{
    child::printable,
    cluster::{ClusterName, Properties},
    connect::Connection,
    provider::{
        Change, ClusterSpec,
        said::{Claim, Said},
    },
};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::time::{Instant, sleep_until};

/// kind runs a handful of programs of its own for each question.
const AT_ONCE: usize = 4;

pub(super) struct Follow {
    settings: Arc<Settings>,
    engine: Option<Engine>,
    /// A look that is under way.
    looking: Option<BoxFuture<'static, Look>>,
    next_look: Instant,
    /// Questions for kubeconfigs that are under way.
    asking: FuturesUnordered<BoxFuture<'static, Answer>>,
    /// By the names that kind gives.
    known: BTreeMap<String, Known>,
    listed: bool,
    said: Said,
}

struct Look {
    engine: Option<Engine>,
    listing: Result<Listing, String>,
}

struct Answer {
    cluster: String,
    life: Option<String>,
    given: Result<Connection, String>,
}

/// What is known of a cluster.
struct Known {
    name: ClusterName,
    nodes: Nodes,
    /// The last that its nodes told, however many of them are left.
    life: Option<String>,
    is_asked: bool,
    is_due: bool,
    /// When it is due although nothing has changed.
    refresh: Instant,
}

impl Follow {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            engine: None,
            looking: None,
            next_look: Instant::now(),
            asking: FuturesUnordered::new(),
            known: BTreeMap::new(),
            listed: false,
            said: Said::default(),
        }
    }

    /// Dropped at any point, it goes on where it was; what runs is its own and ends with it.
    pub(super) async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.said.next() {
                return change;
            }
            let looking = async {
                if let Some(looking) = &mut self.looking {
                    return Some(looking.await);
                }
                sleep_until(self.next_look).await;
                None
            };
            tokio::select! {
                looked = looking => match looked {
                    Some(look) => self.looked(look),
                    None => self.looking = Some(self.look()),
                },
                Some(answer) = self.asking.next() => self.answered(answer),
            }
            self.ask();
            if self.listed && self.known.values().all(|known| self.said.knows(&known.name)) {
                self.said.synced();
            }
        }
    }

    fn look(&self) -> BoxFuture<'static, Look> {
        look(Arc::clone(&self.settings), self.engine.clone()).boxed()
    }

    fn looked(&mut self, look: Look) {
        self.looking = None;
        self.next_look = Instant::now() + self.settings.interval;
        self.engine = look.engine;
        let mut problems = BTreeSet::new();
        match look.listing {
            Ok(listing) => self.listed(listing, &mut problems),
            Err(problem) => {
                problems.insert(format!("{problem}; clusters stay as they were"));
            }
        }
        self.said.problems(problems);
    }

    fn listed(&mut self, listing: Listing, problems: &mut BTreeSet<String>) {
        self.listed |= listing.unreadable == 0 || !listing.clusters.is_empty();
        if listing.unreadable > 0 {
            problems.insert(format!(
                "{} of the containers that are labelled `{CLUSTER}` cannot be told from the list: are their labels \
                 kind's own? Until that is right, no cluster is taken for gone",
                listing.unreadable
            ));
        }
        if listing.unreadable == 0 {
            self.forget(&listing);
        }
        for (cluster, nodes) in listing.clusters {
            if let Some(known) = self.known.get_mut(&cluster) {
                known.see(nodes, &mut self.said);
                continue;
            }
            match ClusterName::new(format!("{}{cluster}", self.settings.prefix)) {
                Ok(name) => {
                    let known = self.known.entry(cluster).or_insert_with(|| Known::new(name));
                    known.see(nodes, &mut self.said);
                }
                Err(error) => {
                    problems.insert(format!("kind cluster `{}`: {error}", printable(&cluster)));
                }
            }
        }
    }

    /// What has no container any more is gone.
    fn forget(&mut self, listing: &Listing) {
        self.known.retain(|cluster, known| {
            let stays = listing.clusters.contains_key(cluster);
            if !stays {
                self.said.remove(&known.name);
            }
            stays
        });
    }

    /// Asks for the kubeconfigs that are due, as many as may be asked for at once.
    fn ask(&mut self) {
        let due = self
            .known
            .iter_mut()
            .filter(|(_, known)| known.is_due && !known.is_asked);
        for (cluster, known) in due.take(AT_ONCE.saturating_sub(self.asking.len())) {
            known.is_due = false;
            known.is_asked = true;
            let life = known.life.clone();
            let engine = self.engine.clone();
            let given = kubeconfig(Arc::clone(&self.settings), engine, cluster.clone());
            let cluster = cluster.clone();
            let answer = given.map(|given| Answer { cluster, life, given });
            self.asking.push(answer.boxed());
        }
    }

    fn answered(&mut self, answer: Answer) {
        // It may have gone meanwhile.
        let Some(known) = self.known.get_mut(&answer.cluster) else {
            return;
        };
        known.is_asked = false;
        if known.life != answer.life {
            known.is_due = true;
            return;
        }
        if known.nodes.unreachable().is_some() {
            return;
        }
        let now = Instant::now();
        match answer.given {
            Ok(connection) => {
                known.refresh = now + self.settings.refresh;
                let spec = known.describe(&answer.cluster, connection);
                self.said.claim(&known.name, Claim::Good(Box::new(spec)));
            }
            Err(reason) => {
                // At the next look.
                known.refresh = now;
                self.said.claim(&known.name, Claim::Bad(reason));
            }
        }
    }
}

impl Known {
    fn new(name: ClusterName) -> Self {
        Self {
            name,
            nodes: Nodes::default(),
            life: None,
            is_asked: false,
            is_due: false,
            refresh: Instant::now(),
        }
    }

    /// Its containers are these now.
    fn see(&mut self, nodes: Nodes, said: &mut Said) {
        let life = nodes.life();
        if life.is_some() && life != self.life.as_deref() {
            // What bore the name before is gone, whatever becomes of what bears it now.
            said.remove(&self.name);
            self.life = life.map(str::to_owned);
        }
        let has_changed = self.nodes != nodes;
        self.nodes = nodes;
        match self.nodes.unreachable() {
            Some(reason) => {
                self.is_due = false;
                said.claim(&self.name, Claim::Bad(reason.to_owned()));
            }
            None => self.is_due |= has_changed || self.refresh <= Instant::now(),
        }
    }

    fn describe(&self, cluster: &str, connection: Connection) -> ClusterSpec {
        let mut properties = Properties::default();
        properties.labels.insert(CLUSTER.to_owned(), cluster.to_owned());
        let life = self.life.clone().unwrap_or_default();
        ClusterSpec::new(self.name.clone(), life, connection).with_properties(properties)
    }
}

async fn look(settings: Arc<Settings>, engine: Option<Engine>) -> Look {
    let found = match engine {
        Some(engine) => Ok(engine),
        None => Engine::find(&settings).await,
    };
    match found {
        Ok(mut engine) => {
            let listing = engine.list(&settings).await;
            Look {
                engine: Some(engine),
                listing,
            }
        }
        Err(problem) => Look {
            engine: None,
            listing: Err(problem),
        },
    }
}

/// Asks kind how to reach a cluster.
async fn kubeconfig(
    settings: Arc<Settings>,
    engine: Option<Engine>,
    cluster: String,
) -> Result<Connection, String> {
    let mut args = vec!["get".into(), "kubeconfig".into()];
    // One argument, so that no name can pass for a flag.
    args.push(format!("--name={cluster}").into());
    if settings.internal {
        args.push("--internal".into());
    }
    let engine = engine.as_ref().map(Engine::name);
    let given = ask(&settings, &settings.program, args, engine).await;
    let text = given.map_err(|refusal| {
        let told = refusal.told(&settings.program, " get kubeconfig");
        format!("{told}; it is asked again at each look, for a cluster that is being created has none yet")
    })?;
    let policy = settings.policy.clone();
    let vetted = tokio::task::spawn_blocking(move || Connection::from_bytes(&*text, None, &policy));
    let vetted = vetted
        .await
        .map_err(|_| "its kubeconfig could not be read".to_owned())?;
    vetted.map_err(|error| format!("its kubeconfig: {error}"))
}
