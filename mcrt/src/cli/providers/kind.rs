//! `--provider kind`.
use super::{super::span::span, LaunchArgs};
use crate::{
    StartError,
    provider::{Provider, providers::Kind},
};
use std::{ffi::OsString, sync::Arc, time::Duration};

/// What can be said of the provider `kind`.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Provider `kind`")]
#[non_exhaustive]
pub struct KindArgs {
    /// The container engine: `docker`, `podman`, `nerdctl`, `finch`, `nerdctl.lima`, or a path; else that of
    /// `KIND_EXPERIMENTAL_PROVIDER`, or the first that answers
    #[arg(
        id = "kind-engine",
        long = "kind-engine",
        env = "MCRT_KIND_ENGINE",
        value_name = "ENGINE"
    )]
    pub engine: Option<OsString>,

    /// The kind program, if it is not `kind` in the `PATH`
    #[arg(
        id = "kind-program",
        long = "kind-program",
        env = "MCRT_KIND_PROGRAM",
        value_name = "PROGRAM"
    )]
    pub program: Option<OsString>,

    /// Between two looks at the containers; 2s if it is not said
    #[arg(id = "kind-interval", long = "kind-interval", env = "MCRT_KIND_INTERVAL", value_name = "TIME", value_parser = span)]
    pub interval: Option<Duration>,

    /// Use the addresses on kind's own network, from within a container there
    #[arg(id = "kind-internal", long = "kind-internal", env = "MCRT_KIND_INTERNAL")]
    pub internal: bool,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every provider is made alike, and others can fail"
)]
pub(super) fn provider(args: &LaunchArgs) -> Result<Arc<dyn Provider>, StartError> {
    let args = &args.providers.kind;
    let mut kind = Kind::new().internal(args.internal);
    if let Some(engine) = &args.engine {
        kind = kind.engine(engine);
    }
    if let Some(program) = &args.program {
        kind = kind.program(program);
    }
    if let Some(interval) = args.interval {
        kind = kind.interval(interval);
    }
    Ok(Arc::new(kind))
}
