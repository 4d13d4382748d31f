//! Whether a cluster has what is required of it: a version, kinds, permissions.
use super::{
    ReadinessSettings, Watchdog,
    condition::READINESS,
    questions::{self, full_name, group_version, parsed, refusal},
    shaken,
};
use crate::{
    cache::{WatchScope, WatchState},
    connect::ConnectError,
    fleet::Cluster,
    jitter::around,
};
use http::StatusCode;
use kube::core::ApiResource;
use std::collections::{BTreeSet, HashMap};
use tokio::time::{Instant, sleep, timeout};

/// How many permissions are asked for in one look; those left over come with the next ones.
const REVIEWS: usize = 16;

/// What somebody requires of a cluster: to list and watch a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Required {
    pub(crate) resource: ApiResource,
    /// None for all of them, and for a kind that lives in none.
    pub(crate) namespaces: Vec<String>,
}

impl Required {
    fn is_watched_by(&self, scope: &WatchScope) -> bool {
        scope.resource == self.resource && scope.namespaces == self.namespaces
    }
}

impl Watchdog<'_> {
    pub(super) async fn readiness(&self) {
        let settings = &self.settings.readiness;
        let mut look = Look::new(self.cluster, settings);
        loop {
            self.takes_requests().await;
            // Boxed, since it is seldom under way: an idle cluster does not hold its memory.
            let required = self.required();
            let outcome = timeout(settings.deadline, Box::pin(look.look(&required))).await;
            // Where the cluster does not answer, liveness has its own word on that.
            match outcome {
                Ok(Ok(missing)) => self.found(&missing),
                Ok(Err(error)) => {
                    tracing::debug!(cluster = %self.cluster, %error, "cannot look for what is required");
                }
                Err(_) => {
                    tracing::debug!(cluster = %self.cluster, "looking for what is required takes too long");
                }
            }
            tokio::select! {
                () = sleep(shaken(settings.interval)) => {}
                () = self.cluster.requirements() => {}
            }
        }
    }

    fn required(&self) -> Vec<Required> {
        let participants = self.participants.borrow().clone();
        let mut required: Vec<Required> = Vec::new();
        let taking_part = participants.iter().filter(|it| it.takes_part(self.cluster));
        for one in taking_part.flat_map(|it| it.requires(self.cluster)) {
            if !required.contains(&one) {
                required.push(one);
            }
        }
        required
    }

    fn found(&self, missing: &[String]) {
        let outcome = match missing {
            [] => Ok(()),
            missing => Err(missing.join("; ")),
        };
        self.observe(|condition, now| condition.checked(READINESS, outcome, now));
    }
}

/// Looks for what is required, and remembers what was there.
struct Look<'a> {
    cluster: &'a Cluster,
    settings: &'a ReadinessSettings,
    /// Until when something that was there is not asked for.
    kept: HashMap<Question, Instant>,
    first: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Question {
    Version,
    Kind(ApiResource),
    Verb(ApiResource, Option<String>, &'static str),
}

impl<'a> Look<'a> {
    fn new(cluster: &'a Cluster, settings: &'a ReadinessSettings) -> Self {
        Self {
            cluster,
            settings,
            kept: HashMap::new(),
            first: true,
        }
    }

    /// What is missing, in words.
    async fn look(&mut self, required: &[Required]) -> Result<Vec<String>, ConnectError> {
        let now = Instant::now();
        self.kept.retain(|_, until| *until > now);
        let mut missing = Vec::new();
        missing.extend(self.version().await?);
        let first = std::mem::replace(&mut self.first, false);
        let open = self.unproven(required, first);
        let served = self.kinds(&open, &mut missing).await?;
        self.permissions(&served, &mut missing).await?;
        Ok(missing)
    }

    /// What no watch shows to be there. Watches that have begun just now have shown nothing yet: the first look asks
    /// for nothing that they may be about to show.
    fn unproven(&self, required: &[Required], first: bool) -> Vec<Required> {
        if first {
            return Vec::new();
        }
        let mut watches = self.cluster.watches();
        watches.retain(|(_, state)| *state == WatchState::Synced);
        let shows = |one: &Required| watches.iter().any(|(scope, _)| one.is_watched_by(scope));
        required.iter().filter(|one| !shows(one)).cloned().collect()
    }

    async fn version(&mut self) -> Result<Option<String>, ConnectError> {
        if self.kept.contains_key(&Question::Version) {
            return Ok(None);
        }
        let (status, said) = questions::version(&self.client(), self.settings.deadline).await?;
        let Some(said) = said else {
            // Whoever may not ask can still work: without a minimum nothing depends on the answer.
            let needed = self.settings.minimum_version.is_some();
            return Ok(needed.then(|| format!("/version answers {}", status.as_u16())));
        };
        self.cluster.set_version(&said.git_version);
        match self.settings.minimum_version {
            Some(minimum) if parsed(&said.git_version).is_none_or(|version| version < minimum) => {
                let (major, minor) = minimum;
                let version = &said.git_version;
                Ok(Some(format!(
                    "Kubernetes {version}, at least {major}.{minor} is required"
                )))
            }
            _ => {
                self.keep(Question::Version);
                Ok(None)
            }
        }
    }

    /// Those of the kinds that are served, or of which nobody tells.
    async fn kinds(
        &mut self,
        required: &[Required],
        missing: &mut Vec<String>,
    ) -> Result<Vec<Required>, ConnectError> {
        let question = |one: &Required| Question::Kind(one.resource.clone());
        let open = required
            .iter()
            .filter(|one| !self.kept.contains_key(&question(one)));
        let paths: BTreeSet<_> = open.map(|one| group_version(&one.resource)).collect();
        for path in paths {
            let (status, said) = questions::kinds(&self.client(), &path, self.settings.deadline).await?;
            // Where discovery is refused or broken, the kinds are not known to be missing.
            let untold = said.is_none() && status != StatusCode::NOT_FOUND;
            let served = said.unwrap_or_default().resources;
            for one in required.iter().filter(|one| group_version(&one.resource) == path) {
                if untold || served.iter().any(|it| it.name == one.resource.plural) {
                    self.keep(question(one));
                }
            }
        }
        let known = |one: &&Required| self.kept.contains_key(&question(one));
        let (served, absent): (Vec<_>, Vec<_>) = required.iter().partition(known);
        missing.extend(
            absent
                .iter()
                .map(|one| format!("{} is not served", full_name(&one.resource))),
        );
        Ok(served.into_iter().cloned().collect())
    }

    async fn permissions(
        &mut self,
        required: &[Required],
        missing: &mut Vec<String>,
    ) -> Result<(), ConnectError> {
        let mut left = REVIEWS;
        for one in required {
            let before = missing.len();
            for namespace in places(one) {
                for verb in ["list", "watch"] {
                    let question = Question::Verb(one.resource.clone(), namespace.clone(), verb);
                    if left == 0 || self.kept.contains_key(&question) {
                        continue;
                    }
                    left -= 1;
                    if self.may(&one.resource, namespace.as_deref(), verb).await? {
                        self.keep(question);
                    } else {
                        missing.push(refusal(&one.resource, namespace.as_deref(), verb));
                    }
                }
            }
            // Whatever the server says of what we may: this it does not let us.
            if missing.len() == before && self.is_refused(one) {
                missing.push(format!("the watch of {} is refused", full_name(&one.resource)));
            }
        }
        Ok(())
    }

    fn is_refused(&self, one: &Required) -> bool {
        let watches = self.cluster.watches();
        watches
            .iter()
            .any(|(scope, state)| one.is_watched_by(scope) && *state == WatchState::Forbidden)
    }

    async fn may(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        verb: &'static str,
    ) -> Result<bool, ConnectError> {
        questions::may(&self.client(), resource, namespace, verb, self.settings.deadline).await
    }

    fn client(&self) -> kube::Client {
        self.cluster.client()
    }

    fn keep(&mut self, question: Question) {
        self.kept
            .insert(question, Instant::now() + around(self.settings.kept));
    }
}

fn places(one: &Required) -> Vec<Option<String>> {
    match &*one.namespaces {
        [] => vec![None],
        namespaces => namespaces.iter().cloned().map(Some).collect(),
    }
}
