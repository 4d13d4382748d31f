//! The simulated fleet as a provider.
use super::{Change, ClusterSpec, Provider, ProviderContext};
use crate::{
    cluster::{ClusterName, Properties},
    connect::Access,
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use mcrt_sim::{Fleet, FleetChange, Server};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// A fleet of API servers in this process.
///
/// Its clusters are the members of an [`mcrt_sim::Fleet`], in the program's own hands: members that join and leave
/// are engaged and disengaged like any cluster.
#[derive(Debug)]
pub struct Sim {
    fleet: Fleet,
    churn: Mutex<Churn>,
    labels: watch::Sender<Labels>,
}

/// The labels of members, by their names.
type Labels = BTreeMap<String, BTreeMap<String, String>>;

/// What the demonstration does to its fleet by itself.
#[derive(Debug, Default)]
struct Churn {
    /// When the first stream began: nothing happens to a fleet that nobody follows.
    began: Option<Instant>,
    steps: VecDeque<(Duration, Step)>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Join(&'static str),
    Leave(&'static str),
}

impl Sim {
    /// The members of this fleet, as they come and go.
    pub fn new(fleet: Fleet) -> Self {
        Self {
            fleet,
            churn: Mutex::default(),
            labels: watch::Sender::default(),
        }
    }

    /// Three clusters, `alpha`, `beta` and `gamma`; `delta` joins 5 s after the first stream begins, `beta` leaves
    /// after 10 s.
    ///
    /// The stream does both while it is read, so nothing goes on behind a program that has stopped.
    pub fn demo() -> Self {
        let fleet = Fleet::new();
        for name in ["alpha", "beta", "gamma"] {
            fleet.join(name);
        }
        let steps = [
            (Duration::from_secs(5), Step::Join("delta")),
            (Duration::from_secs(10), Step::Leave("beta")),
        ];
        Self {
            fleet,
            churn: Mutex::new(Churn {
                began: None,
                steps: steps.into(),
            }),
            labels: watch::Sender::default(),
        }
    }

    /// Describes the member of that name with these labels from now on, whichever life it is in.
    pub fn label<K: Into<String>, V: Into<String>>(
        &self,
        member: impl Into<String>,
        labels: impl IntoIterator<Item = (K, V)>,
    ) {
        let labels = labels.into_iter().map(|(key, value)| (key.into(), value.into()));
        self.labels
            .send_modify(|known| drop(known.insert(member.into(), labels.collect())));
    }

    /// The fleet itself, for whoever wants to fill it, break it or look into it.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// The way to the fleet's host, which is not a member.
    pub fn host_access(&self) -> Access {
        access(&self.fleet.host())
    }

    /// When the next step is due, if there is one.
    fn due(&self) -> Option<Instant> {
        let mut churn = self.churn.lock();
        let began = *churn.began.get_or_insert_with(Instant::now);
        churn.steps.front().map(|(after, _)| began + *after)
    }

    /// Takes the steps that are due: each once, whichever stream comes first.
    fn step(&self) {
        let mut churn = self.churn.lock();
        let Some(began) = churn.began else { return };
        while let Some(&(after, step)) = churn.steps.front()
            && began + after <= Instant::now()
        {
            churn.steps.pop_front();
            match step {
                Step::Join(name) => drop(self.fleet.join(name)),
                Step::Leave(name) => drop(self.fleet.leave(name)),
            }
        }
    }
}

impl Provider for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        let reader = Reader {
            changes: self.fleet.changes().boxed(),
            labels: self.labels.subscribe(),
            members: BTreeMap::new(),
            relabelled: VecDeque::new(),
            sim: self,
        };
        stream::unfold(reader, async |mut reader| {
            let change = reader.next().await?;
            Some((change, reader))
        })
        .boxed()
    }
}

/// One stream.
struct Reader {
    sim: Arc<Sim>,
    changes: BoxStream<'static, FleetChange>,
    labels: watch::Receiver<Labels>,
    /// Each member with the labels that were said of it.
    members: BTreeMap<String, (Server, BTreeMap<String, String>)>,
    /// Members to be described anew.
    relabelled: VecDeque<String>,
}

impl Reader {
    async fn next(&mut self) -> Option<Change> {
        loop {
            if let Some(name) = self.relabelled.pop_front() {
                let server = self.members.get(&name).map(|(server, _)| server.clone());
                if let Some(server) = server {
                    return Some(self.joined(server));
                }
            }
            let sim = &self.sim;
            let step = async {
                match sim.due() {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                change = self.changes.next() => return Some(self.said(change?)),
                () = step => sim.step(),
                // The sender is in the provider.
                _ = self.labels.changed() => self.compare(),
            }
        }
    }

    fn compare(&mut self) {
        let labels = self.labels.borrow_and_update();
        let others = self
            .members
            .iter()
            .filter(|(name, (_, said))| labels.get(*name).is_some_and(|labels| labels != said));
        self.relabelled.extend(others.map(|(name, _)| name.clone()));
    }

    fn said(&mut self, change: FleetChange) -> Change {
        match change {
            FleetChange::Joined(server) => self.joined(server),
            FleetChange::Left { name, .. } => {
                self.members.remove(&name);
                match ClusterName::new(&name) {
                    Ok(name) => Change::Remove(name),
                    Err(error) => Change::Failed(format!("simulated cluster {name:?}: {error}")),
                }
            }
            FleetChange::Synced => Change::Synced,
        }
    }

    fn joined(&mut self, server: Server) -> Change {
        let name = match ClusterName::new(server.name()) {
            Ok(name) => name,
            Err(error) => return Change::Failed(format!("simulated cluster {:?}: {error}", server.name())),
        };
        let labels = self.labels.borrow().get(server.name()).cloned();
        let labels = labels.unwrap_or_default();
        let spec = ClusterSpec::new(name, server.uid(), access(&server)).with_properties(Properties {
            labels: labels.clone(),
            ..Properties::default()
        });
        self.members.insert(server.name().to_owned(), (server, labels));
        Change::Upsert(spec)
    }
}

fn access(server: &Server) -> Access {
    // The UID makes another life of a name another cluster.
    Access::service(
        format!("sim://{}/{}", server.name(), server.uid()),
        server.service(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        connect::{Answered, Life, TransportSettings, probe},
        provider::tests::Reader,
    };

    #[tokio::test(start_paused = true)]
    async fn the_demonstration_gains_one_cluster_after_five_seconds_and_loses_one_after_ten() {
        let sim = Arc::new(Sim::demo());
        tokio::time::advance(Duration::from_mins(1)).await;
        let mut reader = Reader::of(&sim);
        assert_eq!(reader.take(4).await, ["+alpha", "+beta", "+gamma", "synced"]);
        let began = Instant::now();
        assert_eq!(reader.next().await, "+delta");
        assert_eq!(began.elapsed().as_secs(), 5);
        assert_eq!(reader.next().await, "-beta");
        assert_eq!(began.elapsed().as_secs(), 10);
        assert!(reader.is_quiet(Duration::from_mins(1)).await);
        let mut second = Reader::of(&sim);
        assert_eq!(second.take(4).await, ["+alpha", "+delta", "+gamma", "synced"]);
        assert!(
            second.is_quiet(Duration::from_mins(1)).await,
            "each step happens once"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn two_streams_see_the_same_churn() {
        let sim = Arc::new(Sim::demo());
        let (mut one, mut other) = (Reader::of(&sim), Reader::of(&sim));
        let (one, other) = tokio::join!(one.take(6), other.take(6));
        assert_eq!(one, other);
        assert_eq!(one[4..], ["+delta", "-beta"]);
    }

    #[tokio::test(start_paused = true)]
    async fn another_life_of_a_name_shows_as_removal_and_arrival() {
        let fleet = Fleet::new();
        fleet.join("a");
        let mut reader = Reader::of(&Arc::new(Sim::new(fleet.clone())));
        reader.until("synced").await;
        let before = reader.clusters["a"].clone();
        fleet.join("a");
        assert_eq!(reader.take(2).await, ["-a", "+a"]);
        assert_ne!(reader.clusters["a"], before);
        fleet.leave("a");
        assert_eq!(reader.next().await, "-a");
    }

    #[tokio::test(start_paused = true)]
    async fn a_member_that_is_labelled_is_described_anew_and_keeps_its_labels_in_its_next_life() {
        let fleet = Fleet::new();
        let sim = Arc::new(Sim::new(fleet.clone()));
        sim.label("a", [("env", "prod")]);
        fleet.join("a");
        fleet.join("b");
        let mut changes = sim.clone().changes(ProviderContext::default());
        let mut next = async || match changes.next().await {
            Some(Change::Upsert(spec)) => format!("{} {:?}", spec.name, spec.properties.labels),
            Some(Change::Remove(name)) => format!("-{name}"),
            Some(Change::Synced) => "synced".to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(next().await, "a {\"env\": \"prod\"}");
        assert_eq!([next().await, next().await], ["b {}", "synced"]);
        sim.label("c", [("env", "prod")]);
        sim.label("a", [("env", "prod")]);
        sim.label("b", [("env", "test")]);
        assert_eq!(next().await, "b {\"env\": \"test\"}");
        fleet.join("a");
        assert_eq!([next().await, next().await], ["-a", "a {\"env\": \"prod\"}"]);
        sim.label("a", Vec::<(String, String)>::new());
        assert_eq!(next().await, "a {}");
    }

    #[tokio::test(start_paused = true)]
    async fn members_and_host_answer() {
        let sim = Sim::demo();
        let life = Life::new();
        let member = access(&sim.fleet().servers()[0]);
        for access in [sim.host_access(), member] {
            let client = access
                .connect(&TransportSettings::default(), &life)
                .unwrap()
                .client();
            let answered = probe(&client, Duration::from_secs(5)).await.unwrap();
            assert_eq!(answered, Answered::Ready);
        }
        life.end().await;
        assert_eq!(life.tasks(), 0);
    }
}
