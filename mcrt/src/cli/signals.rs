//! When to stop: Ctrl-C and SIGTERM.
use tokio::{signal, sync::oneshot};

/// Asks for the end at the first Ctrl-C or SIGTERM, and returns at the second of either: somebody insists.
pub(super) async fn insisted(ask: oneshot::Sender<()>) {
    relayed(first, ask).await;
}

async fn relayed(mut signal: impl AsyncFnMut(), ask: oneshot::Sender<()>) {
    signal().await;
    tracing::info!("asked to stop; asked once more, the process ends at once");
    // Whoever was to be asked has come to an end already.
    let _ = ask.send(());
    signal().await;
}

#[cfg(unix)]
async fn first() {
    use signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            () = interrupted() => {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt, StreamExt, channel::mpsc};

    #[tokio::test]
    async fn the_first_signal_asks_and_the_second_insists() {
        let (sender, mut signals) = mpsc::unbounded();
        let (ask, mut asked) = oneshot::channel();
        let mut insisted = std::pin::pin!(relayed(
            async || {
                signals.next().await;
            },
            ask,
        ));
        assert!(insisted.as_mut().now_or_never().is_none());
        assert!(asked.try_recv().is_err());
        sender.unbounded_send(()).unwrap();
        assert!(insisted.as_mut().now_or_never().is_none());
        assert!(asked.try_recv().is_ok());
        sender.unbounded_send(()).unwrap();
        assert!(insisted.now_or_never().is_some());
    }
}
