//! A watch as the whole set and then its changes, for sets in which several objects bear one name.
use crate::cache::Backoff;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api, Client, Resource,
    runtime::watcher::{self, Event, watcher},
};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, time::Duration};
use tokio::time::sleep;

/// What a watch tells.
pub(super) enum News<T> {
    /// These are all.
    All(Vec<T>),
    /// This one is there, like this.
    There(T),
    /// This one is gone, and looked like this.
    Gone(T),
    /// It does not work; it goes on trying. With the answer's code, if it is an answer.
    Failed(Option<u16>, String),
}

impl<T> News<T> {
    pub(super) fn map<U>(self, map: impl Fn(T) -> U) -> News<U> {
        match self {
            Self::All(all) => News::All(all.into_iter().map(map).collect()),
            Self::There(one) => News::There(map(one)),
            Self::Gone(one) => News::Gone(map(one)),
            Self::Failed(code, reason) => News::Failed(code, reason),
        }
    }
}

/// Follows a kind outside of namespaces, for ever.
pub(super) fn listing<K>(client: Client, config: watcher::Config) -> BoxStream<'static, News<K>>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let state = Listing {
        events: watcher(Api::<K>::all(client), config).boxed(),
        listed: Vec::new(),
        backoff: Backoff::new(),
        pause: None,
    };
    stream::unfold(state, async |mut state| {
        let news = state.next().await?;
        Some((news, state))
    })
    .boxed()
}

struct Listing<K> {
    events: BoxStream<'static, watcher::Result<Event<K>>>,
    /// What a list that is under way has told so far.
    listed: Vec<K>,
    backoff: Backoff,
    /// Before the next attempt.
    pause: Option<Duration>,
}

impl<K> Listing<K> {
    async fn next(&mut self) -> Option<News<K>> {
        loop {
            if let Some(pause) = self.pause {
                sleep(pause).await;
                self.pause = None;
            }
            let news = match self.events.next().await? {
                Ok(Event::Init) => {
                    self.listed.clear();
                    continue;
                }
                Ok(Event::InitApply(object)) => {
                    self.listed.push(object);
                    continue;
                }
                Ok(Event::InitDone) => News::All(std::mem::take(&mut self.listed)),
                Ok(Event::Apply(object)) => News::There(object),
                Ok(Event::Delete(object)) => News::Gone(object),
                Err(error) => {
                    self.pause = Some(self.backoff.pause());
                    let code = code(&error);
                    if code == Some(410) {
                        // The list that follows puts it right.
                        continue;
                    }
                    return Some(News::Failed(code, reason(&error)));
                }
            };
            self.backoff.reset();
            return Some(news);
        }
    }
}

fn code(error: &watcher::Error) -> Option<u16> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status.code),
        _ => None,
    }
}

/// What is wrong, from the outermost to the innermost cause.
fn reason(error: &watcher::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
