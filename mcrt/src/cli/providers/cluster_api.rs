//! `--provider cluster-api`.
use super::{LaunchArgs, named_by, of_objects};
use crate::{
    StartError,
    provider::{Provider, providers},
};
use std::sync::Arc;

/// What can be said of the provider `cluster-api`.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Provider `cluster-api`")]
#[non_exhaustive]
pub struct ClusterApiArgs {
    /// Namespaces whose Clusters are read, instead of all; repeated, or separated by `,`
    #[arg(
        id = "cluster-api-namespace",
        long = "cluster-api-namespace",
        env = "MCRT_CLUSTER_API_NAMESPACE",
        value_name = "NAMESPACE",
        value_delimiter = ','
    )]
    pub namespaces: Vec<String>,

    /// Which Clusters count: a label selector, instead of all
    #[arg(
        id = "cluster-api-labels",
        long = "cluster-api-labels",
        env = "MCRT_CLUSTER_API_LABELS",
        value_name = "SELECTOR"
    )]
    pub labels: Option<String>,

    /// Which Secrets are read: a label selector, instead of `cluster.x-k8s.io/cluster-name`
    #[arg(
        id = "cluster-api-secret-labels",
        long = "cluster-api-secret-labels",
        env = "MCRT_CLUSTER_API_SECRET_LABELS",
        value_name = "SELECTOR"
    )]
    pub secret_labels: Option<String>,

    /// API groups beside Cluster API's whose objects may own the Secrets; repeated, or separated by `,`
    #[arg(
        id = "cluster-api-allow-owner",
        long = "cluster-api-allow-owner",
        env = "MCRT_CLUSTER_API_ALLOW_OWNER",
        value_name = "GROUP",
        value_delimiter = ','
    )]
    pub allow_owner: Vec<String>,

    /// How clusters are called: `namespaced`, `NAMESPACE/NAME`, which they are if nothing is said, or `short`
    #[arg(
        id = "cluster-api-names",
        long = "cluster-api-names",
        env = "MCRT_CLUSTER_API_NAMES",
        value_name = "HOW"
    )]
    pub names: Option<String>,

    /// Disengages clusters while their Cluster is paused
    #[arg(
        id = "cluster-api-leave-when-paused",
        long = "cluster-api-leave-when-paused",
        env = "MCRT_CLUSTER_API_LEAVE_WHEN_PAUSED"
    )]
    pub leave_when_paused: bool,

    /// Credential programs that the kubeconfigs may run: names or absolute paths; repeated, or separated by `,`
    #[arg(
        id = "cluster-api-allow-exec",
        long = "cluster-api-allow-exec",
        env = "MCRT_CLUSTER_API_ALLOW_EXEC",
        value_name = "COMMAND",
        value_delimiter = ','
    )]
    pub allow_exec: Vec<String>,

    /// Lets the kubeconfigs name servers on the controller's own machine
    #[arg(
        id = "cluster-api-allow-local-servers",
        long = "cluster-api-allow-local-servers",
        env = "MCRT_CLUSTER_API_ALLOW_LOCAL_SERVERS"
    )]
    pub allow_local_servers: bool,
}

pub(super) fn provider(args: &LaunchArgs) -> Result<Arc<dyn Provider>, StartError> {
    made(&args.providers.cluster_api).map(|provider| Arc::new(provider) as Arc<dyn Provider>)
}

fn made(args: &ClusterApiArgs) -> Result<providers::ClusterApi, StartError> {
    let policy = of_objects(&args.allow_exec, args.allow_local_servers);
    let mut provider = providers::ClusterApi::new().policy(policy);
    for namespace in &args.namespaces {
        provider = provider.in_namespace(namespace);
    }
    if let Some(labels) = &args.labels {
        provider = provider.labels(labels);
    }
    if let Some(labels) = &args.secret_labels {
        provider = provider.secret_labels(labels);
    }
    for group in &args.allow_owner {
        provider = provider.allow_owner(group);
    }
    if let Some(names) = &args.names {
        provider = provider.names(named_by(names, "cluster-api")?);
    }
    if args.leave_when_paused {
        provider = provider.leave_when_paused();
    }
    Ok(provider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::Policy;
    use crate::{cli::args::Standalone, provider::host::Names};
    use clap::Parser;

    fn parsed(flags: &[&str]) -> Result<String, StartError> {
        let args = Standalone::try_parse_from(std::iter::once(&"program").chain(flags)).unwrap();
        made(&args.launch.providers.cluster_api).map(|provider| format!("{provider:?}"))
    }

    #[test]
    fn every_option_has_a_flag_and_none_of_them_is_needed() {
        let plain = providers::ClusterApi::new();
        assert_eq!(parsed(&[]).unwrap(), format!("{plain:?}"));
        let policy = Policy::strict().allow_command("aws").allow_local_servers();
        let all = plain
            .in_namespace("a")
            .in_namespace("b")
            .labels("x=y")
            .secret_labels("")
            .allow_owner("provisioning.cattle.io")
            .names(Names::Short)
            .leave_when_paused()
            .policy(policy);
        let flags = "--cluster-api-namespace a --cluster-api-namespace b --cluster-api-labels x=y \
                     --cluster-api-secret-labels= --cluster-api-allow-owner provisioning.cattle.io \
                     --cluster-api-names short --cluster-api-leave-when-paused --cluster-api-allow-exec aws \
                     --cluster-api-allow-local-servers";
        let flags: Vec<_> = flags.split_whitespace().collect();
        assert_eq!(parsed(&flags).unwrap(), format!("{all:?}"));
        let error = parsed(&["--cluster-api-names", "long"]).unwrap_err().to_string();
        assert!(error.contains("`short` or `namespaced`"), "{error}");
    }
}
