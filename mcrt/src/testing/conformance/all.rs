//! All checks side by side, each in a thread with a runtime of its own.
use super::{Adapter, CHECKS, Site, Verdict, run};
use parking_lot::Mutex;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

/// Checks that run at once: in real time they mostly wait.
const AT_ONCE: usize = 12;
/// As a test's thread has, and more: unoptimized futures are large.
const STACK: usize = 8 << 20;

/// Runs every check and prints what became of each; for sites in real time, where a test for each would take long, one
/// after another. Without a site nothing is run, and that is said.
///
/// # Panics
/// If the provider does not behave as it should; the message names the checks, and what was wrong stands before it.
pub fn run_all<A: Adapter>(site: impl AsyncFn() -> Option<Site> + Sync) {
    let (next, verdicts) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((at, check)) = {
            let at = next.fetch_add(1, Relaxed);
            CHECKS.get(at).map(|check| (at, check))
        } {
            let verdict = catch_unwind(AssertUnwindSafe(|| alone::<A>(check.name, &site)));
            verdicts.lock().push((at, verdict.ok()));
        }
    };
    thread::scope(|scope| {
        for number in 0..AT_ONCE {
            let thread = thread::Builder::new()
                .name(format!("{}-{number}", A::NAME))
                .stack_size(STACK);
            if let Err(error) = thread.spawn_scoped(scope, work) {
                panic!("no thread can be had: {error}");
            }
        }
    });
    let mut verdicts = verdicts.into_inner();
    verdicts.sort_by_key(|(at, _)| *at);
    let mut failed = Vec::new();
    for (at, verdict) in verdicts {
        let name = CHECKS[at].name;
        if let Some(verdict) = verdict {
            eprintln!("{} {name}: {verdict}", A::NAME);
        } else {
            eprintln!("{} {name}: FAILED", A::NAME);
            failed.push(name);
        }
    }
    assert!(
        failed.is_empty(),
        "`{}` does not behave as it should: {failed:?}",
        A::NAME
    );
}

fn alone<A: Adapter>(name: &str, site: &impl AsyncFn() -> Option<Site>) -> Verdict {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime can be had: {error}"));
    let began = std::time::Instant::now();
    let verdict = runtime.block_on(async {
        // What is not applicable needs no site.
        match super::before::<A>(name) {
            Some(verdict) => verdict,
            None => run::<A>(name, site().await).await,
        }
    });
    match verdict {
        Verdict::Passed(_) => Verdict::Passed(began.elapsed()),
        other => other,
    }
}
