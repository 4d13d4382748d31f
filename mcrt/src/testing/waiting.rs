//! Waiting on conditions: until a deadline, with the last reason for failing shown.

use std::{fmt::Display, time::Duration};

use tokio::time::{Instant, sleep, timeout_at};

/// The first pause between two looks; each is twice the one before, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Looks until the condition holds and returns what it found.
///
/// # Panics
/// If that is not so within `limit`; the message says what was waited for and what was wrong at last.
pub async fn eventually<T, E: Display>(
    limit: Duration,
    what: &str,
    look: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    eventually_in(limit, what, || "not asked for", look).await
}

/// Like [`eventually`], and a failure also shows the state of whatever is under test, the fleet for one.
///
/// # Panics
/// If the condition does not hold within `limit`.
pub async fn eventually_in<T, E: Display, S: Display>(
    limit: Duration,
    what: &str,
    state: impl FnOnce() -> S,
    look: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    match within(limit, look).await {
        Ok(found) => found,
        Err(last) => fail(&format!(
            "{what}: not within {limit:?}; at last: {last}; state: {}",
            state()
        )),
    }
}

/// Looks until the condition holds; gives what was wrong at last if that is not so within `limit`.
pub async fn within<T, E: Display>(
    limit: Duration,
    mut look: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T, String> {
    let deadline = Instant::now() + limit;
    let mut last = "not looked at once".to_owned();
    let mut pause = FIRST_PAUSE;
    // Virtual hours are not worth thousands of looks.
    let longest = LONGEST_PAUSE.max(limit / 500);
    loop {
        match timeout_at(deadline, look()).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(wrong)) => last = wrong.to_string(),
            Err(_) => return Err(format!("{last} (then a look that did not end)")),
        }
        if Instant::now() + pause >= deadline {
            return Err(last);
        }
        sleep(pause).await;
        pause = longest.min(pause * 2);
    }
}

fn fail(message: &str) -> ! {
    panic!("{message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_what_was_found() {
        let mut looks = 0;
        let found = eventually(LIMIT, "the third look", async || {
            looks += 1;
            if looks == 3 { Ok(looks) } else { Err("too early") }
        })
        .await;
        assert_eq!(found, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_at_the_deadline_with_the_last_reason() {
        let started = Instant::now();
        let failed = within(LIMIT, async || Err::<(), _>("still empty")).await;
        assert_eq!(failed, Err("still empty".to_owned()));
        assert!(started.elapsed() <= LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_hangs_does_not_outlast_the_deadline() {
        let failed = within(LIMIT, async || {
            std::future::pending::<()>().await;
            Err::<(), _>("unreachable")
        })
        .await;
        assert!(failed.unwrap_err().contains("did not end"));
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "a lease: not within 5s; at last: nobody holds it; state: two clusters")]
    async fn a_failure_shows_the_state() {
        eventually_in(
            LIMIT,
            "a lease",
            || "two clusters",
            async || Err::<(), _>("nobody holds it"),
        )
        .await;
    }
}
