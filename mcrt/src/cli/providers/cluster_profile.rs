//! `--provider cluster-profile`.
use super::LaunchArgs;
use crate::{
    StartError,
    connect::Policy,
    provider::{
        Provider,
        cluster_profile::{ProviderFile, SecretLayout, UnknownOption},
        providers::ClusterProfiles,
    },
};
use std::{path::PathBuf, str::FromStr, sync::Arc};

/// What can be said of the provider `cluster-profile`.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Provider `cluster-profile`")]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct ClusterProfileArgs {
    // As programs in Go call it, whatever the names of the others.
    /// The file with the program of each access provider (KEP-5339), instead of `clusterprofile-provider-file.json`
    #[arg(
        id = "clusterprofile-provider-file",
        long = "clusterprofile-provider-file",
        env = "MCRT_CLUSTERPROFILE_PROVIDER_FILE",
        value_name = "PATH"
    )]
    pub provider_file: Option<PathBuf>,

    /// Namespaces whose profiles are read, instead of all; repeated, or separated by `,`
    #[arg(
        id = "cluster-profile-namespace",
        long = "cluster-profile-namespace",
        env = "MCRT_CLUSTER_PROFILE_NAMESPACE",
        value_name = "NAMESPACE",
        value_delimiter = ','
    )]
    pub namespaces: Vec<String>,

    /// Which profiles count: a label selector
    #[arg(
        id = "cluster-profile-labels",
        long = "cluster-profile-labels",
        env = "MCRT_CLUSTER_PROFILE_LABELS",
        value_name = "SELECTOR"
    )]
    pub labels: Option<String>,

    /// Cluster managers whose profiles count; repeated, or separated by `,`
    #[arg(
        id = "cluster-profile-manager",
        long = "cluster-profile-manager",
        env = "MCRT_CLUSTER_PROFILE_MANAGER",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub managers: Vec<String>,

    /// Cluster sets whose profiles count, by a label of the profile or its namespace; repeated, or separated by `,`
    #[arg(
        id = "cluster-profile-set",
        long = "cluster-profile-set",
        env = "MCRT_CLUSTER_PROFILE_SET",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub cluster_sets: Vec<String>,

    /// When a cluster is engaged first, by `ControlPlaneHealthy`: `healthy`, `not-unhealthy` or `always`, instead of
    /// `healthy`
    #[arg(
        id = "cluster-profile-engage",
        long = "cluster-profile-engage",
        env = "MCRT_CLUSTER_PROFILE_ENGAGE",
        value_name = "WHEN"
    )]
    pub engage: Option<String>,

    /// Has clusters leave while their profile is unhealthy
    #[arg(
        id = "cluster-profile-leave-when-unhealthy",
        long = "cluster-profile-leave-when-unhealthy",
        env = "MCRT_CLUSTER_PROFILE_LEAVE_WHEN_UNHEALTHY"
    )]
    pub leave_when_unhealthy: bool,

    /// Which profiles are of one cluster, so that one stands for all: `display-name` or `cluster-id`
    #[arg(
        id = "cluster-profile-same",
        long = "cluster-profile-same",
        env = "MCRT_CLUSTER_PROFILE_SAME",
        value_name = "BY"
    )]
    pub same: Option<String>,

    /// Calls clusters by their property `cluster.clusterset.k8s.io` instead of `NAMESPACE/NAME`
    #[arg(
        id = "cluster-profile-named-by-cluster-id",
        long = "cluster-profile-named-by-cluster-id",
        env = "MCRT_CLUSTER_PROFILE_NAMED_BY_CLUSTER_ID"
    )]
    pub named_by_cluster_id: bool,

    /// Deprecated: reads Secrets with a kubeconfig for this consumer instead of the file of programs
    #[arg(
        id = "cluster-profile-consumer",
        long = "cluster-profile-consumer",
        env = "MCRT_CLUSTER_PROFILE_CONSUMER",
        value_name = "NAME",
        conflicts_with = "clusterprofile-provider-file"
    )]
    pub consumer: Option<String>,

    /// How those Secrets are laid out: `labels`, `namespaces` or `both`, instead of `labels`
    #[arg(
        id = "cluster-profile-secrets",
        long = "cluster-profile-secrets",
        env = "MCRT_CLUSTER_PROFILE_SECRETS",
        value_name = "LAYOUT"
    )]
    pub secrets: Option<String>,

    /// Lets profiles name servers on the controller's own machine
    #[arg(
        id = "cluster-profile-allow-local-servers",
        long = "cluster-profile-allow-local-servers",
        env = "MCRT_CLUSTER_PROFILE_ALLOW_LOCAL_SERVERS"
    )]
    pub allow_local_servers: bool,

    /// Lets profiles name an HTTP proxy
    #[arg(
        id = "cluster-profile-allow-proxies",
        long = "cluster-profile-allow-proxies",
        env = "MCRT_CLUSTER_PROFILE_ALLOW_PROXIES"
    )]
    pub allow_proxies: bool,

    /// Lets profiles skip the check of the server's certificate
    #[arg(
        id = "cluster-profile-allow-insecure-tls",
        long = "cluster-profile-allow-insecure-tls",
        env = "MCRT_CLUSTER_PROFILE_ALLOW_INSECURE_TLS"
    )]
    pub allow_insecure_tls: bool,
}

pub(super) fn provider(args: &LaunchArgs) -> Result<Arc<dyn Provider>, StartError> {
    let made = made(&args.providers.cluster_profile).map_err(|reason| StartError::Provider {
        name: "cluster-profile".to_owned(),
        reason,
    })?;
    Ok(Arc::new(made))
}

fn made(args: &ClusterProfileArgs) -> Result<ClusterProfiles, String> {
    let mut provider = reached(args)?.policy(policy(args));
    for namespace in &args.namespaces {
        provider = provider.in_namespace(namespace);
    }
    if let Some(labels) = &args.labels {
        provider = provider.labels(labels);
    }
    for manager in &args.managers {
        provider = provider.manager(manager);
    }
    for set in &args.cluster_sets {
        provider = provider.cluster_set(set);
    }
    if let Some(when) = said("engage", args.engage.as_deref())? {
        provider = provider.engage_when(when);
    }
    if args.leave_when_unhealthy {
        provider = provider.leave_when_unhealthy();
    }
    if let Some(same) = said("same", args.same.as_deref())? {
        provider = provider.same_cluster_by(same);
    }
    if args.named_by_cluster_id {
        provider = provider.named_by_cluster_id();
    }
    Ok(provider)
}

fn reached(args: &ClusterProfileArgs) -> Result<ClusterProfiles, String> {
    let layout = said("secrets", args.secrets.as_deref())?;
    if let Some(consumer) = &args.consumer {
        let layout: SecretLayout = layout.unwrap_or_default();
        return Ok(ClusterProfiles::from_secrets(consumer, layout));
    }
    if layout.is_some() {
        return Err("`--cluster-profile-secrets` needs `--cluster-profile-consumer`".to_owned());
    }
    let path = args.provider_file.clone();
    let file = ProviderFile::read(path.unwrap_or_else(|| ProviderFile::DEFAULT_PATH.into()));
    file.map(ClusterProfiles::new)
        .map_err(|error| format!("{error}; `--clusterprofile-provider-file` says where it is"))
}

/// They come from objects: what files of the operator's own may ask for is not for them.
fn policy(args: &ClusterProfileArgs) -> Policy {
    let opt_ins: [(bool, fn(Policy) -> Policy); 3] = [
        (args.allow_local_servers, Policy::allow_local_servers),
        (args.allow_proxies, Policy::allow_proxies),
        (args.allow_insecure_tls, Policy::allow_insecure_tls),
    ];
    let wanted = opt_ins.into_iter().filter(|(wanted, _)| *wanted);
    wanted.fold(Policy::strict(), |policy, (_, allow)| allow(policy))
}

fn said<T: FromStr<Err = UnknownOption>>(flag: &str, text: Option<&str>) -> Result<Option<T>, String> {
    text.map(str::parse)
        .transpose()
        .map_err(|error| format!("`--cluster-profile-{flag}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::args::Standalone,
        provider::cluster_profile::{EngageWhen, SameCluster},
    };
    use clap::Parser;

    fn parsed(flags: &[&str]) -> Result<String, String> {
        let args = Standalone::try_parse_from(std::iter::once(&"program").chain(flags)).unwrap();
        made(&args.launch.providers.cluster_profile).map(|provider| format!("{provider:?}"))
    }

    fn file() -> tempfile::NamedTempFile {
        let exec = r#"{"apiVersion": "client.authentication.k8s.io/v1", "command": "plugin"}"#;
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = format!(r#"{{"providers": [{{"name": "x", "execConfig": {exec}}}]}}"#);
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn every_option_has_a_flag_and_none_but_the_file_is_needed() {
        let file = file();
        let plain = || ClusterProfiles::new(ProviderFile::read(file.path()).unwrap());
        let at = ["--clusterprofile-provider-file", file.path().to_str().unwrap()];
        assert_eq!(parsed(&at).unwrap(), format!("{:?}", plain()));
        let policy = Policy::strict()
            .allow_local_servers()
            .allow_proxies()
            .allow_insecure_tls();
        let all = plain()
            .in_namespace("a")
            .in_namespace("b")
            .labels("x=y")
            .manager("m")
            .cluster_set("s")
            .engage_when(EngageWhen::NotUnhealthy)
            .leave_when_unhealthy()
            .same_cluster_by(SameCluster::DisplayName)
            .named_by_cluster_id()
            .policy(policy);
        let flags = "--cluster-profile-namespace a,b --cluster-profile-labels x=y --cluster-profile-manager m \
                     --cluster-profile-set s --cluster-profile-engage not-unhealthy \
                     --cluster-profile-leave-when-unhealthy --cluster-profile-same display-name \
                     --cluster-profile-named-by-cluster-id --cluster-profile-allow-local-servers \
                     --cluster-profile-allow-proxies --cluster-profile-allow-insecure-tls";
        let flags: Vec<_> = at.into_iter().chain(flags.split_whitespace()).collect();
        assert_eq!(parsed(&flags).unwrap(), format!("{all:?}"));
    }

    #[test]
    fn secrets_are_read_for_a_consumer() {
        let flags = "--cluster-profile-consumer us --cluster-profile-secrets both";
        let flags: Vec<_> = flags.split_whitespace().collect();
        let expected = ClusterProfiles::from_secrets("us", SecretLayout::Both);
        assert_eq!(parsed(&flags).unwrap(), format!("{expected:?}"));
    }

    #[test]
    fn what_is_missing_or_no_word_is_told_with_its_flag() {
        let file = file();
        let at = ["--clusterprofile-provider-file", file.path().to_str().unwrap()];
        for (flags, expected) in [
            (vec![], "clusterprofile-provider-file.json: "),
            (
                vec!["--cluster-profile-secrets", "labels"],
                "needs `--cluster-profile-consumer`",
            ),
            (
                vec![at[0], at[1], "--cluster-profile-engage", "ill"],
                "`--cluster-profile-engage`: not one of healthy, not-unhealthy, always",
            ),
            (
                vec![at[0], at[1], "--cluster-profile-same", "x"],
                "`--cluster-profile-same`: not one of",
            ),
        ] {
            let error = parsed(&flags).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
