//! What every resume must get right: the run, the continuation, the kind of pause.

use crate::support::check;

#[test]
fn a_continuation_works_once() {
    check(
        "model asks: a(confirm)
         from=p1 ana allows a
         from=p1 ana allows a",
        "call model
         pause p1 for people: a
         execute a
         rejected stale_continuation: waits for nothing",
    );
}

#[test]
fn a_used_continuation_names_the_one_that_followed() {
    check(
        "model asks: a(confirm), b(confirm)
         partly ana allows a
         from=p1 ana allows b
         partly from=p1 ana waits",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         rejected stale_continuation: now p2
         rejected stale_continuation: now p2",
    );
}

#[test]
fn a_used_continuation_stays_used_after_the_end() {
    check(
        "model asks: a(confirm)
         ana denies a
         model says done
         from=p1 ana allows a
         from=p1 results: a=x",
        "call model
         pause p1 for people: a
         call model: a=refused
         finish end_turn: done
         rejected stale_continuation: waits for nothing
         rejected stale_continuation: waits for nothing",
    );
}

#[test]
fn the_wrong_kind_of_resume_names_both_kinds() {
    check(
        "model asks: a(confirm)
         results: a=ok
         batch results: a=ok
         ana denies a
         model asks: b(defer)
         ana allows b
         batch ana allows b",
        "call model
         pause p1 for people: a
         rejected wrong_pause: waits for people, not results
         rejected wrong_pause: waits for people, not results
         call model: a=refused
         execute b
         pause p2 after p1 for results: b
         rejected wrong_pause: waits for results, not people
         rejected wrong_pause: waits for results, not people",
    );
}

#[test]
fn a_continuation_that_never_was_is_not_found() {
    check(
        "model asks: a(confirm)
         from=p2 ana allows a
         from=p0 ana allows a
         run=other ana allows a
         run=other results: a=x
         batch=2 ana allows a
         batch=0 ana allows a",
        "call model
         pause p1 for people: a
         rejected continuation_not_found
         rejected continuation_not_found
         rejected continuation_not_found
         rejected continuation_not_found
         rejected continuation_not_found
         rejected continuation_not_found",
    );
}

#[test]
fn a_run_that_never_paused_has_no_continuation() {
    check(
        "from=p1 ana allows a
         batch=1 ana allows a",
        "call model
         rejected continuation_not_found
         rejected stale_continuation: waits for nothing",
    );
}

#[test]
fn the_batch_of_an_earlier_turn_is_stale() {
    check(
        "model asks: a(confirm)
         ana denies a
         model asks: a(confirm)
         batch=1 ana allows a",
        "call model
         pause p1 for people: a
         call model: a=refused
         pause p2 after p1 for people: a
         rejected stale_continuation: now p2",
    );
}

#[test]
fn a_pause_in_a_later_turn_still_names_the_one_it_came_from() {
    check(
        "model asks: a(confirm)
         ana denies a
         model asks: b(deny)
         model asks: c(confirm)
         ana denies c
         model asks: d(defer)",
        "call model
         pause p1 for people: a
         call model: a=refused
         call model: b=denied
         pause p2 after p1 for people: c
         call model: c=refused
         execute d
         pause p3 after p2 for results: d",
    );
}

#[test]
fn the_first_pause_has_no_parent() {
    check(
        "model asks: a(deny)
         model asks: b(confirm)",
        "call model
         call model: a=denied
         pause p1 for people: b",
    );
}

#[test]
fn a_turn_may_pause_for_people_and_then_for_results() {
    check(
        "model asks: a(confirm defer)
         ana allows a
         results: a=ok",
        "call model
         pause p1 for people: a
         execute a
         pause p2 after p1 for results: a
         call model: a=ok",
    );
}

#[test]
fn a_resume_after_a_cancellation_is_told_so() {
    check(
        "model asks: a(confirm)
         cancel
         from=p1 ana allows a
         batch ana allows a
         from=p1 results: a=ok
         run=other ana allows a",
        "call model
         pause p1 for people: a
         finish cancelled
         rejected run_cancelled
         rejected run_cancelled
         rejected run_cancelled
         rejected continuation_not_found",
    );
}
