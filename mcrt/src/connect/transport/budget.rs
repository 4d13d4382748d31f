//! How many requests one cluster gets in a second: a bucket of tokens, shared by all clients of the cluster.
use super::super::settings::RequestBudget;
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Requests take their turns in the order in which they asked.
///
/// The generic cell rate algorithm: one instant says when the bucket will be full again, so neither a task nor a queue
/// is needed.
#[derive(Debug)]
pub(super) struct Budget {
    /// From one token to the next.
    interval: Duration,
    /// How far ahead of its time the bucket may be used.
    ahead: Duration,
    full_at: Mutex<Instant>,
}

impl Budget {
    pub(super) fn new(budget: RequestBudget) -> Self {
        let interval = Duration::from_secs(1) / budget.per_second.get();
        Self {
            interval,
            ahead: interval * (budget.burst.get() - 1),
            full_at: Mutex::new(Instant::now()),
        }
    }

    /// Waits for a turn; false, at once, if it would not come by `until`.
    pub(super) async fn turn(&self, until: Instant) -> bool {
        let now = Instant::now();
        let at = {
            let mut full_at = self.full_at.lock();
            let base = (*full_at).max(now);
            let at = base.checked_sub(self.ahead).unwrap_or(now);
            if at > until {
                return false;
            }
            *full_at = base + self.interval;
            at
        };
        if at > now {
            let given_up = GivenUp(self);
            sleep_until(at).await;
            std::mem::forget(given_up);
        }
        true
    }
}

/// A turn that nobody waits for any more is given to those who come later.
struct GivenUp<'a>(&'a Budget);

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        let mut full_at = self.0.full_at.lock();
        if let Some(earlier) = full_at.checked_sub(self.0.interval) {
            *full_at = earlier;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt as _, future::join_all};
    use std::num::NonZeroU32;

    fn budget(per_second: u32, burst: u32) -> Budget {
        Budget::new(RequestBudget {
            per_second: NonZeroU32::new(per_second).unwrap(),
            burst: NonZeroU32::new(burst).unwrap(),
        })
    }

    fn later(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let budget = budget(10, 5);
        let began = Instant::now();
        let turns = join_all((0..25).map(|_| async {
            assert!(budget.turn(later(60)).await);
            began.elapsed().as_millis()
        }));
        let turns = turns.await;
        assert_eq!(turns[..5], [0; 5]);
        assert!((100..=102).contains(&turns[5]), "{turns:?}");
        assert!((2000..=2002).contains(&turns[24]), "{turns:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_fills_up_again_but_not_beyond_its_burst() {
        let budget = budget(10, 5);
        for _ in 0..5 {
            assert!(budget.turn(later(1)).await);
        }
        tokio::time::advance(Duration::from_mins(10)).await;
        let began = Instant::now();
        for _ in 0..6 {
            assert!(budget.turn(later(1)).await);
        }
        assert!((100..=102).contains(&began.elapsed().as_millis()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_beyond_the_deadline_is_refused_at_once_and_costs_nothing() {
        let budget = budget(1, 1);
        assert!(budget.turn(later(1)).await);
        let began = Instant::now();
        for _ in 0..10 {
            assert!(!budget.turn(Instant::now() + Duration::from_millis(500)).await);
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(budget.turn(later(2)).await);
        assert!(began.elapsed() <= Duration::from_millis(1001));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_given_up_gives_its_turn_back() {
        let budget = budget(1, 1);
        assert!(budget.turn(later(1)).await);
        for _ in 0..100 {
            assert!(budget.turn(later(60)).now_or_never().is_none());
        }
        let began = Instant::now();
        assert!(budget.turn(later(60)).await);
        assert!(began.elapsed() <= Duration::from_millis(1001));
    }
}
