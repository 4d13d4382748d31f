//! When to stop: Ctrl-C and SIGTERM.
use tokio::signal;

/// Resolves at the first Ctrl-C or SIGTERM. A second Ctrl-C ends the process at once: somebody insists.
pub(super) async fn shutdown() {
    first().await;
    tokio::spawn(async {
        first().await;
        std::process::exit(130);
    });
}

#[cfg(unix)]
async fn first() {
    use signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(error) => {
            tracing::warn!(%error, "cannot listen for SIGTERM");
            interrupted().await;
        }
    }
}

#[cfg(not(unix))]
async fn first() {
    interrupted().await;
}

async fn interrupted() {
    if let Err(error) = signal::ctrl_c().await {
        tracing::warn!(%error, "cannot listen for Ctrl-C; stop the process from outside");
        std::future::pending::<()>().await;
    }
}
