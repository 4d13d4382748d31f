//! The behaviours, each by its name.
mod change;
mod coming;
mod naming;
mod objects;
mod replicas;
mod said;
mod trouble;

use super::{Adapter, Verb, bed::Stage};

/// One behaviour that is checked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Check {
    /// Its name, a sentence.
    pub name: &'static str,
    /// The verbs that it takes.
    pub needs: &'static [Verb],
}

/// Lists the checks, and calls them by name.
macro_rules! checks {
    ($($room:ident::$name:ident($($verb:ident),*);)*) => {
        /// Every check, in the order of the book's table.
        pub const CHECKS: &[Check] = &[$(Check {
            name: stringify!($name),
            needs: &[$(Verb::$verb),*],
        }),*];

        pub(super) async fn call<A: Adapter>(check: &Check, stage: &Stage<A>) {
            match check.name {
                // Boxed: one future for all of them would be as large as the largest.
                $(stringify!($name) => Box::pin($room::$name(stage)).await,)*
                other => panic!("no check is called `{other}`"),
            }
        }
    };
}

checks! {
    said::a_stream_names_the_whole_set_and_then_says_synced();
    said::every_stream_sees_all_that_is_there();
    said::a_stream_follows_what_comes_and_goes();
    said::a_stream_that_is_dropped_leaves_nothing_running();
    said::without_clusters_synced_is_said_all_the_same();
    said::a_description_written_again_says_the_same(Touch);
    said::what_cannot_be_used_is_said_and_others_are_named(AddSpoilt);
    said::what_is_spoilt_is_said_and_not_removed(Spoil);
    objects::objects_that_were_there_before_are_reconciled();
    objects::new_objects_are_reconciled();
    objects::changed_objects_are_reconciled_again();
    objects::an_index_finds_the_objects_of_one_cluster();
    objects::an_index_finds_the_objects_of_all_clusters();
    objects::a_cluster_of_many_objects_does_not_starve_another();
    objects::a_controller_that_comes_late_sees_the_clusters_that_are_there();
    objects::a_merged_provider_under_a_prefix_works_the_same();
    coming::all_clusters_are_engaged();
    coming::a_fleet_may_begin_empty();
    coming::a_cluster_that_is_added_is_engaged_and_one_that_is_removed_leaves();
    coming::a_cluster_that_leaves_ends_its_watches_and_its_queue();
    coming::what_describes_no_cluster_is_left_alone(Noise);
    coming::a_cluster_whose_description_is_no_longer_one_leaves(Unselect);
    coming::a_cluster_whose_description_is_being_deleted_leaves(Leave);
    coming::a_cluster_that_is_not_ready_waits_and_leaves(Unready);
    coming::another_cluster_by_the_same_name_is_another_life(Recreate);
    coming::a_program_that_is_started_again_finds_the_same_clusters();
    coming::many_changes_at_once_come_to_the_right_end();
    change::a_change_that_does_not_matter_changes_nothing(Touch);
    change::a_description_that_leads_elsewhere_is_another_life_of_the_name(PointElsewhere);
    change::other_credentials_go_on_with_the_same_life(Rotate);
    change::credentials_that_are_refused_stop_one_cluster_until_there_are_others(Rotate);
    change::an_unreadable_description_keeps_the_last_good(Spoil);
    trouble::a_cluster_that_never_answers_delays_no_other(AddSilent);
    trouble::a_new_cluster_that_cannot_be_used_hurts_no_other(AddSpoilt);
    trouble::a_host_that_does_not_answer_ends_no_cluster();
    replicas::replicas_share_the_clusters_and_each_is_worked_on_by_one();
    replicas::a_replica_that_ends_hands_over_and_nothing_is_reconciled_by_two();
    naming::a_second_claim_of_a_name_waits_and_is_said(Claim);
    naming::uncommon_names_work(OddNames);
}
