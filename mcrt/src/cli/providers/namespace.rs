//! `--provider namespace`.
use super::LaunchArgs;
use crate::{
    StartError,
    provider::{Provider, providers},
};
use std::sync::Arc;

/// What can be said of the provider `namespace`.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Provider `namespace`")]
#[non_exhaustive]
pub struct NamespaceArgs {
    /// Which namespaces of the host are clusters: a label selector, instead of all
    #[arg(
        id = "namespace-labels",
        long = "namespace-labels",
        env = "MCRT_NAMESPACE_LABELS",
        value_name = "SELECTOR"
    )]
    pub labels: Option<String>,

    /// Which are none: names, with `*` for any characters, instead of `kube-*`; repeated, or separated by `,`; empty for
    /// none
    #[arg(
        id = "namespace-skip",
        long = "namespace-skip",
        env = "MCRT_NAMESPACE_SKIP",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub skip: Option<Vec<String>>,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every provider is made alike, and others can fail"
)]
pub(super) fn provider(args: &LaunchArgs) -> Result<Arc<dyn Provider>, StartError> {
    Ok(Arc::new(made(&args.providers.namespace)))
}

fn made(args: &NamespaceArgs) -> providers::Namespaces {
    let mut provider = providers::Namespaces::new();
    if let Some(labels) = &args.labels {
        provider = provider.labels(labels);
    }
    if let Some(skip) = &args.skip {
        let names = skip.iter().filter(|name| !name.is_empty());
        provider = names.fold(provider.skip_none(), providers::Namespaces::skip);
    }
    provider
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Standalone;
    use clap::Parser;

    fn parsed(flags: &[&str]) -> String {
        let args = Standalone::try_parse_from(std::iter::once(&"program").chain(flags)).unwrap();
        format!("{:?}", made(&args.launch.providers.namespace))
    }

    #[test]
    fn every_option_has_a_flag_and_none_of_them_is_needed() {
        let plain = providers::Namespaces::new;
        assert_eq!(parsed(&[]), format!("{:?}", plain()));
        let all = plain().labels("a=b").skip_none().skip("x").skip("y-*");
        assert_eq!(
            parsed(&["--namespace-labels", "a=b", "--namespace-skip", "x,y-*"]),
            format!("{all:?}")
        );
        assert_eq!(
            parsed(&["--namespace-skip", ""]),
            format!("{:?}", plain().skip_none())
        );
    }
}
