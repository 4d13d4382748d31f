//! `--provider file`.
use super::LaunchArgs;
use crate::{
    StartError,
    provider::{Provider, providers},
};
use std::{path::PathBuf, sync::Arc};

/// What can be said of the provider `file`.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Provider `file`")]
#[non_exhaustive]
pub struct FileArgs {
    /// Kubeconfig files, directories and globs; repeated, or separated by `:`
    #[arg(
        id = "file",
        long = "file",
        env = "MCRT_FILE",
        value_name = "PATH",
        value_delimiter = ':'
    )]
    pub paths: Vec<PathBuf>,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every provider is made alike, and others can fail"
)]
pub(super) fn provider(args: &LaunchArgs) -> Result<Arc<dyn Provider>, StartError> {
    let file = providers::File::new(&args.providers.file.paths).policy(args.policy());
    Ok(Arc::new(file))
}
