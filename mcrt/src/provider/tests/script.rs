//! A provider that plays what a test wrote down, one script per stream.
use crate::provider::{Change, Provider, ProviderContext};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc, time::Duration};
use tokio::time::sleep;

pub(super) enum Step {
    Say(Change),
    Wait(u64),
    End,
    Panic,
}

/// After its last script every stream is silent; after the last step of a script the stream is.
pub(super) struct Script(Mutex<VecDeque<Vec<Step>>>);

impl Script {
    pub(super) fn of(streams: Vec<Vec<Step>>) -> Self {
        Self(Mutex::new(streams.into()))
    }
}

impl Provider for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        let steps: VecDeque<Step> = self.0.lock().pop_front().unwrap_or_default().into();
        stream::unfold(steps, async |mut steps| {
            loop {
                match steps.pop_front() {
                    Some(Step::Say(change)) => return Some((change, steps)),
                    Some(Step::Wait(seconds)) => sleep(Duration::from_secs(seconds)).await,
                    Some(Step::End) => return None,
                    Some(Step::Panic) => panic!("as the script says"),
                    None => std::future::pending().await,
                }
            }
        })
        .boxed()
    }
}
