//! The provider of no clusters.
use super::{Change, Provider, ProviderContext};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::sync::Arc;

/// No clusters at all: for controllers that work on the host alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct None;

impl Provider for None {
    fn name(&self) -> &'static str {
        "none"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        stream::iter([Change::Synced]).chain(stream::pending()).boxed()
    }
}
