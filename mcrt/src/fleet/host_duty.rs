//! Whether the work on the host's own objects is this replica's, where several share the clusters.
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The duty to work on the host. Every replica reads the host; one of them reconciles what lives there.
///
/// A cheap handle, the same for all who hold it. Whoever works [holds](Self::hold) it meanwhile, and lets go when it
/// is told that the duty is another's: only then may another begin.
#[derive(Clone, Debug)]
pub(crate) struct HostDuty(Arc<watch::Sender<State>>);

#[derive(Debug)]
struct State {
    mine: bool,
    /// Counts the times that it came to be this replica's.
    turns: u64,
    holders: usize,
    /// Cancelled when those who still hold it may not send anything more.
    cut: CancellationToken,
}

/// Held by one who works on the host.
#[derive(Debug)]
pub(crate) struct HeldDuty {
    duty: HostDuty,
    cut: CancellationToken,
}

impl HostDuty {
    /// One that is this replica's.
    pub(super) fn new() -> Self {
        let state = State {
            mine: true,
            turns: 0,
            holders: 0,
            cut: CancellationToken::new(),
        };
        Self(Arc::new(watch::Sender::new(state)))
    }

    /// Whether it is this replica's now.
    pub(crate) fn is_mine(&self) -> bool {
        self.0.borrow().mine
    }

    /// Whether it is this replica's now, and for the how manieth time: what went and came back is not what it was.
    pub(crate) fn turn(&self) -> (bool, u64) {
        let state = self.0.borrow();
        (state.mine, state.turns)
    }

    /// Resolves once that is another.
    pub(crate) async fn changed_since(&self, turn: (bool, u64)) {
        // The sender is in `self`.
        let _ = self
            .0
            .subscribe()
            .wait_for(|state| (state.mine, state.turns) != turn)
            .await;
    }

    /// To be held for as long as work goes on; none if the duty is another's.
    pub(crate) fn hold(&self) -> Option<HeldDuty> {
        let mut cut = None;
        self.0.send_modify(|state| {
            if state.mine {
                state.holders += 1;
                cut = Some(state.cut.clone());
            }
        });
        let duty = self.clone();
        cut.map(|cut| HeldDuty { duty, cut })
    }

    pub(super) fn take_on(&self) {
        self.0.send_modify(|state| {
            if !std::mem::replace(&mut state.mine, true) {
                state.turns += 1;
            }
            if state.cut.is_cancelled() {
                state.cut = CancellationToken::new();
            }
        });
    }

    pub(super) fn leave_to_others(&self) {
        self.0.send_modify(|state| state.mine = false);
    }

    /// Resolves once nobody holds it.
    pub(super) async fn over(&self) {
        // The sender is in `self`.
        let _ = self.0.subscribe().wait_for(|state| state.holders == 0).await;
    }

    /// Those who still hold it are to break off.
    pub(super) fn cut(&self) {
        self.0.borrow().cut.cancel();
    }
}

impl HeldDuty {
    /// Cancelled when what runs is to be broken off.
    pub(crate) fn cut(&self) -> &CancellationToken {
        &self.cut
    }
}

impl Drop for HeldDuty {
    fn drop(&mut self) {
        self.duty.0.send_modify(|state| state.holders -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn a_duty_that_was_left_is_over_when_the_last_who_held_it_lets_go() {
        let duty = HostDuty::new();
        let (one, other) = (duty.hold().unwrap(), duty.hold().unwrap());
        duty.leave_to_others();
        assert!(duty.hold().is_none());
        drop(one);
        assert!(duty.over().now_or_never().is_none());
        duty.cut();
        assert!(other.cut().is_cancelled());
        drop(other);
        duty.over().await;
        duty.take_on();
        assert!(!duty.hold().unwrap().cut().is_cancelled());
        let turn = duty.turn();
        duty.leave_to_others();
        duty.take_on();
        duty.changed_since(turn).await;
    }
}
