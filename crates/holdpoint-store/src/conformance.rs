//! What every store must do, as checks that every store runs.
//!
//! Each rule is a function that takes a fresh, empty store and says what is wrong, if anything is. In the tests of a
//! store, [`store_conformance_tests!`](crate::store_conformance_tests) makes one test per rule; [`check_all`] runs them
//! in a loop.
//!
//! ```
//! use std::sync::Arc;
//! use holdpoint_store::{MemoryStore, Store, conformance};
//!
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! let made = conformance::check_all(async || Arc::new(MemoryStore::new()) as Arc<dyn Store>).await;
//! assert_eq!(made, Ok(()));
//! # });
//! ```

mod commits;
mod finding;
mod reading;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use holdpoint_core::{Revision, RunId, Status, Timestamp};

use crate::{HeadUpdate, Store, Transition};

pub use commits::{
    a_commit_at_zero_creates_the_run, a_commit_on_an_unknown_run_is_stale, a_refused_transition_writes_nothing,
    a_stale_commit_changes_nothing, of_racing_commits_exactly_one_wins, of_racing_creations_exactly_one_wins,
    readers_see_whole_transitions_only,
};
pub use finding::{
    a_cursor_of_nobody_is_refused, deadlines_that_passed_are_due, lists_are_filtered, lists_come_in_pages,
    lists_have_the_newest_first,
};
pub use reading::{
    a_head_is_what_the_last_commit_said, an_unknown_run_is_not_found, loading_goes_on_after_what_is_known,
    records_come_back_as_they_went_in, records_keep_their_moments, the_clock_never_goes_back,
};
pub use waiting::{
    everybody_who_waits_is_woken, waiting_ends_at_the_next_commit, waiting_for_the_past_is_over_at_once,
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
            a_cursor_of_nobody_is_refused,
            deadlines_that_passed_are_due,
            lists_are_filtered,
            lists_come_in_pages,
            lists_have_the_newest_first,
            a_head_is_what_the_last_commit_said,
            an_unknown_run_is_not_found,
            loading_goes_on_after_what_is_known,
            records_come_back_as_they_went_in,
            records_keep_their_moments,
            the_clock_never_goes_back,
            everybody_who_waits_is_woken,
            waiting_ends_at_the_next_commit,
            waiting_for_the_past_is_over_at_once,
        }
    };
}

/// Makes one test per rule. The expression makes a fresh, empty `Arc<dyn Store>` and may await. The tests need `tokio`
/// with `macros` and `rt-multi-thread`.
///
/// ```
/// # use std::sync::Arc;
/// # use holdpoint_store::{MemoryStore, Store};
/// mod conformance {
///     use super::*;
///     holdpoint_store::store_conformance_tests!(Arc::new(MemoryStore::new()) as Arc<dyn Store>);
/// }
/// ```
#[macro_export]
macro_rules! store_conformance_tests {
    (@each ($make:expr) $($rule:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                let store = $make;
                if let Err(problem) = $crate::conformance::$rule(store).await {
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
pub async fn check_all(make: impl AsyncFn() -> Arc<dyn Store>) -> Checked {
    crate::with_store_rules! { check_each, (make) }
    Ok(())
}

/// How long something that must happen may take. Only a broken store lets it pass.
const PATIENCE: Duration = Duration::from_secs(20);

/// A moment that the rules count from. Durable moments come from the store's clock; the rules need known ones.
const START: Timestamp = Timestamp(1_700_000_000_000_000);

/// A transition with these records.
fn step(records: &[&[u8]]) -> Transition {
    step_at(records, START)
}

fn step_at(records: &[&[u8]], at: Timestamp) -> Transition {
    let records = records.iter().map(|record| record.to_vec()).collect();
    Transition { records, head: HeadUpdate::new(Status::Running), at }
}

/// Creates a run with one record and this head.
async fn create(store: &Arc<dyn Store>, run: &RunId, head: HeadUpdate) -> Checked {
    let transition = Transition { records: vec![b"first".to_vec()], head, at: START };
    let made = store.commit(run, Revision(0), transition).await;
    expect(matches!(made, Ok(Revision(1))), || format!("creating `{run}` gave {made:?}, not revision 1"))
}

/// Appends one record at this revision.
async fn append(store: &Arc<dyn Store>, run: &RunId, at: Revision) -> Checked {
    let made = store.commit(run, at, step(&[b"next"])).await;
    expect(made.is_ok(), || format!("a commit at revision {at} gave {made:?}"))
}

fn expect(holds: bool, problem: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(problem()) }
}

/// Nothing else must go wrong while a rule is checked.
fn must<T, E: std::fmt::Display>(doing: &str, result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("{doing} failed: {error}"))
}
