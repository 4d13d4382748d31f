//! What a request is, as far as its way and its deadlines depend on it.
use crate::connect::breaker::Probing;
use http::{Method, Request, header::UPGRADE};
use std::time::Duration;

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about a request, each on its own"
)]
pub(in crate::connect) struct Call {
    /// kube's name of the call, or the method of a request that was made by hand.
    pub(super) verb: &'static str,
    pub(super) shape: Shape,
    /// Whether it asks for the health of the server.
    pub(super) probing: bool,
    /// Whether its sender repeats it.
    pub(super) once: bool,
    /// Whether the runtime asks for itself.
    pub(super) housekeeping: bool,
    /// Whether it changes nothing.
    pub(super) reads: bool,
    /// Whether it makes something new with each repetition.
    pub(super) posts: bool,
}

/// Marks a request, in its extensions, that its sender repeats by itself, after pauses of its own: a transport that
/// repeated it too would ask a dead server that many times more often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Once;

/// Marks a request, in its extensions, that the runtime makes for itself: the lists of caches, what is asked of a
/// server to know how it fares. It is not worth a connection of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Housekeeping;

/// What comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Events, for as long as the server was asked to send them.
    Watch(Option<Duration>),
    /// The lines of a log, as they are written.
    Logs,
    /// Another protocol.
    Upgrade,
    /// An answer with an end.
    Whole,
}

impl Call {
    pub(in crate::connect) fn of<B>(request: &Request<B>) -> Self {
        let named = request.extensions().get::<&'static str>().copied();
        let method = request.method();
        Self {
            verb: named.unwrap_or_else(|| name(method)),
            shape: Shape::of(request, named),
            probing: request.extensions().get::<Probing>().is_some(),
            once: request.extensions().get::<Once>().is_some(),
            housekeeping: request.extensions().get::<Housekeeping>().is_some(),
            reads: matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS),
            posts: method == Method::POST,
        }
    }

    /// Whether the answer stays open for minutes while the server is well.
    pub(super) fn lasts(&self) -> bool {
        matches!(self.shape, Shape::Watch(_) | Shape::Logs)
    }

    /// Whether it takes one of the places for watches, if it goes with them. A probe does not: one is left to it.
    pub(super) fn takes_place(&self) -> bool {
        self.lasts() || self.housekeeping
    }

    pub(in crate::connect) fn is_watch(&self) -> bool {
        matches!(self.shape, Shape::Watch(_))
    }
}

impl Shape {
    fn of<B>(request: &Request<B>, verb: Option<&str>) -> Self {
        if request.headers().contains_key(UPGRADE) {
            return Self::Upgrade;
        }
        let query = request.uri().query().unwrap_or_default();
        let says = |name| matches!(value(query, name), Some("true" | "1"));
        match verb {
            Some("watch" | "watch_metadata") => Self::Watch(timeout(query)),
            Some("log_stream") => Self::Logs,
            _ if request.method() != Method::GET => Self::Whole,
            _ if says("watch") => Self::Watch(timeout(query)),
            _ if says("follow") => Self::Logs,
            _ => Self::Whole,
        }
    }
}

/// None where the server chooses.
fn timeout(query: &str) -> Option<Duration> {
    // As wide as a deadline can be computed from.
    let seconds: u32 = value(query, "timeoutSeconds")?.parse().ok()?;
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

/// What a query says last: none of the values that are asked for here is ever escaped.
fn value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .rfind(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "request",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: Method, path: &str, verb: Option<&'static str>) -> Call {
        let mut request = Request::builder().method(method).uri(path).body(()).unwrap();
        if let Some(verb) = verb {
            request.extensions_mut().insert(verb);
        }
        Call::of(&request)
    }

    #[test]
    fn watches_are_known_by_verb_or_query_and_carry_their_timeout() {
        let minute = Some(Duration::from_mins(1));
        for (path, verb, shape) in [
            (
                "/api/v1/pods?&watch=true&timeoutSeconds=60",
                Some("watch"),
                Shape::Watch(minute),
            ),
            (
                "/api/v1/pods?watch=1&timeoutSeconds=60",
                None,
                Shape::Watch(minute),
            ),
            (
                "/api/v1/pods?watch=true&timeoutSeconds=0",
                None,
                Shape::Watch(None),
            ),
            (
                "/api/v1/pods?watch=true",
                Some("watch_metadata"),
                Shape::Watch(None),
            ),
            ("/api/v1/pods?watch=false", Some("list"), Shape::Whole),
            ("/api/v1/namespaces/a/pods/b/log?follow=true", None, Shape::Logs),
            ("/api/v1/namespaces/a/pods/b/log?", Some("logs"), Shape::Whole),
        ] {
            assert_eq!(call(Method::GET, path, verb).shape, shape, "{path}");
        }
    }

    #[test]
    fn a_write_that_mentions_a_watch_is_no_watch() {
        let call = call(Method::POST, "/api/v1/pods?watch=true", None);
        assert_eq!((call.shape, call.verb), (Shape::Whole, "POST"));
        assert!(call.posts && !call.reads);
    }

    #[test]
    fn an_upgrade_is_known_by_its_header() {
        let request = Request::builder()
            .header("upgrade", "websocket")
            .body(())
            .unwrap();
        assert_eq!(Call::of(&request).shape, Shape::Upgrade);
    }
}
