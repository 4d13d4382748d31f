//! The past as a read may see it.

/// The past state that a read is to see.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View {
    /// As it was this many versions ago.
    Behind(u64),
    /// As it was at this version.
    AsOf(u64),
}

impl View {
    /// The version that is seen for the newest.
    pub(crate) fn version(self, newest: u64) -> u64 {
        match self {
            Self::Behind(versions) => newest.saturating_sub(versions),
            Self::AsOf(version) => newest.min(version),
        }
    }
}
