//! The small controller that runs over the fleet of a check: it fills objects in and writes down what it saw.
use crate::{
    Action, Context, Controller, ControllerBuilder, Epoch, HandWired, Index, IndexReader, Reconciler, Watch,
};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::watch;

/// On every object of a check; its value is the id of the site.
pub(super) const LABEL: &str = "mcrt.dev/conformance";
/// What objects are indexed by.
pub(super) const TEAM: &str = "mcrt.dev/team";
/// What the controller fills in. Always the same: several clusters of a fleet may lead to one server.
pub(super) const FILLED: &str = "filled-in";

/// How many run at once while they are held.
pub(super) const HELD: usize = 2;

/// One reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) cluster: String,
    pub(super) epoch: Epoch,
    pub(super) object: String,
    /// Which replica did.
    pub(super) by: &'static str,
}

/// What the controller saw. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Seen {
    notes: Arc<Mutex<Notes>>,
    /// Whether it leaves objects as they are.
    looks_only: bool,
    /// While true, what is begun does not end; then only [`HELD`] run at once.
    held: Option<watch::Sender<bool>>,
    /// Of several replicas, which this is.
    replica: &'static str,
}

#[derive(Default)]
struct Notes {
    runs: Vec<Run>,
    /// What runs now, and by whom.
    running: Vec<(String, String, &'static str)>,
    /// Objects that were reconciled by two at once.
    twice: Vec<String>,
    teams: Option<IndexReader<ConfigMap, String>>,
}

impl Seen {
    pub(super) fn runs(&self) -> Vec<Run> {
        self.notes.lock().runs.clone()
    }

    /// Whether an object of a cluster was reconciled.
    pub(super) fn expect(&self, cluster: &str, object: &str) -> Result<(), String> {
        let runs = self.runs();
        let found = runs
            .iter()
            .any(|run| run.cluster == cluster && run.object == object);
        found.then_some(()).ok_or_else(|| {
            format!(
                "`{object}` of `{cluster}` was not reconciled; {} others were",
                runs.len()
            )
        })
    }
}

impl Seen {
    /// One that fills nothing in: two controllers would write in turns who manages an object.
    pub(super) fn that_looks_only() -> Self {
        Self {
            looks_only: true,
            ..Self::default()
        }
    }

    /// One that ends nothing that it begins, until it is released.
    pub(super) fn held() -> Self {
        Self {
            held: Some(watch::Sender::new(true)),
            ..Self::default()
        }
    }

    /// The same, as another replica.
    pub(super) fn of_replica(&self, name: &'static str) -> Self {
        Self {
            replica: name,
            ..self.clone()
        }
    }

    /// What was reconciled by two at once.
    pub(super) fn twice(&self) -> Vec<String> {
        self.notes.lock().twice.clone()
    }

    /// Lets end what was held.
    pub(super) fn release(&self) {
        if let Some(held) = &self.held {
            held.send_replace(false);
        }
    }

    /// The controller of a site, which sees the objects of that site alone.
    pub(super) fn controller(&self, name: &str, site: &str) -> Controller {
        let mut wiring = ControllerBuilder::<Self>::new(name);
        if self.held.is_some() {
            wiring.concurrency(u32::try_from(HELD).unwrap_or(1));
        }
        wiring.for_kind(Watch::new().labels(format!("{LABEL}={site}")));
        let teams: Index<Self, ConfigMap, String> = wiring.index("teams", team);
        wiring.on_fleet(move |seen: &Self, _, cx| {
            seen.notes.lock().teams.get_or_insert_with(|| cx.index(teams));
            None::<crate::Request<ConfigMap>>
        });
        match wiring.build(self.clone()) {
            Ok(controller) => controller,
            Err(error) => panic!("the controller of the kit cannot be built: {error}"),
        }
    }

    /// The objects of a team, as requests.
    pub(super) fn team(&self, team: &str) -> Vec<String> {
        let notes = self.notes.lock();
        let requests = notes
            .teams
            .iter()
            .flat_map(|teams| teams.requests(&team.to_owned()));
        let mut requests: Vec<_> = requests.map(|request| request.to_string()).collect();
        requests.sort();
        requests
    }

    /// The names of a team's objects in one cluster.
    pub(super) fn team_of(&self, team: &str, cluster: &crate::Cluster) -> Vec<String> {
        let notes = self.notes.lock();
        let found = notes
            .teams
            .iter()
            .flat_map(|teams| teams.of(cluster).get(&team.to_owned()));
        let mut names: Vec<_> = found.filter_map(|object| object.metadata.name.clone()).collect();
        names.sort();
        names
    }
}

impl Seen {
    fn begin(&self, run: Run) -> Running {
        let key = (run.cluster.clone(), run.object.clone(), run.by);
        let mut notes = self.notes.lock();
        if let Some((.., by)) = notes
            .running
            .iter()
            .find(|(cluster, object, _)| (cluster, object) == (&key.0, &key.1))
        {
            let twice = format!("`{}` of `{}` by `{by}` and `{}`", run.object, run.cluster, run.by);
            notes.twice.push(twice);
        }
        notes.running.push(key.clone());
        notes.runs.push(run);
        Running {
            notes: self.notes.clone(),
            key,
        }
    }
}

/// Until it is dropped, a reconcile runs.
struct Running {
    notes: Arc<Mutex<Notes>>,
    key: (String, String, &'static str),
}

impl Drop for Running {
    fn drop(&mut self) {
        let running = &mut self.notes.lock().running;
        if let Some(at) = running.iter().position(|running| *running == self.key) {
            running.swap_remove(at);
        }
    }
}

fn team(config: &ConfigMap) -> Option<String> {
    config.metadata.labels.as_ref()?.get(TEAM).cloned()
}

impl HandWired for Seen {}

impl Reconciler for Seen {
    type Object = ConfigMap;

    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> crate::Result<Action> {
        let cluster = cx.cluster();
        let _running = self.begin(Run {
            cluster: cluster.name().to_string(),
            epoch: cluster.epoch(),
            object: config.metadata.name.clone().unwrap_or_default(),
            by: self.replica,
        });
        if let Some(held) = &self.held {
            // The sender is in this.
            let _ = held.subscribe().wait_for(|held| !held).await;
        }
        if self.looks_only {
            return Ok(Action::await_change());
        }
        let mut filled = ConfigMap::default();
        filled.metadata.name.clone_from(&config.metadata.name);
        filled.data = Some([(FILLED.to_owned(), "yes".to_owned())].into());
        cx.apply(&filled).await?;
        Ok(Action::await_change())
    }
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.runs()).finish()
    }
}
