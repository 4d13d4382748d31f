//! Flags that say which clusters a program works with.
use crate::{cluster::ClusterSelector, fleet::SelfReported};

/// Which of the provider's clusters are engaged.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Fleet")]
#[non_exhaustive]
pub struct SelectionArgs {
    /// Engages the clusters of these names alone; `*` stands for any text; repeated, or separated by `,`
    #[arg(long, env = "MCRT_CLUSTERS", value_name = "NAME", value_delimiter = ',')]
    pub clusters: Vec<String>,

    /// Engages the clusters with these labels alone, such as `env=prod,tier in (a,b)`
    #[arg(long, env = "MCRT_CLUSTER_LABELS", value_name = "SELECTOR")]
    pub cluster_labels: Option<String>,

    /// Leaves out the clusters of these names; `*` stands for any text; repeated, or separated by `,`
    #[arg(
        long,
        env = "MCRT_EXCEPT_CLUSTERS",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub except_clusters: Vec<String>,

    /// Asks clusters for their properties (`about.k8s.io`), and selects by their own word for these; repeated, or
    /// separated by `,`
    #[arg(
        long,
        env = "MCRT_TRUST_SELF_REPORTED",
        value_name = "PROPERTY",
        value_delimiter = ','
    )]
    pub trust_self_reported: Vec<String>,
}

impl SelectionArgs {
    /// What the flags select.
    pub(super) fn selector(&self) -> ClusterSelector {
        let mut selector = ClusterSelector::new();
        if !self.clusters.is_empty() {
            selector = selector.names(&self.clusters);
        }
        if let Some(labels) = &self.cluster_labels {
            selector = selector.labels(labels);
        }
        if !self.except_clusters.is_empty() {
            selector = selector.except(&self.except_clusters);
        }
        selector
    }

    /// What clusters are asked of themselves besides what the program wants.
    pub(super) fn self_reported(&self, wanted: Option<SelfReported>) -> Option<SelfReported> {
        if self.trust_self_reported.is_empty() {
            return wanted;
        }
        let wanted = wanted.unwrap_or_default();
        Some(wanted.trust(self.trust_self_reported.iter().cloned()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::Standalone;
    use super::*;
    use clap::Parser;

    fn read(flags: &[&str]) -> SelectionArgs {
        let flags = std::iter::once(&"program").chain(flags);
        Standalone::try_parse_from(flags).unwrap().launch.selection
    }

    #[test]
    fn flags_select_and_trust_as_calls_do() {
        let args = read(&[
            "--clusters",
            "eu-*,prod",
            "--cluster-labels",
            "env=prod,tier in (a,b)",
            "--except-clusters",
            "eu-test",
            "--except-clusters",
            "*-old",
            "--trust-self-reported",
            "zone",
        ]);
        let expected = ClusterSelector::new()
            .names(["eu-*", "prod"])
            .labels("env=prod,tier in (a,b)")
            .except(["eu-test", "*-old"]);
        assert_eq!(args.selector(), expected);
        let zone = SelfReported::new().trust(["zone"]);
        assert_eq!(args.self_reported(None), Some(zone));
        let both = SelfReported::new().trust(["region", "zone"]);
        assert_eq!(
            args.self_reported(Some(SelfReported::new().trust(["region"]))),
            Some(both)
        );
    }

    #[test]
    fn without_flags_everything_is_selected_and_nothing_asked() {
        let args = read(&[]);
        assert!(args.selector().is_everything());
        assert_eq!(args.self_reported(None), None);
    }
}
