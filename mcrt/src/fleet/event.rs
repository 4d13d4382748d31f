//! What is told of the fleet, and to whom.
use super::Cluster;
use crate::cluster::{ClusterName, Health};
use futures::{Stream, StreamExt, stream};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A change of the fleet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FleetEvent {
    /// A cluster was engaged.
    Engaged(Cluster),
    /// A cluster fares differently.
    Health(Cluster, Health),
    /// The host side says something else of a cluster, whose life goes on.
    Properties(Cluster),
    /// The provider describes a cluster in a way that cannot be used: what was engaged before goes on, and nothing is
    /// engaged otherwise. Told when the reason changes; [`Fleet::rejections`](super::Fleet::rejections) has all.
    Rejected(ClusterName, Arc<str>),
    /// What made a cluster be rejected is over: it is described in a way that can be used, or not at all.
    Cleared(ClusterName),
    /// A cluster was disengaged.
    Disengaged(Cluster),
    /// The provider has named every cluster that it knows, for the first time.
    Synced,
}

impl FleetEvent {
    /// The cluster that it is about.
    pub fn cluster(&self) -> Option<&Cluster> {
        match self {
            Self::Engaged(cluster)
            | Self::Health(cluster, _)
            | Self::Properties(cluster)
            | Self::Disengaged(cluster) => Some(cluster),
            Self::Rejected(..) | Self::Cleared(_) | Self::Synced => None,
        }
    }
}

/// Those who listen. Unbounded, since a change of the fleet must not be lost and is rare: the memory is bounded by
/// the changes that a listener has yet to take.
#[derive(Debug, Default)]
pub(super) struct Listeners(Vec<UnboundedSender<FleetEvent>>);

impl Listeners {
    pub(super) fn tell(&mut self, event: &FleetEvent) {
        self.0.retain(|listener| listener.send(event.clone()).is_ok());
    }

    /// A new listener, who first hears `replay`.
    pub(super) fn join(
        &mut self,
        replay: impl IntoIterator<Item = FleetEvent>,
    ) -> UnboundedReceiver<FleetEvent> {
        let (sender, receiver) = unbounded_channel();
        for event in replay {
            // The receiver is alive: it is returned below.
            let _ = sender.send(event);
        }
        self.0.push(sender);
        receiver
    }

    pub(super) fn close(&mut self) {
        self.0.clear();
    }
}

pub(super) fn into_stream(
    receiver: UnboundedReceiver<FleetEvent>,
) -> impl Stream<Item = FleetEvent> + Send + Unpin {
    let events = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|event| (event, receiver))
    });
    // Whoever selects over several streams asks again after the end.
    Box::pin(events.fuse())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_may_be_asked_for_after_their_end() {
        let mut listeners = Listeners::default();
        let mut events = into_stream(listeners.join([FleetEvent::Synced]));
        listeners.close();
        assert!(matches!(events.next().await, Some(FleetEvent::Synced)));
        assert!(events.next().await.is_none());
        assert!(events.next().await.is_none());
    }
}
