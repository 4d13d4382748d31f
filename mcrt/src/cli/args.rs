//! The flags; each also comes from the environment.
use super::{providers::ProviderArgs, selection::SelectionArgs, sharing::SharingArgs};
use crate::connect::Policy;

/// What can be said when a program starts. Flattens into a program's own arguments:
///
/// ```
/// #[derive(clap::Parser)]
/// struct Args {
///     #[command(flatten)]
///     launch: mcrt::LaunchArgs,
///     #[arg(long)]
///     issuer: String,
/// }
/// ```
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Fleet")]
#[non_exhaustive]
pub struct LaunchArgs {
    /// Where clusters come from: provider features of the program, `single` or `none`; repeated, or separated by `,`.
    /// With `=PREFIX`, such as `kind=dev/`, the names of its clusters begin with that
    #[arg(
        long,
        env = "MCRT_PROVIDER",
        value_name = "NAME[=PREFIX]",
        value_delimiter = ','
    )]
    pub provider: Vec<String>,

    /// The cluster that the controller belongs to: `in-cluster`, `context:NAME` or `none`
    #[arg(long, env = "MCRT_HOST", value_name = "HOST")]
    pub host: Option<String>,

    /// Credential programs that kubeconfigs of files and of the provider `command` may run: names or absolute paths; repeated, or separated by `,`
    #[arg(long, env = "MCRT_ALLOW_EXEC", value_name = "COMMAND", value_delimiter = ',')]
    pub allow_exec: Vec<String>,

    /// How log lines look
    #[arg(
        long,
        env = "MCRT_LOG_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    pub log_format: LogFormat,

    /// Which log lines are written, as `target=level` pairs
    #[arg(long, env = "MCRT_LOG", value_name = "FILTER", default_value = "info")]
    pub log: String,

    /// Which clusters are engaged.
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// With whom the clusters are shared.
    #[command(flatten)]
    pub sharing: SharingArgs,

    // Last: each has a heading of its own in the help.
    /// What can be said of each provider.
    #[command(flatten)]
    pub providers: ProviderArgs,
}

impl LaunchArgs {
    /// What kubeconfig files may ask for. They are the operator's own, or the operator would not name them.
    pub(super) fn policy(&self) -> Policy {
        self.allow_exec
            .iter()
            .fold(Policy::own_files(), Policy::allow_command)
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

#[derive(clap::Parser)]
pub(super) struct Standalone {
    #[command(flatten)]
    pub(super) launch: LaunchArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn programs_are_allowed_by_name_one_flag_or_one_list() {
        for flags in [
            vec!["--allow-exec", "aws", "--allow-exec", "/opt/tool"],
            vec!["--allow-exec", "aws,/opt/tool"],
        ] {
            let args = Standalone::try_parse_from(std::iter::once("program").chain(flags)).unwrap();
            let expected = Policy::own_files()
                .allow_command("aws")
                .allow_command("/opt/tool");
            assert_eq!(args.launch.policy(), expected);
        }
        let args = Standalone::try_parse_from(["program"]).unwrap();
        assert_eq!(args.launch.policy(), Policy::own_files());
    }
}
