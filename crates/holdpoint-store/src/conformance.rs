//! What every store must do, as checks that every store runs.
//!
//! Each rule is a function that takes a [`Fixture`] with a fresh, empty store and says what is wrong, if anything is. In
//! the tests of a store, [`store_conformance_tests!`](crate::store_conformance_tests) makes one test per rule;
//! [`check_all`] runs them in a loop.
//!
//! ```
//! use std::sync::Arc;
//! use holdpoint_store::{ManualClock, MemoryStore, conformance};
//!
//! async fn fixture() -> conformance::Fixture {
//!     let clock = Arc::new(ManualClock::default());
//!     conformance::Fixture::new(Arc::new(MemoryStore::with_clock(clock.clone())), clock)
//! }
//!
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! assert_eq!(conformance::check_all(fixture).await, Ok(()));
//! # });
//! ```

mod asking;
mod belonging;
mod chains;
mod claims;
mod commits;
mod desk;
mod fences;
mod finding;
mod fixture;
mod granting;
mod guards;
mod lasting;
mod leasing;
mod pruning;
mod reading;
mod results;
mod scoping;
mod sealing;
mod serving;
pub mod tampering;
mod waiting;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use holdpoint_core::{Revision, RunId, Status, Timestamp};

use crate::{HeadUpdate, Store, Transition};

pub use asking::{
    a_pruned_run_leaves_no_questions, a_question_asked_again_begins_anew,
    a_question_is_asked_and_ends_with_its_transition, a_question_wakes_those_who_wait_for_questions,
    a_refused_transition_leaves_questions_alone, changes_of_questions_are_followed, no_change_of_questions_is_missed,
    pending_questions_come_by_deadline, questions_are_filtered,
};
pub use belonging::{
    a_run_goes_on_only_from_the_last_of_its_session, a_session_is_free_when_its_run_is_over,
    of_racing_runs_alone_in_a_session_one_is_created, sessions_are_listed_by_their_last_run,
};
pub use chains::{
    an_audit_log_that_nobody_changed_is_whole, audit_rows_are_chained, chains_are_right_under_load,
    the_audit_log_of_a_tenant_or_a_run_comes_alone, the_whole_audit_log_comes_in_pages,
};
pub use claims::{
    a_commit_says_who_holds_the_run, a_held_run_is_claimed_when_its_lease_lapsed, a_lease_that_is_not_held_is_lost,
    claims_are_of_some_agents_and_limited, of_racing_claims_each_run_goes_to_one, only_running_runs_are_claimed,
    only_the_holder_renews_a_lease, overlong_leases_are_named_and_ended,
};
pub use commits::{
    a_commit_at_zero_creates_the_run, a_commit_on_an_unknown_run_is_stale, a_refused_transition_writes_nothing,
    a_stale_commit_changes_nothing, of_racing_commits_exactly_one_wins, of_racing_creations_exactly_one_wins,
    readers_see_whole_transitions_only, the_same_commit_again_is_stale, two_writers_make_one_history,
};
pub use fences::{
    a_heartbeat_answers_each_lease_in_order, a_heartbeat_prolongs_the_lease, a_lapsed_lease_can_be_held_again,
    a_reopened_task_has_new_fences, a_task_given_back_unstarted_is_there_at_once,
    a_task_to_be_retried_comes_back_later, an_old_lease_changes_nothing, lapsed_leases_are_named,
};
pub use finding::{
    a_cursor_of_nobody_is_refused, deadlines_that_passed_are_due, lists_are_filtered, lists_come_in_pages,
    lists_have_the_newest_first, only_runs_of_the_agents_are_due,
};
pub use fixture::Fixture;
pub use granting::{
    a_grant_is_made_with_its_transition, grants_are_listed_in_pages, grants_match_tenant_tool_and_time,
    only_the_newest_grants_are_matched,
};
pub use guards::{
    a_heartbeat_or_a_result_beats_giving_back_a_lapsed_task, a_lost_lease_creates_no_run,
    a_lost_lease_leaves_the_hold_alone, a_lost_lease_undoes_the_whole_transition,
    a_stale_commit_leaves_the_queue_alone, a_task_opened_again_replaces_the_other, closing_asks_what_its_guard_says,
    each_guard_passes_its_own_states_only,
};
pub use lasting::{
    lists_are_whole_while_runs_are_added, tasks_of_different_calls_are_kept_apart, ten_thousand_runs_are_all_found,
    what_was_committed_is_there_after_reopening,
};
pub use leasing::{
    a_lease_ends_at_the_deadline_of_its_task, a_leased_task_is_not_leased_again, a_worker_gets_only_what_it_asked_for,
    an_opened_task_is_leased_as_it_was_opened, leases_are_never_more_or_longer_than_allowed,
    racing_workers_never_get_the_same_task, tasks_are_listed_in_pages, the_first_available_task_is_leased_first,
};
pub use pruning::{
    a_pruned_run_leaves_nothing_behind, nobody_waits_for_a_pruned_run, only_runs_that_are_over_are_pruned,
    pruning_is_by_age_and_tenant,
};
pub use reading::{
    a_head_is_what_the_last_commit_said, a_tail_starts_at_any_record, an_unknown_run_is_not_found,
    audit_rows_come_back_in_order, loading_goes_on_after_what_is_known, records_come_back_as_they_went_in,
    records_keep_their_moments, the_clock_never_goes_back,
};
pub use results::{
    a_task_with_a_result_is_not_leased_again, arrivals_are_of_paused_runs, closing_takes_the_result_away,
    delivering_twice_is_delivering_once, results_wait_in_the_order_of_their_arrival,
};
pub use scoping::{a_run_stays_with_its_first_tenant, what_is_outside_a_scope_is_not_there};
pub use sealing::{
    a_pruned_run_leaves_a_tombstone, many_runs_take_many_seals, racing_seals_follow_each_other, seals_chain_what_moved,
    tenants_are_named, traces_tell_what_became_of_sealed_runs, what_is_to_be_sealed_is_named,
};
pub use serving::{
    a_response_is_kept_for_those_who_ask_again, a_setting_stays_as_it_was_first, a_tally_counts_what_is_there,
    of_racing_reservations_one_is_new, responses_have_their_time, workers_are_listed_with_their_leases,
};
pub use waiting::{
    everybody_who_waits_is_woken, waiting_ends_at_the_next_commit, waiting_for_the_past_is_over_at_once,
};
pub use watching::{
    a_free_run_wakes_those_who_wait_for_runs, a_result_wakes_those_who_wait_for_runs,
    a_task_wakes_those_who_wait_for_tasks,
};

/// What a rule found: nothing, or a sentence.
pub type Checked = Result<(), String>;

/// Calls a macro with the name of every rule.
#[doc(hidden)]
#[macro_export]
macro_rules! with_store_rules {
    ($with:path, $($first:tt)*) => {
        $with! {
            $($first)*
            a_commit_at_zero_creates_the_run,
            a_commit_on_an_unknown_run_is_stale,
            a_refused_transition_writes_nothing,
            a_stale_commit_changes_nothing,
            of_racing_commits_exactly_one_wins,
            of_racing_creations_exactly_one_wins,
            readers_see_whole_transitions_only,
            the_same_commit_again_is_stale,
            two_writers_make_one_history,
            a_cursor_of_nobody_is_refused,
            deadlines_that_passed_are_due,
            lists_are_filtered,
            lists_come_in_pages,
            lists_have_the_newest_first,
            only_runs_of_the_agents_are_due,
            a_head_is_what_the_last_commit_said,
            a_tail_starts_at_any_record,
            an_unknown_run_is_not_found,
            audit_rows_come_back_in_order,
            loading_goes_on_after_what_is_known,
            records_come_back_as_they_went_in,
            records_keep_their_moments,
            the_clock_never_goes_back,
            everybody_who_waits_is_woken,
            waiting_ends_at_the_next_commit,
            waiting_for_the_past_is_over_at_once,
            a_lost_lease_creates_no_run,
            a_lost_lease_leaves_the_hold_alone,
            a_lost_lease_undoes_the_whole_transition,
            a_stale_commit_leaves_the_queue_alone,
            a_task_opened_again_replaces_the_other,
            closing_asks_what_its_guard_says,
            each_guard_passes_its_own_states_only,
            a_heartbeat_or_a_result_beats_giving_back_a_lapsed_task,
            a_lease_ends_at_the_deadline_of_its_task,
            a_leased_task_is_not_leased_again,
            a_worker_gets_only_what_it_asked_for,
            an_opened_task_is_leased_as_it_was_opened,
            leases_are_never_more_or_longer_than_allowed,
            racing_workers_never_get_the_same_task,
            tasks_are_listed_in_pages,
            the_first_available_task_is_leased_first,
            a_heartbeat_answers_each_lease_in_order,
            a_heartbeat_prolongs_the_lease,
            a_lapsed_lease_can_be_held_again,
            a_reopened_task_has_new_fences,
            a_task_given_back_unstarted_is_there_at_once,
            a_task_to_be_retried_comes_back_later,
            an_old_lease_changes_nothing,
            lapsed_leases_are_named,
            a_task_with_a_result_is_not_leased_again,
            arrivals_are_of_paused_runs,
            closing_takes_the_result_away,
            delivering_twice_is_delivering_once,
            results_wait_in_the_order_of_their_arrival,
            a_commit_says_who_holds_the_run,
            a_held_run_is_claimed_when_its_lease_lapsed,
            claims_are_of_some_agents_and_limited,
            of_racing_claims_each_run_goes_to_one,
            only_running_runs_are_claimed,
            a_lease_that_is_not_held_is_lost,
            overlong_leases_are_named_and_ended,
            only_the_holder_renews_a_lease,
            a_free_run_wakes_those_who_wait_for_runs,
            a_result_wakes_those_who_wait_for_runs,
            a_task_wakes_those_who_wait_for_tasks,
            a_pruned_run_leaves_nothing_behind,
            nobody_waits_for_a_pruned_run,
            only_runs_that_are_over_are_pruned,
            pruning_is_by_age_and_tenant,
            lists_are_whole_while_runs_are_added,
            tasks_of_different_calls_are_kept_apart,
            ten_thousand_runs_are_all_found,
            what_was_committed_is_there_after_reopening,
            an_audit_log_that_nobody_changed_is_whole,
            audit_rows_are_chained,
            chains_are_right_under_load,
            the_audit_log_of_a_tenant_or_a_run_comes_alone,
            the_whole_audit_log_comes_in_pages,
            a_pruned_run_leaves_a_tombstone,
            many_runs_take_many_seals,
            racing_seals_follow_each_other,
            seals_chain_what_moved,
            tenants_are_named,
            traces_tell_what_became_of_sealed_runs,
            what_is_to_be_sealed_is_named,
            a_grant_is_made_with_its_transition,
            grants_are_listed_in_pages,
            grants_match_tenant_tool_and_time,
            only_the_newest_grants_are_matched,
            a_pruned_run_leaves_no_questions,
            a_question_asked_again_begins_anew,
            a_question_is_asked_and_ends_with_its_transition,
            a_question_wakes_those_who_wait_for_questions,
            a_refused_transition_leaves_questions_alone,
            changes_of_questions_are_followed,
            no_change_of_questions_is_missed,
            pending_questions_come_by_deadline,
            questions_are_filtered,
            what_is_outside_a_scope_is_not_there,
            a_run_stays_with_its_first_tenant,
            a_run_goes_on_only_from_the_last_of_its_session,
            a_session_is_free_when_its_run_is_over,
            of_racing_runs_alone_in_a_session_one_is_created,
            sessions_are_listed_by_their_last_run,
            a_response_is_kept_for_those_who_ask_again,
            a_setting_stays_as_it_was_first,
            a_tally_counts_what_is_there,
            of_racing_reservations_one_is_new,
            responses_have_their_time,
            workers_are_listed_with_their_leases,
        }
    };
}

/// Makes one test per rule. The expression makes a [`Fixture`](crate::conformance::Fixture) with a fresh, empty store, is
/// evaluated once per test, and may await. The tests need `tokio` with `macros` and `rt-multi-thread`.
///
/// The store must go by the clock of the fixture: the rules move it to let leases lapse. A durable store says how it is
/// opened again; what must outlive the store, such as a temporary folder or a scratch database, goes to `keeping`.
///
/// ```
/// # use std::sync::Arc;
/// # use holdpoint_store::{ManualClock, MemoryStore, Store};
/// # type Folder = (); type Durable = MemoryStore;
/// # async fn open(_: &Folder, clock: &Arc<ManualClock>) -> Store { Durable::with_clock(clock.clone()).into() }
/// mod conformance {
///     # use super::*;
///     use holdpoint_store::conformance::Fixture;
///
///     async fn fixture() -> Fixture {
///         let (folder, clock) = (Arc::new(Folder::default()), Arc::new(ManualClock::default()));
///         let store = open(&folder, &clock).await;
///         let (again, by) = (folder.clone(), clock.clone());
///         Fixture::new(store, clock)
///             .reopening(move || {
///                 let (folder, clock) = (again.clone(), by.clone());
///                 async move { open(&folder, &clock).await }
///             })
///             .keeping(folder)
///     }
///
///     holdpoint_store::store_conformance_tests!(fixture().await);
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! store_conformance_tests {
    (@each ($make:expr) $($rule:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                let fixture: $crate::conformance::Fixture = $make;
                if let Err(problem) = $crate::conformance::$rule(fixture).await {
                    panic!("{problem}");
                }
            }
        )*
    };
    ($make:expr) => {
        $crate::with_store_rules! { $crate::store_conformance_tests, @each ($make) }
    };
}

macro_rules! check_each {
    (($make:ident) $($rule:ident,)*) => {
        $($rule($make().await).await.map_err(|problem| format!("{}: {problem}", stringify!($rule)))?;)*
    };
}

/// Runs every rule, each on a store of its own. Stops at the first that is broken and names it.
pub async fn check_all(make: impl AsyncFn() -> Fixture) -> Checked {
    crate::with_store_rules! { check_each, (make) }
    Ok(())
}

/// How long something that must happen may take. Only a broken store lets it pass.
const PATIENCE: Duration = Duration::from_secs(20);

/// A moment that the rules count from. Durable moments come from the store's clock; the rules need known ones.
const START: Timestamp = Timestamp(1_700_000_000_000_000);

/// A revision.
fn at(revision: u64) -> Revision {
    Revision(revision)
}

/// The agents without a name.
fn nameless() -> [Arc<str>; 1] {
    ["".into()]
}

/// A transition with these records.
fn step(records: &[&[u8]]) -> Transition {
    step_at(records, START)
}

fn step_at(records: &[&[u8]], at: Timestamp) -> Transition {
    let records = records.iter().map(|record| record.to_vec()).collect();
    Transition::new(records, HeadUpdate::new(Status::Running), at)
}

/// Creates a run with one record and this head.
async fn create(store: &Store, run: &RunId, head: HeadUpdate) -> Checked {
    let transition = Transition::new(vec![b"first".to_vec()], head, START);
    let made = store.runs.commit(run, Revision(0), transition).await;
    expect(matches!(made, Ok(Revision(1))), || format!("creating `{run}` gave {made:?}, not revision 1"))
}

/// Appends one record at this revision.
async fn append(store: &Store, run: &RunId, at: Revision) -> Checked {
    let made = store.runs.commit(run, at, step(&[b"next"])).await;
    expect(made.is_ok(), || format!("a commit at revision {at} gave {made:?}"))
}

fn expect(holds: bool, problem: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(problem()) }
}

/// Nothing else must go wrong while a rule is checked.
fn must<T, E: std::fmt::Display>(doing: &str, result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("{doing} failed: {error}"))
}
