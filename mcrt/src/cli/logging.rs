//! Log lines on stderr, as text or JSON.
use super::{LaunchArgs, LogFormat};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Responses that kube cannot decode are logged whole by this target: bodies of Secrets among them.
const LOGS_BODIES: &str = "kube_client";

/// Installs the subscriber, unless the program has one.
pub(super) fn init(args: &LaunchArgs) {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter(&args.log))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let installed = match args.log_format {
        LogFormat::Text => subscriber.try_init(),
        LogFormat::Json => subscriber.json().try_init(),
    };
    if installed.is_err() {
        tracing::debug!("the program has a subscriber of its own");
    }
}

/// The wanted filter, without the target that logs bodies unless that is asked for by name.
fn filter(wanted: &str) -> EnvFilter {
    let filter = EnvFilter::builder().parse_lossy(wanted);
    if wanted.contains(LOGS_BODIES) {
        return filter;
    }
    match format!("{LOGS_BODIES}=off").parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => filter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_that_logs_bodies_is_off_unless_named() {
        assert!(filter("trace").to_string().contains("kube_client=off"));
        assert!(
            filter("info,kube_client=debug")
                .to_string()
                .contains("kube_client=debug")
        );
    }
}
