//! How often clusters are looked after, how long that may take, and how many times in a row it has to fail.
use std::time::Duration;

/// How clusters are looked after. Every interval is up to a fifth longer or shorter by chance, so that a fleet is not
/// asked in step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HealthSettings {
    /// Whether the API server answers: decides over the breaker and the lane.
    pub liveness: LivenessSettings,
    /// Whether the cluster has what controllers require.
    pub readiness: ReadinessSettings,
    /// How [health checks](crate::ManagerBuilder::health_check) of the program run.
    pub application: ApplicationSettings,
}

/// How `GET /readyz` is asked.
///
/// With the defaults a server that freezes the moment it has answered is found unreachable within 17.4 s (the next
/// probe begins within 6 s and takes its 3 s, two more begin within 1.2 s and take 3 s each), and one that returns is
/// used again within 6 s (the next probe begins within 4.8 s, the one after it within 1.2 s).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LivenessSettings {
    /// From the start of one probe to that of the next, while all is well (5 s).
    pub interval: Duration,
    /// How long a probe may take (3 s): far more than an answer takes, even across the world to a busy server.
    pub deadline: Duration,
    /// From the end of a probe that failed, or that ends an outage, to the next one (1 s).
    pub again: Duration,
    /// How many probes in a row have to fail before the cluster counts as unreachable (3): one lost answer is not an
    /// outage. As many refusals in a row (401, 403) make it unauthorized.
    pub failures: u32,
    /// From the start of one probe to that of the next, while the cluster is unreachable or suspended (4 s).
    pub outage_interval: Duration,
    /// How many probes in a row have to succeed to end an outage (2): a server that is being restarted may answer
    /// once and go away again.
    pub successes: u32,
    /// An outage that begins this soon after the last one ended takes twice as many successes to end, up to 16 times
    /// as many (1 min): a server that comes and goes is left alone until it stays.
    pub flapping: Duration,
    /// How long a cluster is unreachable before it is [lost](crate::Health::Lost) (5 min): longer than an API server
    /// takes to be restarted or replaced.
    pub lost_after: Duration,
}

impl Default for LivenessSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(5),
            deadline: Duration::from_secs(3),
            again: Duration::from_secs(1),
            failures: 3,
            outage_interval: Duration::from_secs(4),
            successes: 2,
            flapping: Duration::from_mins(1),
            lost_after: Duration::from_mins(5),
        }
    }
}

/// How a cluster's version, kinds and permissions are looked at.
///
/// A watch that is in sync shows that its kind is served and may be listed and watched: only what no watch shows is
/// asked for. So a cluster that has everything is asked for its version now and then, and for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadinessSettings {
    /// From one look to the next (30 s).
    pub interval: Duration,
    /// How long a look may take (10 s). One that takes longer says nothing.
    pub deadline: Duration,
    /// How many looks in a row have to find something missing before the cluster is
    /// [degraded](crate::Health::Degraded) (3): a definition that is being replaced is not missing.
    pub failures: u32,
    /// How long something that was there is not asked for again (5 min). What is missing is asked for at every look.
    pub kept: Duration,
    /// The lowest version of Kubernetes, as major and minor, such as `(1, 28)` (none).
    pub minimum_version: Option<(u32, u32)>,
}

impl Default for ReadinessSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(30),
            deadline: Duration::from_secs(10),
            failures: 3,
            kept: Duration::from_mins(5),
            minimum_version: None,
        }
    }
}

/// How the health checks of the program run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplicationSettings {
    /// From the end of one run to the next (1 min).
    pub interval: Duration,
    /// How long a run may take (10 s). One that takes longer has failed.
    pub deadline: Duration,
    /// How many runs in a row have to fail before the cluster is [degraded](crate::Health::Degraded) (3).
    pub failures: u32,
}

impl Default for ApplicationSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_mins(1),
            deadline: Duration::from_secs(10),
            failures: 3,
        }
    }
}
