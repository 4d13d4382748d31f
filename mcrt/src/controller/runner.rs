//! Runs what the queue hands out: one task per item, under a deadline, with panics kept inside.
use super::{
    Action, Context, Reconciler,
    context::Inner,
    engagement::Engagement,
    fleet_events::Held,
    lane_gate::is_of_outage,
    outcome::{Ran, is_failure},
    runtime::{Counters, Runtime},
    waiting::Route,
};
use crate::{
    Error,
    cache::{Cacheable, Store},
    cluster::ObjectKey,
    fleet::HeldDuty,
    panic::panic_text,
    queue::{Item, Outcome},
};
use futures::{FutureExt, StreamExt};
use std::{collections::VecDeque, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// How long a request waits for a cluster whose indexes are being made.
const ATTACHING: Duration = Duration::from_secs(1);

impl<R: Reconciler<Object: Cacheable>> Runtime<R> {
    /// Runs until `stop`; then lets running reconciles finish within the fleet's grace period, aborts the rest, and
    /// joins them all.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut running = JoinSet::new();
        let mut events = self.shared.fleet.events();
        self.shared.drop_unexpected();
        let mut held = Held::default();
        let mut resyncing = VecDeque::new();
        let mut resync = self.settings.resync.map(|period| {
            let mut ticks = interval_at(Instant::now() + period, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        loop {
            tokio::select! {
                // In this order: each of the others is done with after a while, and what has ended is let go before
                // more begins, or ended tasks would pile up behind a long queue.
                biased;
                () = stop.cancelled() => break,
                Some(joined) = running.join_next() => {
                    if let Err(error) = joined {
                        tracing::error!(controller = %self.shared.name, %error, "a runner task failed");
                    }
                }
                Some(event) = events.next() => self.take_fleet_event(event, &mut held),
                () = self.shared.attached.notified() => self.release_fleet_events(&mut held),
                () = held.host_due() => self.enqueue_host(&mut held),
                () = tick(&mut resync), if resyncing.is_empty() => {
                    resyncing.extend(self.shared.engaged.read().all());
                }
                item = self.shared.queue.pop() => match item {
                    Some(item) => drop(running.spawn(self.clone().process(item, stop.clone()))),
                    None => break,
                },
                () = std::future::ready(()), if !resyncing.is_empty() => {}
            }
            // One cluster a turn, whatever the turn was for: work is handed out in between.
            if let Some(engagement) = resyncing.pop_front() {
                self.shared.enqueue_all::<R::Object>(&engagement);
            }
        }
        self.shared.queue.close();
        let drained = async { while running.join_next().await.is_some() {} };
        if timeout(self.shared.fleet.grace(), drained).await.is_err() {
            running.shutdown().await;
        }
    }

    fn primary(&self, engagement: &Engagement) -> Option<Store<R::Object>> {
        engagement.store_where::<R::Object>(|cache| cache.scope().resource == self.shared.kind)
    }

    async fn process(self: Arc<Self>, item: Item<ObjectKey>, stop: CancellationToken) {
        let (home, target) = {
            let engaged = self.shared.engaged.read();
            (engaged.engagement(item.home()), engaged.engagement(item.target()))
        };
        let (Some(home), Some(target)) = (home, target) else {
            let outcome = self.without_engagement(&item);
            item.done(outcome);
            return;
        };
        let span = tracing::info_span!(
            "reconcile",
            controller = %self.shared.name,
            cluster = %target.cluster,
            home = (home.lane != target.lane).then(|| tracing::field::display(&home.cluster)),
            object = %item.object(),
            attempt = item.attempt(),
        );
        let outcome = self.attempt(&item, home, target, stop).instrument(span).await;
        item.done(outcome);
    }

    /// One of the item's clusters is being attached: the item waits. Or it has left since: its purge has dropped
    /// the key.
    fn without_engagement(&self, item: &Item<ObjectKey>) -> Outcome {
        let engaged = self.shared.engaged.read();
        if engaged.is_published(item.home()) && engaged.is_published(item.target()) {
            Outcome::Requeue(ATTACHING)
        } else {
            Outcome::GiveUp
        }
    }

    async fn attempt(
        &self,
        item: &Item<ObjectKey>,
        home: Arc<Engagement>,
        target: Arc<Engagement>,
        stop: CancellationToken,
    ) -> Outcome {
        let key = item.object();
        let Some(store) = self.primary(&home) else {
            return Outcome::GiveUp;
        };
        if home.lane != target.lane && !store.was_synced() {
            self.await_home(item, &home, &target, &store);
            return Outcome::Done;
        }
        let mut attempt = item.attempt();
        // The object's own key takes leave of it, whatever other clusters still have to do with it: once, alone.
        if home.lane == target.lane
            && let Some(gone) = self.tombstones.get(home.lane, key)
        {
            if let Some(again) = self.take_leave(item, &home, gone, &stop).await {
                return again;
            }
            // The failures were those of the leave.
            self.shared.queue.forget(home.lane, target.lane, key);
            attempt = 0;
        }
        let object = match self.object(&store, key) {
            Ok(Some(object)) => object,
            Ok(None) => return Outcome::Done,
            Err(failed) => return failed,
        };
        let cx = self.context(item, attempt, [&home, &target], &object, &stop);
        Counters::count(&self.shared.counters.reconciles);
        // Called inside the guarded future: what a hand-written one does before its first poll may panic too.
        let call = async { self.reconciler.reconcile(object.clone(), cx.clone()).await };
        let ran = self.guarded(&home, &target, call).await;
        if let Some(outcome) = self.put_back(&ran, item, &home, &target) {
            return outcome;
        }
        let outcome = self.settle(ran, &object, &cx);
        if is_failure(outcome) && item.is_last_try() {
            tracing::error!("the retries of this object are used up: it waits for a change");
        }
        outcome
    }

    /// The object of a key. It is decoded for whoever reads it, by code of the kind's author.
    fn object(&self, store: &Store<R::Object>, key: &ObjectKey) -> Result<Option<Arc<R::Object>>, Outcome> {
        std::panic::catch_unwind(AssertUnwindSafe(|| store.get(key))).map_err(|panic| {
            Counters::count(&self.shared.counters.panics);
            tracing::error!(panic = panic_text(&*panic), "the object cannot be decoded");
            Outcome::Retry
        })
    }

    /// Takes leave of a deleted object. Says how to go on if leave is still to be taken.
    async fn take_leave(
        &self,
        item: &Item<ObjectKey>,
        home: &Arc<Engagement>,
        gone: Arc<R::Object>,
        stop: &CancellationToken,
    ) -> Option<Outcome> {
        let cx = self.context(item, item.attempt(), [home, home], &gone, stop);
        let call = async {
            let taken = self.reconciler.gone(gone.clone(), cx.clone()).await;
            taken.map(|()| Action::await_change())
        };
        let ran = self.guarded(home, home, call).await;
        if matches!(ran, Ran::Aborted) {
            return Some(Outcome::GiveUp);
        }
        if let Some(outcome) = self.put_back(&ran, item, home, home) {
            return Some(outcome);
        }
        match self.settle(ran, &gone, &cx) {
            Outcome::Done | Outcome::GiveUp => Counters::count(&self.shared.counters.gone),
            // Kept, it would stand before every later object of its name.
            failed if is_failure(failed) && item.is_last_try() => {
                tracing::error!("the retries are used up: no leave is taken of this deleted object");
            }
            again => return Some(again),
        }
        self.tombstones.settle(home.lane, item.object());
        None
    }

    /// Keeps a request until its home has told what exists there; no outcome would count as a failure.
    fn await_home(
        &self,
        item: &Item<ObjectKey>,
        home: &Engagement,
        target: &Engagement,
        store: &Store<R::Object>,
    ) {
        let [home, target] = [home, target].map(|engagement| engagement.cluster.name().clone());
        let object = item.object().clone();
        let route = Route {
            home: home.clone(),
            target,
            object,
        };
        self.shared.await_cluster(&home, route, item.priority());
        // It may have told while this one was looking.
        if store.was_synced() {
            self.shared.release_waiting(&home);
        }
    }

    fn context(
        &self,
        item: &Item<ObjectKey>,
        attempt: u32,
        [home, target]: [&Arc<Engagement>; 2],
        object: &Arc<R::Object>,
        stop: &CancellationToken,
    ) -> Context<R> {
        Context::new(Inner {
            shared: self.shared.clone(),
            home: home.clone(),
            target: target.clone(),
            host: self.shared.host(),
            object: item.object().clone(),
            uid: kube::Resource::meta(&**object).uid.clone(),
            attempt,
            stop: stop.clone(),
        })
    }

    /// Runs a call of the author under the deadline, until its clusters are torn down, with a panic kept inside.
    async fn guarded(
        &self,
        home: &Engagement,
        target: &Engagement,
        call: impl Future<Output = Result<Action, Error>> + Send,
    ) -> Ran {
        let call = timeout(self.settings.timeout, AssertUnwindSafe(call).catch_unwind());
        // Held until it has ended: nobody else works on the host before.
        let duty = target
            .cluster
            .is_host()
            .then(|| self.shared.fleet.host_duty().hold());
        if let Some(None) = duty {
            return Ran::OffDuty;
        }
        tokio::select! {
            biased;
            () = home.abort.cancelled() => Ran::Aborted,
            () = target.abort.cancelled() => Ran::Aborted,
            () = cut(duty.as_ref().and_then(Option::as_ref)) => Ran::OffDuty,
            ran = call => match ran {
                Ok(Ok(result)) => Ran::Finished(result),
                Ok(Err(panic)) => Ran::Panicked(panic_text(&*panic).to_owned()),
                Err(_) => Ran::TimedOut,
            },
        }
    }

    /// Puts the item back if an outage made its call fail; whatever an error policy would say, it is not asked.
    fn put_back(
        &self,
        ran: &Ran,
        item: &Item<ObjectKey>,
        home: &Arc<Engagement>,
        target: &Arc<Engagement>,
    ) -> Option<Outcome> {
        let reason = match ran {
            Ran::Finished(Err(error)) if is_of_outage(error) => format!("{error:#}"),
            // It stays in the lane, which opens when the work is this replica's again.
            Ran::OffDuty => {
                self.shared.regulate(target);
                return Some(Outcome::Deferred);
            }
            // What it waited for all the time is not to be had now.
            Ran::TimedOut => format!("timed out after {:?}", self.settings.timeout),
            _ => return None,
        };
        self.shared.put_back(&reason, item, home, target)
    }
}

/// Resolves when work on the host is to be broken off.
async fn cut(duty: Option<&HeldDuty>) {
    match duty {
        Some(duty) => duty.cut().cancelled().await,
        None => std::future::pending().await,
    }
}

async fn tick(ticks: &mut Option<tokio::time::Interval>) {
    match ticks {
        Some(ticks) => drop(ticks.tick().await),
        None => std::future::pending().await,
    }
}
