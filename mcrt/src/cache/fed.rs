//! What comes to a cache: from a watch of its own, or from one that it shares with others.
use super::{delta::Origin, failure::Failure, kept::Kept, pruned::Pruned, scope::Cacheable};
use kube::runtime::watcher::Event;

/// What comes to a cache.
pub(super) enum Fed<K> {
    /// From now on comes all that there is, until the list ends.
    ListBegins,
    /// An object that a list names, or that a list of a shared watch found changed.
    Listed(Kept<K>),
    /// What the list did not name is gone.
    ListEnds,
    /// An object that is new or has changed.
    Changed(Kept<K>),
    /// An object that is gone, by an event or because a list of a shared watch did not name it.
    Gone(Kept<K>, Origin),
    /// A list of a shared watch, not its first, is complete: what it found was said before.
    Relisted,
    /// The server accepted a watch that goes on from a list.
    Opened,
    /// The watch failed, and will go on after a pause of its own.
    Failed(Box<Failure>),
}

impl<K> Fed<K> {
    pub(super) fn failed(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl<K: Cacheable> From<Event<Pruned<K>>> for Fed<K> {
    fn from(event: Event<Pruned<K>>) -> Self {
        match event {
            Event::Init => Self::ListBegins,
            Event::InitApply(object) => Self::Listed(object.into_kept()),
            Event::InitDone => Self::ListEnds,
            Event::Apply(object) => Self::Changed(object.into_kept()),
            Event::Delete(object) => Self::Gone(object.into_kept(), Origin::Watch),
        }
    }
}
