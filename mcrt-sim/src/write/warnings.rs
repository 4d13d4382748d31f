//! What a client is told beside the answer to its write.

use std::sync::Arc;

use parking_lot::Mutex;

/// How many bytes of warnings one answer has at most, so that its headers stay small.
const LIMIT: usize = 4 << 10;

/// Warnings of one write, shared by the copies of its options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Adds one, if there is room for it.
    pub(crate) fn add(&self, warning: String) {
        let mut warnings = self.0.lock();
        let size: usize = warnings.iter().map(String::len).sum();
        if size + warning.len() <= LIMIT && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}
