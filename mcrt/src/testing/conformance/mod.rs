//! What every provider has to do right, as tests that any provider can run.
//!
//! ```text
//! your provider + Adapter ---conformance!---> one test for each behaviour
//!                  |                             |
//!                  | describes clusters          | a manager with a small controller over the provider
//!                  v                             v
//!                Site: a host, three members that work, one that never answers
//! ```
//! A provider is tested by writing an [`Adapter`] for it: the hand that describes clusters to the provider, by whatever
//! the provider reads. [`conformance!`](crate::conformance) makes a test of every [check](CHECKS): the whole way is
//! taken, from the description to an object that is reconciled in the cluster it leads to, and at the end nothing may
//! be left running.
//!
//! What a provider has no notion of, such as labels that select, its adapter says by [`Adapter::lacks`], with the
//! reason: checks that need it print it and are not run. [`report`] tells which they are.
//!
//! A [`Site`] is in this process and needs no socket ([`Site::simulated`], for paused time), or has members behind TLS
//! on loopback ([`Site::served`]), or consists of servers that are there ([`Site::outside`]).
mod adapter;
mod all;
mod bed;
mod checks;
mod member;
mod outside;
mod reach;
mod relay;
mod second;
mod seen;
mod site;
mod stream;
#[cfg(test)]
mod tests;

pub use adapter::{Adapter, Spot, Verb};
pub use all::run_all;
pub use checks::{CHECKS, Check};
pub use member::Member;
pub use outside::Outside;
pub use reach::Reach;
pub use site::Site;

use bed::Stage;
use std::{
    fmt::{self, Write as _},
    time::Duration,
};
use tokio::time::Instant;

/// What became of a check that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The provider behaves so; how long that took to see.
    Passed(Duration),
    /// The provider [lacks](Adapter::lacks) this verb, for this reason.
    NotApplicable(Verb, &'static str),
    /// Not on this site.
    NotRun(&'static str),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed(after) => write!(f, "passed in {:.1} s", after.as_secs_f32()),
            Self::NotApplicable(verb, reason) => write!(f, "not applicable, {verb:?}: {reason}"),
            Self::NotRun(reason) => write!(f, "not run: {reason}"),
        }
    }
}

/// Runs one check; says on stderr if it was not run, and why.
///
/// # Panics
/// If the provider does not behave so; the message shows the fleet.
pub async fn run<A: Adapter>(name: &str, site: impl Into<Option<Site>>) -> Verdict {
    let began = Instant::now();
    let site = match (before::<A>(name), site.into()) {
        (Some(verdict), _) => Err(verdict),
        (None, None) => Err(Verdict::NotRun("there is no site")),
        (None, Some(site)) => Ok(site),
    };
    let site = match site {
        Ok(site) => site,
        Err(verdict) => {
            eprintln!("{} {name}: {verdict}", A::NAME);
            return verdict;
        }
    };
    let adapter = A::begin(&site).await;
    let stage = Stage { site, adapter };
    checks::call(check(name), &stage).await;
    stage.site.rest().await;
    Verdict::Passed(began.elapsed())
}

fn check(name: &str) -> &'static Check {
    let Some(check) = CHECKS.iter().find(|check| check.name == name) else {
        panic!("no check is called `{name}`");
    };
    check
}

/// What is known of a check before it is run.
fn before<A: Adapter>(name: &str) -> Option<Verdict> {
    lacking::<A>(check(name)).map(|(verb, reason)| Verdict::NotApplicable(verb, reason))
}

/// The first verb of a check that the provider lacks, and why.
fn lacking<A: Adapter>(check: &Check) -> Option<(Verb, &'static str)> {
    let mut lacking = check
        .needs
        .iter()
        .filter_map(|verb| Some((*verb, A::lacks(*verb)?)));
    lacking.next()
}

/// A table of all checks in Markdown, with what is not applicable to the provider and why.
pub fn report<A: Adapter>() -> String {
    let mut table = format!("| `{}` | |\n| --- | --- |\n", A::NAME);
    for check in CHECKS {
        let name = check.name.replace('_', " ");
        let verdict = match lacking::<A>(check) {
            Some((_, reason)) => format!("not applicable: {reason}"),
            None => "checked".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(table, "| {name} | {verdict} |");
    }
    table
}

/// Makes a test of every conformance check for a provider.
///
/// It takes the [`Adapter`], an expression for the [`Site`] of one test, which may await and may be an `Option` (without a site
/// nothing is run, and that is said), and `paused` if no socket is used. The tests are
/// `#[tokio::test]`s, so `tokio` with its features `macros` and `rt` is needed where it is called, and `test-util` for
/// `paused`.
///
/// ```ignore
/// mod mine {
///     mcrt::conformance!(MyAdapter, Site::simulated(), paused);
/// }
/// ```
#[macro_export]
macro_rules! conformance {
    ($adapter:ty, $site:expr, paused) => {
        $crate::conformance!(@each [$adapter] [$site] [tokio::test(start_paused = true)]);
    };
    ($adapter:ty, $site:expr) => {
        $crate::conformance!(@each [$adapter] [$site] [tokio::test]);
    };
    (@each $adapter:tt $site:tt $test:tt) => {
        $crate::conformance! { @tests $adapter $site $test
            a_stream_names_the_whole_set_and_then_says_synced
            every_stream_sees_all_that_is_there
            a_stream_follows_what_comes_and_goes
            a_stream_that_is_dropped_leaves_nothing_running
            without_clusters_synced_is_said_all_the_same
            a_description_written_again_says_the_same
            what_cannot_be_used_is_said_and_others_are_named
            what_is_spoilt_is_said_and_not_removed
            objects_that_were_there_before_are_reconciled
            new_objects_are_reconciled
            changed_objects_are_reconciled_again
            an_index_finds_the_objects_of_one_cluster
            an_index_finds_the_objects_of_all_clusters
            a_cluster_of_many_objects_does_not_starve_another
            a_controller_that_comes_late_sees_the_clusters_that_are_there
            a_merged_provider_under_a_prefix_works_the_same
            all_clusters_are_engaged
            a_fleet_may_begin_empty
            a_cluster_that_is_added_is_engaged_and_one_that_is_removed_leaves
            a_cluster_that_leaves_ends_its_watches_and_its_queue
            what_describes_no_cluster_is_left_alone
            a_cluster_whose_description_is_no_longer_one_leaves
            a_cluster_whose_description_is_being_deleted_leaves
            a_cluster_that_is_not_ready_waits_and_leaves
            another_cluster_by_the_same_name_is_another_life
            a_program_that_is_started_again_finds_the_same_clusters
            many_changes_at_once_come_to_the_right_end
            a_change_that_does_not_matter_changes_nothing
            a_description_that_leads_elsewhere_is_another_life_of_the_name
            other_credentials_go_on_with_the_same_life
            credentials_that_are_refused_stop_one_cluster_until_there_are_others
            an_unreadable_description_keeps_the_last_good
            a_cluster_that_never_answers_delays_no_other
            a_new_cluster_that_cannot_be_used_hurts_no_other
            a_host_that_does_not_answer_ends_no_cluster
            replicas_share_the_clusters_and_each_is_worked_on_by_one
            a_replica_that_ends_hands_over_and_nothing_is_reconciled_by_two
            a_second_claim_of_a_name_waits_and_is_said
            uncommon_names_work
        }
    };
    (@tests $adapter:tt $site:tt $test:tt $($name:ident)*) => {
        $($crate::conformance!(@one $name $adapter $site $test);)*

        #[test]
        fn every_check_is_a_test() {
            let tests = [$(stringify!($name)),*];
            let checks = $crate::testing::conformance::CHECKS.iter().map(|check| check.name);
            assert!(checks.eq(tests), "`conformance!` does not list what `CHECKS` has");
        }
    };
    (@one $name:ident [$adapter:ty] [$site:expr] [$($test:tt)*]) => {
        #[$($test)*]
        async fn $name() {
            $crate::testing::conformance::run::<$adapter>(stringify!($name), $site).await;
        }
    };
}
