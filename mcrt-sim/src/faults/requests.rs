//! Which requests a fault is for: by what they are, by count, by chance, by time.

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::time::Duration;

use crate::request::info::{RequestInfo, Verb};

type Test = Arc<dyn Fn(&RequestInfo) -> bool + Send + Sync>;

/// A set of requests. Every condition that is added narrows it.
///
/// ```
/// use mcrt_sim::Requests;
///
/// let third = Requests::lists().of("configmaps").nth(3);
/// let some = Requests::writes().within("team-a").by("reader").rate(0.2);
/// ```
#[derive(Clone, Default)]
pub struct Requests {
    verbs: Option<&'static [Verb]>,
    kinds: Vec<String>,
    namespace: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
    user: Option<String>,
    continued: bool,
    tests: Vec<Test>,
    during: Option<(Bound<Duration>, Bound<Duration>)>,
    turns: Vec<Turn>,
    rate: Option<f64>,
}

/// Which of the matching requests, counted from one.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Nth(u64),
    First(u64),
    After(u64),
    Every(u64),
}

impl Turn {
    fn includes(self, count: u64) -> bool {
        match self {
            Self::Nth(nth) => count == nth,
            Self::First(first) => count <= first,
            Self::After(after) => count > after,
            Self::Every(every) => every > 0 && count.is_multiple_of(every),
        }
    }
}

/// What they are.
impl Requests {
    /// Every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Gets, lists and watches.
    pub fn reads() -> Self {
        Self::verbs(&[Verb::Get, Verb::List, Verb::Watch])
    }

    /// Creates, updates, patches and deletes.
    pub fn writes() -> Self {
        Self::verbs(&[
            Verb::Create,
            Verb::Update,
            Verb::Patch,
            Verb::Delete,
            Verb::DeleteCollection,
        ])
    }

    /// Reads of one object.
    pub fn gets() -> Self {
        Self::verbs(&[Verb::Get])
    }

    /// Lists, each page a request of its own.
    pub fn lists() -> Self {
        Self::verbs(&[Verb::List])
    }

    /// Starts of watches.
    pub fn watches() -> Self {
        Self::verbs(&[Verb::Watch])
    }

    /// Creates.
    pub fn creates() -> Self {
        Self::verbs(&[Verb::Create])
    }

    /// Updates, which replace an object.
    pub fn updates() -> Self {
        Self::verbs(&[Verb::Update])
    }

    /// Patches, server-side apply among them.
    pub fn patches() -> Self {
        Self::verbs(&[Verb::Patch])
    }

    /// Deletes of objects and of collections.
    pub fn deletes() -> Self {
        Self::verbs(&[Verb::Delete, Verb::DeleteCollection])
    }

    /// What is about no resource: discovery, health, version.
    pub fn discovery() -> Self {
        Self::verbs(&[Verb::Raw])
    }

    /// Those that pass a test.
    pub fn matching(test: impl Fn(&RequestInfo) -> bool + Send + Sync + 'static) -> Self {
        Self::any().and(test)
    }

    fn verbs(verbs: &'static [Verb]) -> Self {
        Self {
            verbs: Some(verbs),
            ..Self::default()
        }
    }

    /// Of this resource: a plural, or `plural.group`. Said again, of that one as well.
    #[must_use]
    pub fn of(mut self, resource: impl Into<String>) -> Self {
        self.kinds.push(resource.into());
        self
    }

    /// In this namespace.
    #[must_use]
    pub fn within(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// About the object of this name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// On this subresource.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// On the status.
    #[must_use]
    pub fn on_status(self) -> Self {
        self.subresource("status")
    }

    /// By the user of this name.
    #[must_use]
    pub fn by(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Pages after the first.
    #[must_use]
    pub fn continued(mut self) -> Self {
        self.continued = true;
        self
    }

    /// Those that pass a test as well.
    #[must_use]
    pub fn and(mut self, test: impl Fn(&RequestInfo) -> bool + Send + Sync + 'static) -> Self {
        self.tests.push(Arc::new(test));
        self
    }

    pub(super) fn matches(&self, info: &RequestInfo, since: Duration) -> bool {
        let is = |wanted: &Option<String>, given: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| given == Some(wanted))
        };
        self.verbs.is_none_or(|verbs| verbs.contains(&info.verb()))
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| is_of(info, kind)))
            && is(&self.namespace, info.namespace())
            && is(&self.name, info.name())
            && is(&self.subresource, info.subresource())
            && is(&self.user, Some(info.user()))
            && (!self.continued || info.continue_token().is_some())
            && self.during.is_none_or(|during| during.contains(&since))
            && self.tests.iter().all(|test| test(info))
    }
}

fn is_of(info: &RequestInfo, resource: &str) -> bool {
    match resource.split_once('.') {
        Some((plural, group)) => info.plural() == plural && info.group() == group,
        None => info.plural() == resource,
    }
}

/// Which of those.
impl Requests {
    /// Only the one of this number, counted from one.
    #[must_use]
    pub fn nth(self, nth: u64) -> Self {
        self.turn(Turn::Nth(nth))
    }

    /// The first so many.
    #[must_use]
    pub fn first(self, count: u64) -> Self {
        self.turn(Turn::First(count))
    }

    /// All but the first so many.
    #[must_use]
    pub fn after(self, count: u64) -> Self {
        self.turn(Turn::After(count))
    }

    /// One in so many: the last of each round.
    #[must_use]
    pub fn every(self, count: u64) -> Self {
        self.turn(Turn::Every(count))
    }

    /// This share of them, between 0 and 1; the plan's seed says which.
    #[must_use]
    pub fn rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// Those that come in this span of time since the plan was set; others do not count for `nth` and the like.
    #[must_use]
    pub fn during(mut self, span: impl RangeBounds<Duration>) -> Self {
        self.during = Some((span.start_bound().cloned(), span.end_bound().cloned()));
        self
    }

    fn turn(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }

    /// Whether it is the turn of a matching request; the number drawn for it lies between 0 and 1.
    pub(super) fn includes(&self, count: u64, drawn: f64) -> bool {
        self.turns.iter().all(|turn| turn.includes(count)) && self.rate.is_none_or(|rate| drawn < rate)
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests")
            .field("verbs", &self.verbs)
            .field("of", &self.kinds)
            .field("turns", &self.turns)
            .field("rate", &self.rate)
            .field("during", &self.during)
            .finish_non_exhaustive()
    }
}
