//! What can be said on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

/// Serves a fleet of simulated Kubernetes clusters on this machine until it is interrupted.
#[derive(Clone, Debug, Parser)]
#[command(name = "mcrt-sim", version)]
pub(crate) struct Arguments {
    /// How many clusters there are: `cluster-1`, `cluster-2`, ...
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) clusters: u16,
    /// Writes a kubeconfig with a context for each cluster
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Creates the objects in the YAML and JSON files of this directory in every cluster; those in a subdirectory
    /// named like a cluster in that cluster only
    #[arg(long, value_name = "DIR")]
    pub(crate) load: Option<PathBuf>,
    /// Creates, changes and deletes config maps in all clusters, so many a second
    #[arg(long, value_name = "RATE", num_args = 0..=1, default_missing_value = "1")]
    pub(crate) churn: Option<f64>,
    /// What the churn does is drawn by this seed
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Listens on this port and those after it, a cluster each; 0: on free ones
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Serves HTTP without TLS
    #[arg(long)]
    pub(crate) plain: bool,
    /// The version that the clusters say they are, for example v1.35.2
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubernetes: Option<String>,
    /// Every request takes this many milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value = "0", value_parser = milliseconds)]
    pub(crate) latency: Duration,
}

fn milliseconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn churn_alone_means_once_a_second() {
        let parse = |line: &[&str]| Arguments::try_parse_from(line).unwrap();
        assert_eq!(parse(&["mcrt-sim"]).churn, None);
        assert_eq!(parse(&["mcrt-sim", "--churn"]).churn, Some(1.0));
        assert_eq!(
            parse(&["mcrt-sim", "--churn", "2.5", "--clusters", "3"]).churn,
            Some(2.5)
        );
        let slow = parse(&["mcrt-sim", "--latency", "80"]).latency;
        assert_eq!(slow, Duration::from_millis(80));
        assert!(Arguments::try_parse_from(["mcrt-sim", "--clusters", "many"]).is_err());
    }
}
