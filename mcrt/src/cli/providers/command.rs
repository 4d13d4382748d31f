//! `--provider command`.
use super::{super::span::span, LaunchArgs};
use crate::{
    StartError,
    connect::Policy,
    provider::{Provider, providers::Command},
};
use std::{ffi::OsString, sync::Arc, time::Duration};

/// What can be said of the provider `command`.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Provider `command`")]
#[non_exhaustive]
pub struct CommandArgs {
    /// The program that prints clusters, one JSON object a line: a name to look up, or a path
    #[arg(
        id = "command-program",
        long = "command-program",
        env = "MCRT_COMMAND_PROGRAM",
        value_name = "PROGRAM"
    )]
    pub program: Option<OsString>,

    /// An argument of it; repeated for more
    #[arg(
        id = "command-arg",
        long = "command-arg",
        env = "MCRT_COMMAND_ARG",
        value_name = "ARG",
        allow_hyphen_values = true
    )]
    pub args: Vec<OsString>,

    /// The program goes on and prints changes, in place of being run again and again
    #[arg(id = "command-stream", long = "command-stream", env = "MCRT_COMMAND_STREAM")]
    pub stream: bool,

    /// From the end of one run to the next; 1m if it is not said
    #[arg(id = "command-interval", long = "command-interval", env = "MCRT_COMMAND_INTERVAL", value_name = "TIME", value_parser = span)]
    pub interval: Option<Duration>,

    /// How long a run may take, or a stream until it has synced; 1m if it is not said
    #[arg(id = "command-deadline", long = "command-deadline", env = "MCRT_COMMAND_DEADLINE", value_name = "TIME", value_parser = span)]
    pub deadline: Option<Duration>,

    /// Trust the kubeconfigs that it prints as you would trust files of your own: they may name files and servers on this
    /// machine
    #[arg(
        id = "command-own-files",
        long = "command-own-files",
        env = "MCRT_COMMAND_OWN_FILES"
    )]
    pub own_files: bool,
}

pub(super) fn provider(args: &LaunchArgs) -> Result<Arc<dyn Provider>, StartError> {
    let said = &args.providers.command;
    let program = said.program.as_ref().ok_or_else(|| StartError::Provider {
        name: "command".to_owned(),
        reason: "no program is named: give the one that lists the clusters with `--command-program PROGRAM`"
            .to_owned(),
    })?;
    let policy = if said.own_files {
        args.policy()
    } else {
        args.allow_exec
            .iter()
            .fold(Policy::strict(), Policy::allow_command)
    };
    let mut command = Command::new(program).args(&said.args).policy(policy);
    if said.stream {
        command = command.streamed();
    }
    if let Some(interval) = said.interval {
        command = command.interval(interval);
    }
    if let Some(deadline) = said.deadline {
        command = command.deadline(deadline);
    }
    Ok(Arc::new(command))
}

#[cfg(test)]
mod tests {
    use super::{super::super::args::Standalone, *};
    use clap::Parser;

    fn made(flags: &[&str]) -> Result<Arc<dyn Provider>, StartError> {
        let args = Standalone::try_parse_from(std::iter::once(&"program").chain(flags)).unwrap();
        provider(&args.launch)
    }

    #[test]
    fn a_program_must_be_named() {
        let error = made(&[]).err().expect("none is named").to_string();
        assert!(error.contains("--command-program"), "{error}");
        let flags = [
            "--command-program",
            "x",
            "--command-arg",
            "-a",
            "--command-arg=--b",
            "--command-interval",
            "5s",
        ];
        assert_eq!(made(&flags).unwrap().name(), "command");
    }
}
