//! What a member's life holds of its server.
use super::{Base, SharedServer};
use std::{fmt, sync::Arc};

/// One member's share of a server. With the last one the server's connections and watches end.
pub(in crate::connect) struct Lease(Option<SharedServer>);

impl Lease {
    pub(super) fn new(server: SharedServer) -> Self {
        Self(Some(server))
    }

    /// Gives it back; waits for the end of what it was the last share of.
    pub(in crate::connect) async fn end(mut self) {
        if let Some(base) = self.give_back() {
            base.end().await;
        }
    }

    fn give_back(&mut self) -> Option<Arc<Base>> {
        self.0.take()?.part()
    }
}

/// Nobody waits.
impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(base) = self.give_back() {
            base.abandon();
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({:?})", self.0)
    }
}
