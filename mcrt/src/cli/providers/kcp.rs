//! `--provider kcp`.
use super::LaunchArgs;
use crate::{
    StartError,
    provider::{Provider, providers},
};
use std::sync::Arc;

/// What can be said of the provider `kcp`.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Provider `kcp`")]
#[non_exhaustive]
pub struct KcpArgs {
    /// The workspaces that bind an export: the name of its `APIExportEndpointSlice`
    #[arg(
        id = "kcp-slice",
        long = "kcp-slice",
        env = "MCRT_KCP_SLICE",
        value_name = "NAME"
    )]
    pub slice: Option<String>,

    /// Instead of `--kcp-slice`, the workspaces that wait for this initializer: `WORKSPACE:TYPE`
    #[arg(
        id = "kcp-initializing",
        long = "kcp-initializing",
        env = "MCRT_KCP_INITIALIZING",
        value_name = "INITIALIZER"
    )]
    pub initializing: Option<String>,

    /// The workspace that has the slice, or the type, by path or name, instead of the one that the host leads to
    #[arg(
        id = "kcp-workspace",
        long = "kcp-workspace",
        env = "MCRT_KCP_WORKSPACE",
        value_name = "WORKSPACE"
    )]
    pub workspace: Option<String>,

    /// How clusters are called: `cluster`, like their logical cluster, or `path`, by the path of their workspace where it
    /// is known; `cluster` if nothing is said
    #[arg(
        id = "kcp-names",
        long = "kcp-names",
        env = "MCRT_KCP_NAMES",
        value_name = "HOW"
    )]
    pub names: Option<String>,
}

pub(super) fn provider(args: &LaunchArgs) -> Result<Arc<dyn Provider>, StartError> {
    made(&args.providers.kcp).map(|provider| Arc::new(provider) as Arc<dyn Provider>)
}

fn made(args: &KcpArgs) -> Result<providers::Kcp, StartError> {
    let mut provider = match (&args.slice, &args.initializing) {
        (Some(slice), None) => providers::Kcp::slice(slice),
        (None, Some(initializer)) => providers::Kcp::initializing(initializer),
        (None, None) => {
            return Err(wrong(
                "nothing says which workspaces: give `--kcp-slice` or `--kcp-initializing`",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(wrong(
                "`--kcp-slice` and `--kcp-initializing` are two providers: give one of them",
            ));
        }
    };
    if let Some(workspace) = &args.workspace {
        provider = provider.in_workspace(workspace);
    }
    match args.names.as_deref() {
        None | Some("cluster") => Ok(provider),
        Some("path") => Ok(provider.named_by_path()),
        Some(how) => Err(wrong(&format!(
            "`--kcp-names` is `{how}`: give `cluster` or `path`"
        ))),
    }
}

fn wrong(reason: &str) -> StartError {
    StartError::Provider {
        name: "kcp".to_owned(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Standalone;
    use clap::Parser;

    fn parsed(flags: &str) -> Result<String, String> {
        let flags = flags.split_whitespace();
        let args = Standalone::try_parse_from(std::iter::once("program").chain(flags)).unwrap();
        let made = made(&args.launch.providers.kcp);
        made.map(|provider| format!("{provider:?}"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn flags_say_what_code_can_say_and_one_of_two_is_needed() {
        let slice = providers::Kcp::slice("fleet");
        assert_eq!(
            parsed("--kcp-slice fleet --kcp-names cluster").unwrap(),
            format!("{slice:?}")
        );
        let all = slice.in_workspace("root:a").named_by_path();
        let flags = "--kcp-slice fleet --kcp-workspace root:a --kcp-names path";
        assert_eq!(parsed(flags).unwrap(), format!("{all:?}"));
        let new = providers::Kcp::initializing("root:a:team");
        assert_eq!(
            parsed("--kcp-initializing root:a:team").unwrap(),
            format!("{new:?}")
        );
        assert!(parsed("").unwrap_err().contains("give `--kcp-slice`"));
        let both = parsed("--kcp-slice a --kcp-initializing b").unwrap_err();
        assert!(both.contains("give one of them"), "{both}");
        let names = parsed("--kcp-slice a --kcp-names b").unwrap_err();
        assert!(names.contains("`cluster` or `path`"), "{names}");
    }
}
