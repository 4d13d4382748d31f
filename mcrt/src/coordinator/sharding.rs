//! What the replicas of a program agree on, and what each may say of itself.
use std::time::Duration;

/// The shortest time for which a session is valid: what is derived from it would be too short for a request.
const SHORTEST: Duration = Duration::from_secs(5);

/// How a replica shares the clusters with others of its group: each cluster is worked on by one of them.
///
/// Each replica keeps a Lease on the host, its session, and renews it; for each cluster there is one Lease more, its
/// fence, which names the session that works on it. A replica works on a cluster while its session is valid by its
/// own clock, and stops before another can take the cluster for free.
///
/// ```
/// # use mcrt::Sharding;
/// # use std::time::Duration;
/// let sharding = Sharding::new("team-tokens").lease(Duration::from_secs(20)).weight(2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharding {
    pub(crate) group: String,
    pub(crate) namespace: Option<String>,
    pub(crate) replica: Option<String>,
    pub(crate) weight: u32,
    pub(crate) lease: Duration,
    pub(crate) lost_host: LostHost,
}

/// What becomes of a replica's work when it can no longer renew its session, because the host does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostHost {
    /// All work stops before the session can be taken for ended. Nothing is ever worked on twice.
    #[default]
    Stop,
    /// Work goes on until somebody else is seen to have taken a cluster over. While replicas do not see the host but
    /// their clusters, two may work on one.
    Continue,
}

impl Sharding {
    /// Shares with the replicas that name the same group; a value of a label, such as the name of the program.
    pub fn new(group: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            namespace: None,
            replica: None,
            weight: 1,
            lease: Duration::from_secs(30),
            lost_host: LostHost::default(),
        }
    }

    /// The namespace of the host in which the Leases are (that of the way to the host, else `default`).
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// What this replica is called in logs and Leases (the name of the machine, which is that of a Pod). Two may have
    /// one name: each session gets an end of its own.
    #[must_use]
    pub fn replica(mut self, name: impl Into<String>) -> Self {
        self.replica = Some(name.into());
        self
    }

    /// How large this replica's part of the clusters is, beside the weights of others (1).
    #[must_use]
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// How long the clusters of a replica that vanished stay without one (30 s); whole seconds, 5 at least.
    /// The session is renewed four times in that time.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// What becomes of the work when the host does not answer ([`LostHost::Stop`]).
    #[must_use]
    pub fn on_lost_host(mut self, what: LostHost) -> Self {
        self.lost_host = what;
        self
    }

    /// What is wrong with it, where, and what to write instead.
    pub(crate) fn fault(&self) -> Option<String> {
        if !is_label_value(&self.group) {
            return Some(format!(
                "the group `{}` is no value of a label: write 1 to 63 letters, digits, `-`, `_` and `.`, beginning and \
                 ending with a letter or digit",
                self.group
            ));
        }
        if self
            .namespace
            .as_deref()
            .is_some_and(|namespace| !is_namespace(namespace))
        {
            return Some(format!(
                "`{}` is no namespace: write 1 to 63 lower-case letters, digits and `-`",
                self.namespace.as_deref().unwrap_or_default()
            ));
        }
        if self.weight == 0 {
            return Some(
                "the weight is 0: write 1 or more; a replica that is to do nothing need not run".to_owned(),
            );
        }
        if self.lease < SHORTEST || self.lease.subsec_nanos() != 0 {
            return Some(format!(
                "the lease of {:?} is not of whole seconds, {} at least",
                self.lease,
                SHORTEST.as_secs()
            ));
        }
        i32::try_from(self.lease.as_secs())
            .is_err()
            .then(|| format!("the lease of {:?} is too long", self.lease))
    }

    /// What this replica is called.
    pub(crate) fn replica_name(&self) -> String {
        let name = self.replica.clone();
        name.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
    }
}

fn is_label_value(text: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.len() <= 63 && text.bytes().all(inner) && ends(text.bytes().next()) && ends(text.bytes().last())
}

fn is_namespace(text: &str) -> bool {
    is_label_value(text)
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_shared_by_is_refused_with_what_to_write() {
        let good = Sharding::new("team-tokens")
            .namespace("ops")
            .lease(Duration::from_secs(5));
        assert_eq!(good.fault(), None);
        let seconds = Duration::from_secs;
        for (bad, says) in [
            (Sharding::new(""), "1 to 63 letters"),
            (Sharding::new("a/b"), "`a/b`"),
            (Sharding::new("x".repeat(64)), "1 to 63 letters"),
            (good.clone().namespace("Ops"), "lower-case"),
            (good.clone().weight(0), "write 1 or more"),
            (good.clone().lease(seconds(4)), "5 at least"),
            (good.clone().lease(Duration::from_millis(5500)), "whole seconds"),
            (good.clone().lease(seconds(1 << 40)), "too long"),
        ] {
            let fault = bad.fault().unwrap();
            assert!(fault.contains(says), "{fault}");
        }
    }
}
