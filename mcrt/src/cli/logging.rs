//! Log lines on stderr, as text or JSON.
use super::{LaunchArgs, LogFormat};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Off unless named: kube's client logs responses that it cannot decode whole, bodies of Secrets among them, and its
/// watcher repeats with every attempt what the cache says once.
const OFF: [&str; 2] = ["kube_client", "kube_runtime"];

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

/// The wanted filter, without the targets that are off unless it names them.
fn filter(wanted: &str) -> EnvFilter {
    let unnamed = OFF.iter().filter(|target| !wanted.contains(**target));
    let directives = unnamed.filter_map(|target| format!("{target}=off").parse().ok());
    directives.fold(EnvFilter::builder().parse_lossy(wanted), EnvFilter::add_directive)
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
