//! The session of a replica: how long it may work, and for how long it is renewed.
use super::{
    leases::{Failure, Leases},
    rendezvous::Peer,
    sharding::{LostHost, Sharding},
};
use crate::{fleet::Fleet, jitter::around};
use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};
use tokio::time::{Instant, sleep, sleep_until};

/// A session that was written, and is renewed while somebody [keeps](Self::keep) it.
///
/// ```text
///  sent           1/4     renewed, each try within 1/10   3/5 all work stops    9/10 nothing is sent    1 others may take over
///  |---------------|---------------------------------------|---------------------|-----------------------|
/// ```
/// All of it counts from when the last renewal that succeeded was sent, by the clock of this machine. Another replica
/// counts from when it saw that renewal, which cannot have been earlier, and by a clock of its own that need only run as
/// fast.
pub(super) struct Session {
    pub(super) me: Peer,
    leases: Leases,
    lease: Duration,
    lost_host: LostHost,
    /// When the last renewal that succeeded was sent.
    sent: Instant,
}

impl Session {
    /// Begins one; waits for the host for as long as that takes.
    pub(super) async fn begin(sharding: &Sharding, leases: Leases) -> Self {
        let id = format!(
            "{}_{:016x}",
            sharding.replica_name(),
            RandomState::new().hash_one(())
        );
        let me = Peer {
            id,
            weight: sharding.weight,
        };
        let mut told = false;
        loop {
            let sent = Instant::now();
            match leases.renew(&me).await {
                Ok(()) => {
                    let (lease, lost_host) = (sharding.lease, sharding.lost_host);
                    return Self {
                        me,
                        leases,
                        lease,
                        lost_host,
                        sent,
                    };
                }
                Err(failure) => {
                    if !std::mem::replace(&mut told, true) {
                        tracing::warn!(error = %failure, "no Lease can be written on the host: no cluster is worked on until one is");
                    }
                    sleep(around(sharding.lease / 20)).await;
                }
            }
        }
    }

    /// Renews the session until it has to be given up; then its work has to stop. May be dropped and called again.
    pub(super) async fn keep(&mut self, fleet: &Fleet) {
        loop {
            fleet.valid_until(self.works_until());
            let renewing = renewed(&self.leases, &self.me, self.sent, self.lease);
            let given_up = self.gives_up_at();
            let sent = match given_up {
                None => renewing.await,
                Some(at) => tokio::select! {
                    biased;
                    () = sleep_until(at) => return,
                    sent = renewing => sent,
                },
            };
            // A process that stood still finds everything due at once. What it sends then is too late, whoever answers.
            if given_up.is_some_and(|at| sent >= at) {
                return;
            }
            self.sent = sent;
        }
    }

    fn gives_up_at(&self) -> Option<Instant> {
        (self.lost_host == LostHost::Stop).then(|| self.sent + self.lease * 3 / 5)
    }

    /// Until when requests may be sent.
    pub(super) fn works_until(&self) -> Option<Instant> {
        (self.lost_host == LostHost::Stop).then(|| self.sent + self.lease * 9 / 10)
    }

    /// Says that nothing of it runs any more. Whether or not that is heard, the session is over.
    pub(super) async fn end(self) -> Result<(), Failure> {
        self.leases.end(&self.me).await
    }
}

/// Renews once, however many tries it takes. Gives when the one was sent that succeeded.
async fn renewed(leases: &Leases, me: &Peer, last: Instant, lease: Duration) -> Instant {
    sleep_until(last + around(lease / 4)).await;
    let mut tries = 0;
    loop {
        let sent = Instant::now();
        match leases.renew(me).await {
            Ok(()) => return sent,
            Err(failure) => {
                tries += 1;
                tracing::warn!(replica = me.id, tries, error = %failure, "the session could not be renewed; it is tried again");
            }
        }
        sleep(around(lease / 20)).await;
    }
}
