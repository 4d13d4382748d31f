//! `--provider kubeconfig`.
use super::{LaunchArgs, named_by, of_objects};
use crate::{
    StartError,
    provider::{Provider, providers},
};
use std::sync::Arc;

/// What can be said of the provider `kubeconfig`.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Provider `kubeconfig`")]
#[non_exhaustive]
pub struct KubeconfigArgs {
    /// Namespaces whose Secrets are read, instead of all; repeated, or separated by `,`
    #[arg(
        id = "kubeconfig-namespace",
        long = "kubeconfig-namespace",
        env = "MCRT_KUBECONFIG_NAMESPACE",
        value_name = "NAMESPACE",
        value_delimiter = ','
    )]
    pub namespaces: Vec<String>,

    /// Which Secrets count: a label selector, instead of `sigs.k8s.io/multicluster-runtime-kubeconfig=true`
    #[arg(
        id = "kubeconfig-labels",
        long = "kubeconfig-labels",
        env = "MCRT_KUBECONFIG_LABELS",
        value_name = "SELECTOR"
    )]
    pub labels: Option<String>,

    /// The key of a Secret's data that holds the kubeconfig, instead of `kubeconfig`
    #[arg(
        id = "kubeconfig-key",
        long = "kubeconfig-key",
        env = "MCRT_KUBECONFIG_KEY",
        value_name = "KEY"
    )]
    pub key: Option<String>,

    /// The context of each kubeconfig that counts, instead of its current or only one
    #[arg(
        id = "kubeconfig-context",
        long = "kubeconfig-context",
        env = "MCRT_KUBECONFIG_CONTEXT",
        value_name = "CONTEXT"
    )]
    pub context: Option<String>,

    /// How clusters are called: `short`, like their Secret, or `namespaced`, `NAMESPACE/NAME`; unsaid, short for one
    /// namespace and else namespaced
    #[arg(
        id = "kubeconfig-names",
        long = "kubeconfig-names",
        env = "MCRT_KUBECONFIG_NAMES",
        value_name = "HOW"
    )]
    pub names: Option<String>,

    /// Credential programs that these kubeconfigs may run: names or absolute paths; repeated, or separated by `,`
    #[arg(
        id = "kubeconfig-allow-exec",
        long = "kubeconfig-allow-exec",
        env = "MCRT_KUBECONFIG_ALLOW_EXEC",
        value_name = "COMMAND",
        value_delimiter = ','
    )]
    pub allow_exec: Vec<String>,

    /// Lets these kubeconfigs name servers on the controller's own machine
    #[arg(
        id = "kubeconfig-allow-local-servers",
        long = "kubeconfig-allow-local-servers",
        env = "MCRT_KUBECONFIG_ALLOW_LOCAL_SERVERS"
    )]
    pub allow_local_servers: bool,
}

pub(super) fn provider(args: &LaunchArgs) -> Result<Arc<dyn Provider>, StartError> {
    made(&args.providers.kubeconfig).map(|provider| Arc::new(provider) as Arc<dyn Provider>)
}

fn made(args: &KubeconfigArgs) -> Result<providers::Kubeconfig, StartError> {
    let policy = of_objects(&args.allow_exec, args.allow_local_servers);
    let mut provider = providers::Kubeconfig::new().policy(policy);
    for namespace in &args.namespaces {
        provider = provider.in_namespace(namespace);
    }
    if let Some(labels) = &args.labels {
        provider = provider.labels(labels);
    }
    if let Some(key) = &args.key {
        provider = provider.key(key);
    }
    if let Some(context) = &args.context {
        provider = provider.context(context);
    }
    if let Some(names) = &args.names {
        provider = provider.names(named_by(names, "kubeconfig")?);
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
        made(&args.launch.providers.kubeconfig).map(|provider| format!("{provider:?}"))
    }

    #[test]
    fn every_option_has_a_flag_and_none_of_them_is_needed() {
        let plain = providers::Kubeconfig::new();
        assert_eq!(parsed(&[]).unwrap(), format!("{plain:?}"));
        let policy = Policy::strict().allow_command("aws").allow_local_servers();
        let all = plain
            .in_namespace("a")
            .in_namespace("b")
            .labels("x=y")
            .key("value")
            .context("c")
            .names(Names::Short)
            .policy(policy);
        let flags = "--kubeconfig-namespace a,b --kubeconfig-labels x=y --kubeconfig-key value --kubeconfig-context c \
                     --kubeconfig-names short --kubeconfig-allow-exec aws --kubeconfig-allow-local-servers";
        let flags: Vec<_> = flags.split_whitespace().collect();
        assert_eq!(parsed(&flags).unwrap(), format!("{all:?}"));
        let error = parsed(&["--kubeconfig-names", "long"]).unwrap_err().to_string();
        assert!(error.contains("`short` or `namespaced`"), "{error}");
    }
}
