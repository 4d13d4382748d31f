//! A provider's stream that never ends: restarted with a growing pause.
use super::{Change, Provider, ProviderContext};
use futures::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

/// The first pause; it doubles up to [`LONGEST`] and starts over once a stream has synced.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// What one source did.
#[derive(Debug)]
pub(crate) enum Event {
    /// A stream begins: the whole set will be named again.
    Started,
    /// It said something.
    Said(Change),
    /// It ended, or it panicked.
    Ended(&'static str),
}

/// Follows a provider through all its streams.
pub(crate) fn restarting(provider: Arc<dyn Provider>, cx: ProviderContext) -> BoxStream<'static, Event> {
    let state = State {
        provider,
        cx,
        stream: None,
        pause: Duration::ZERO,
        next_pause: SHORTEST,
    };
    stream::unfold(state, async |mut state| {
        let event = state.next().await;
        Some((event, state))
    })
    .boxed()
}

struct State {
    provider: Arc<dyn Provider>,
    cx: ProviderContext,
    stream: Option<BoxStream<'static, Change>>,
    pause: Duration,
    next_pause: Duration,
}

impl State {
    async fn next(&mut self) -> Event {
        let Some(stream) = &mut self.stream else {
            tokio::time::sleep(self.pause).await;
            // A panic in a provider is its own: others go on.
            let started = std::panic::catch_unwind(AssertUnwindSafe(|| {
                Arc::clone(&self.provider).changes(self.cx.clone())
            }));
            return match started {
                Ok(stream) => {
                    self.stream = Some(stream);
                    Event::Started
                }
                Err(_) => self.ended("panicked"),
            };
        };
        match AssertUnwindSafe(stream.next()).catch_unwind().await {
            Ok(Some(change)) => {
                if matches!(change, Change::Synced) {
                    self.next_pause = SHORTEST;
                }
                Event::Said(change)
            }
            Ok(None) => self.ended("ended"),
            Err(_) => self.ended("panicked"),
        }
    }

    fn ended(&mut self, how: &'static str) -> Event {
        self.stream = None;
        self.pause = self.next_pause;
        self.next_pause = (self.next_pause * 2).min(LONGEST);
        Event::Ended(how)
    }
}
