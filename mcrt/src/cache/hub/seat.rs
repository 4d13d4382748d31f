//! A member's place at a shared watch.
use super::{
    super::{failure::Failure, fed::Fed, pulse::Pulse, scope::WatchScope},
    Hubs, Key, Line,
    mailbox::{Mailbox, Reader},
    task::Command,
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

/// Where the events of one cache of a member come from. Dropping it gives the place up.
pub(in crate::cache) struct Seat<K> {
    place: Place<K>,
    pulses: Arc<[Arc<Pulse>]>,
    retry_after: Duration,
}

enum Place<K> {
    At(Box<At<K>>),
    /// Nothing can ever be there.
    Empty,
    /// It cannot be watched, for this reason.
    Refused(Failure),
}

struct At<K> {
    hubs: Weak<Hubs>,
    key: Key,
    line: Line<K>,
    member: Arc<str>,
    mailbox: Option<Arc<Mailbox<K>>>,
}

impl<K: Send + Sync + 'static> Seat<K> {
    pub(super) fn new(
        hubs: &Arc<Hubs>,
        key: Key,
        line: Line<K>,
        member: Arc<str>,
        pulses: Arc<[Arc<Pulse>]>,
        retry_after: Duration,
    ) -> Self {
        let at = At {
            hubs: Arc::downgrade(hubs),
            key,
            line,
            member,
            mailbox: None,
        };
        Self {
            place: Place::At(Box::new(at)),
            pulses,
            retry_after,
        }
    }

    /// At a scope that no object of the member is in.
    pub(super) fn empty(retry_after: Duration) -> Self {
        Self::without(Place::Empty, retry_after)
    }

    /// At a kind whose objects belong to no member.
    pub(super) fn refused(scope: &WatchScope, retry_after: Duration) -> Self {
        Self::without(Place::Refused(Failure::clustered(&scope.resource)), retry_after)
    }

    fn without(place: Place<K>, retry_after: Duration) -> Self {
        Self {
            place,
            pulses: Arc::new([Arc::new(Pulse::new())]),
            retry_after,
        }
    }

    /// The signs of life of the watch.
    pub(in crate::cache) fn pulses(&self) -> Vec<Arc<Pulse>> {
        self.pulses.to_vec()
    }

    pub(in crate::cache) fn retry_after(&self) -> Duration {
        self.retry_after
    }

    /// The events, beginning with all that there is. Starts the watch if it was idle.
    pub(in crate::cache) fn stream(&mut self) -> BoxStream<'static, Fed<K>> {
        let said = match &mut self.place {
            Place::At(at) => return at.take_place().boxed(),
            Place::Empty => vec![Fed::ListBegins, Fed::ListEnds],
            Place::Refused(failure) => vec![Fed::failed(failure.clone())],
        };
        stream::iter(said).chain(stream::pending()).boxed()
    }
}

impl<K: Send + Sync + 'static> At<K> {
    fn take_place(&mut self) -> Reader<K> {
        let mailbox = Arc::new(Mailbox::new());
        self.mailbox = Some(Arc::clone(&mailbox));
        // A hub that is gone ended with its server.
        let _ = self.line.send(Command::Sit {
            member: Arc::clone(&self.member),
            mailbox: Arc::clone(&mailbox),
        });
        Reader {
            mailbox,
            member: Arc::clone(&self.member),
            line: self.line.clone(),
        }
    }
}

impl<K> Drop for At<K> {
    fn drop(&mut self) {
        let last = self.hubs.upgrade().is_none_or(|hubs| hubs.leave(&self.key));
        if let (Some(mailbox), false) = (self.mailbox.take(), last) {
            let member = Arc::clone(&self.member);
            let _ = self.line.send(Command::Rise { member, mailbox });
        }
    }
}
