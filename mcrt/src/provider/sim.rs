//! The simulated fleet as a provider.
use super::{Change, ClusterSpec, Provider, ProviderContext};
use crate::{cluster::ClusterName, connect::Access};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use mcrt_sim::{Fleet, FleetChange, Server};
use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};

/// A fleet of API servers in this process.
///
/// Its clusters are the members of an [`mcrt_sim::Fleet`], in the program's own hands: members that join and leave
/// are engaged and disengaged like any cluster.
#[derive(Debug)]
pub struct Sim {
    fleet: Fleet,
    churn: Mutex<Churn>,
}

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
        }
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
        let changes = self.fleet.changes().boxed();
        stream::unfold((self, changes), async |(sim, mut changes)| {
            let change = next(&sim, &mut changes).await?;
            Some((said(change), (sim, changes)))
        })
        .boxed()
    }
}

async fn next(sim: &Sim, changes: &mut BoxStream<'static, FleetChange>) -> Option<FleetChange> {
    loop {
        let step = async {
            match sim.due() {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            change = changes.next() => return change,
            () = step => sim.step(),
        }
    }
}

fn said(change: FleetChange) -> Change {
    match change {
        FleetChange::Joined(server) => match ClusterName::new(server.name()) {
            Ok(name) => Change::Upsert(ClusterSpec::new(name, server.uid(), access(&server))),
            Err(error) => Change::Failed(format!("simulated cluster {:?}: {error}", server.name())),
        },
        FleetChange::Left { name, .. } => match ClusterName::new(&name) {
            Ok(name) => Change::Remove(name),
            Err(error) => Change::Failed(format!("simulated cluster {name:?}: {error}")),
        },
        FleetChange::Synced => Change::Synced,
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
