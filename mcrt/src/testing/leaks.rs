//! What a manager must not leave behind: tasks, and requests that servers still work on.
use super::waiting::eventually;
use mcrt_sim::Server;
use std::time::Duration;
use tokio::runtime::Handle;

/// How many tasks this runtime has.
///
/// # Panics
/// Outside a tokio runtime.
pub fn alive_tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Waits until no server holds anything open and the runtime has no more tasks than `tasks`.
///
/// # Panics
/// If that does not come true within a second.
pub async fn nothing_left(servers: &[Server], tasks: usize) {
    nothing_left_within(Duration::from_secs(1), servers, tasks).await;
}

/// As [`nothing_left`], for what ends by itself, if not at once.
pub(super) async fn nothing_left_within(limit: Duration, servers: &[Server], tasks: usize) {
    eventually(limit, "nothing is left", async || left(servers, tasks)).await;
}

fn left(servers: &[Server], tasks: usize) -> Result<(), String> {
    for server in servers {
        let open = server.counters();
        if open.open_requests > 0 || open.open_watches > 0 {
            return Err(format!("{} holds {open:?}", server.name()));
        }
    }
    match alive_tasks() {
        now if now > tasks => Err(format!(
            "{now} tasks, {tasks} at the start (tasks and clients of the test itself count too: end them first)"
        )),
        _ => Ok(()),
    }
}
