//! What rules about the history of a run look at: the calls that were let through.

use crate::support::check;

#[test]
fn calls_of_earlier_turns_are_there_with_what_ran_in_order() {
    check(
        "? earlier
         model asks: a(args=1), b(args=2)
         ? earlier
         a -> ok
         b -> error: boom
         ? earlier
         model asks: a(args=3)
         ? earlier
         a -> ok
         ? earlier",
        "call model
         none
         execute a b
         none
         start a
         start b
         call model: a=ok b=failed:tool_error
         a(1) b(2)
         execute a
         a(1) b(2)
         start a
         call model: a=ok
         a(1) b(2) a(3)",
    );
}

#[test]
fn an_edited_call_is_there_with_what_ran() {
    check(
        "model asks: a(confirm args=1), b(confirm args=2)
         ana edits a to 9; allows b
         a -> ok
         b -> ok
         ? earlier
         model asks: a(args=3)
         a -> ok
         ? earlier",
        "call model
         pause p1 for people: a b
         execute a b
         start a
         start b
         call model: a=ok b=ok
         a(9) b(2)
         execute a
         start a
         call model: a=ok
         a(9) b(2) a(3)",
    );
}

#[test]
fn what_was_denied_refused_expired_ignored_or_not_understood_is_not_there() {
    check(
        "given max_calls 7
         model asks: denied(deny), refused(confirm), expired(confirm within=10), edited(confirm), bad(bad), none(unknown), \
         ran, above
         at 10
         partly ana denies refused; edits edited to 9 (deny)
         ran -> ok
         ? records
         ? earlier",
        "call model
         pause p1 for people: refused expired edited
         execute ran
         start ran
         call model: denied=denied refused=refused expired=expired edited=denied bad=failed:invalid_arguments \
         none=failed:tool_not_found ran=ok
         1.denied=denied:denied 1.refused=refused:refused 1.expired=expired:expired 1.edited=denied:denied \
         1.bad=failed:invalid_arguments 1.none=failed:tool_not_found 1.ran=succeeded/tool 1.above=ignored
         ran(0)",
    );
}

#[test]
fn what_policy_revoked_before_it_ran_is_not_there() {
    check(
        "model asks: a
         a begins (deny)
         ? earlier",
        "call model
         execute a
         call model: a=denied
         none",
    );
}

#[test]
fn what_a_hook_gave_counts_and_what_a_person_gave_in_the_tools_place_does_not() {
    check(
        "model asks: a(confirm), b
         ana answers a with x
         b cached -> y
         ? earlier",
        "call model
         pause p1 for people: a
         execute b
         call model: a=x b=y
         b(0)",
    );
}

#[test]
fn what_may_have_run_counts() {
    check(
        "model asks: a, b(defer)
         a begins
         crash
         partly ana denies a
         worker w1 returns b=ok
         ? records
         ? earlier",
        "call model
         execute a b
         start a
         pause p1 for people: a?
         pause p2 after p1 for results: b
         call model: a=refused b=ok
         1.a=refused:refused 1.b=succeeded/external
         a(0) b(0)",
    );
}

#[test]
fn the_history_that_a_run_starts_from_is_not_its_own() {
    check(
        "given history user go, assistant fine, user again
         model asks: a(args=1)
         a -> ok
         ? earlier",
        "call model
         execute a
         start a
         call model: a=ok
         a(1)",
    );
}

#[test]
fn turns_without_calls_and_failures_in_between_do_not_shift_it() {
    check(
        "model fails
         retry
         model asks: a(args=1)
         a -> ok
         model replies nothing at all
         retry
         model says nothing
         model asks: b(args=2)
         b -> ok
         ? earlier",
        "call model
         fail provider_error
         call model
         execute a
         start a
         call model: a=ok
         fail error
         call model
         call model without tools: user says Please provide your final answer.
         execute b
         start b
         call model without tools: b=ok
         a(1) b(2)",
    );
}

#[test]
fn it_is_the_same_in_another_store() {
    check(
        "model asks: a(confirm args=1)
         ana edits a to 9
         a -> ok
         model asks: b(confirm)
         ? earlier
         move
         ? earlier",
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=ok
         pause p2 after p1 for people: b
         a(9)
         pause p2 after p1 for people: b
         a(9)",
    );
}

#[test]
fn siblings_before_a_call_count_as_long_as_they_may_still_run() {
    check(
        "model asks: a(args=1), b(confirm args=2), c(deny args=3), d(args=4), e(bad)
         ? siblings of a
         ? siblings of d
         ana denies b
         ? siblings of d",
        "call model
         pause p1 for people: b
         none
         a(1) b(2)
         execute a d
         a(1)",
    );
}

#[test]
fn siblings_after_a_call_count_once_they_were_let_through() {
    check(
        "given siblings run
         model asks: a(confirm args=1), b(args=2), c(args=3 defer), d(args=4)
         ? siblings of a
         b begins
         ? siblings of a
         b -> ok
         ? siblings of a",
        "call model
         execute b c d
         c(3)
         start b
         b(2) c(3)
         b(2) c(3)",
    );
}

#[test]
fn a_sibling_in_doubt_counts_with_what_was_edited() {
    check(
        "given siblings run
         model asks: a(confirm args=1), b(confirm args=2)
         ana edits b to 7; allows a
         b begins
         crash
         ? siblings of a",
        "call model
         pause p1 for people: a b
         execute a b
         start b
         pause p2 after p1 for people: b?
         b(7)",
    );
}
