//! What a person said about calls that are yet to come: it counts where their answer would, and for no more.

use crate::support::{Stage, check};

/// The first turn of most of these: ana approves `a(5)` and says more.
fn after(remembering: &str, script: &str, expected: &str) {
    let script = format!(
        "model asks: a(confirm args=5 definition=v1)
         ana[finance] allows a remembering {remembering}
         a -> ok
         {script}"
    );
    let expected = format!(
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=ok
         {expected}"
    );
    check(&script, &expected);
}

#[test]
fn a_grant_counts_as_its_givers_answer() {
    after(
        "these",
        "model asks: a(confirm args=5 definition=v1)
         ? approvals
         ? events",
        "execute a
         a:ana
         run_started turn_started message_completed call_decided turn_ended authorization_required paused done \
         resumed call_answered grant_given tool_started tool_ended turn_ended turn_started message_completed call_decided \
         grant_used",
    );
}

#[test]
fn a_grant_for_these_arguments_says_nothing_about_others() {
    after("these", "model asks: a(confirm args=6 definition=v1)", "pause p2 after p1 for people: a");
}

#[test]
fn a_grant_for_any_arguments_covers_others() {
    after("any", "model asks: a(confirm args=6 definition=v1)", "execute a");
}

#[test]
fn a_grant_says_nothing_about_other_tools() {
    after("any", "model asks: b(confirm args=5 definition=v1)", "pause p2 after p1 for people: b");
}

#[test]
fn a_grant_counts_for_each_call_of_a_turn_that_it_covers() {
    after(
        "these",
        "model asks: one(confirm tool=a args=5 definition=v1), two(confirm tool=a args=6 definition=v1), \
         three(confirm tool=a args=5 definition=v1)",
        "pause p2 after p1 for people: two",
    );
}

#[test]
fn a_grant_for_a_run_ends_with_it() {
    after(
        "any in=run",
        "another run s
         model asks: a(confirm args=5 definition=v1)",
        "call model
         pause p1 for people: a",
    );
}

#[test]
fn a_grant_for_a_session_counts_in_its_runs_and_in_no_other() {
    check(
        "given session talk
         model asks: a(confirm)
         ana allows a remembering these in=session
         another run s
         given session talk
         model asks: a(confirm)
         another run t
         given session other
         model asks: a(confirm)
         another run u
         model asks: a(confirm)",
        "call model
         pause p1 for people: a
         execute a
         call model
         execute a
         call model
         pause p1 for people: a
         call model
         pause p1 for people: a",
    );
}

#[test]
fn a_grant_for_a_tenant_counts_in_all_its_runs_and_in_no_other() {
    check(
        "given requester zoe/acme
         model asks: a(confirm)
         ana allows a remembering these in=tenant
         another run s
         given requester yan/acme
         model asks: a(confirm)
         another run t
         given requester zoe/other
         model asks: a(confirm)
         another run u
         given requester zoe
         model asks: a(confirm)",
        "call model
         pause p1 for people: a
         execute a
         call model
         execute a
         call model
         pause p1 for people: a
         call model
         pause p1 for people: a",
    );
}

#[test]
fn a_grant_counts_until_its_time_and_not_at_it() {
    after(
        "these until=100",
        "at 99
         model asks: a(confirm args=5 definition=v1)
         a -> ok
         at 100
         model asks: a(confirm args=5 definition=v1)",
        "execute a
         start a
         call model: a=ok
         pause p2 after p1 for people: a",
    );
}

#[test]
fn a_grant_that_was_taken_back_counts_no_more() {
    check(
        "model asks: a(confirm), b(confirm)
         partly ana allows a remembering these
         cid revokes r.g1
         ana allows b
         a -> ok
         b -> ok
         model asks: a(confirm)
         ? events",
        "call model
         pause p1 for people: a b
         pause p2 after p1 for people: b
         pause p2 after p1 for people: b
         execute a b
         start a
         start b
         call model: a=ok b=ok
         pause p3 after p2 for people: a
         run_started turn_started message_completed call_decided call_decided turn_ended authorization_required paused \
         done resumed call_answered grant_given turn_ended authorization_required paused done grant_revoked \
         resumed call_answered tool_started tool_ended tool_started tool_ended turn_ended turn_started \
         message_completed call_decided turn_ended authorization_required paused done",
    );
}

#[test]
fn a_grant_can_be_taken_back_when_its_run_is_over() {
    check(
        "model asks: a(confirm)
         ana allows a remembering these in=tenant
         a -> ok
         model says bye
         cid revokes r.g1
         another run s
         model asks: a(confirm)",
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=ok
         finish end_turn: bye
         finish end_turn: bye
         call model
         pause p1 for people: a",
    );
}

#[test]
fn a_run_that_somebody_drives_is_not_told_of_a_grant_that_was_taken_back() {
    check(
        "model asks: a(confirm)
         ana allows a remembering these
         cid revokes r.g1",
        "call model
         pause p1 for people: a
         execute a
         rejected not_expected: grant_revoked",
    );
}

#[test]
fn a_grant_dies_with_the_schema_of_its_tool() {
    after("any", "model asks: a(confirm args=5 definition=v2)", "pause p2 after p1 for people: a");
    after("any", "model asks: a(confirm args=5)", "pause p2 after p1 for people: a");
}

#[test]
fn a_grant_does_not_count_where_its_giver_could_not_answer() {
    after("any", "model asks: a(confirm by=board args=5 definition=v1)", "pause p2 after p1 for people: a");
    after("any", "model asks: a(confirm by=board+finance args=5 definition=v1)", "execute a");
}

#[test]
fn a_grant_of_somebody_who_lost_the_role_is_one_of_somebody_who_never_had_it() {
    check(
        "model asks: a(confirm)
         ana allows a remembering any
         a -> ok
         model asks: a(confirm by=finance)
         ana[finance] allows a remembering any
         a -> ok
         model asks: a(confirm by=finance)",
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=ok
         pause p2 after p1 for people: a
         execute a
         start a
         call model: a=ok
         execute a",
    );
}

#[test]
fn a_grant_of_one_is_one_approval_of_a_quorum() {
    after(
        "any",
        "model asks: a(confirm quorum=2 args=5 definition=v1)
         ? approvals
         ana[finance] allows a
         ben allows a
         ? approvals",
        "pause p2 after p1 for people: a(1/2)
         a:ana
         nothing changes
         execute a
         a:ana+ben",
    );
}

#[test]
fn grants_of_several_people_make_a_quorum_and_those_of_one_do_not() {
    check(
        "model asks: a(confirm quorum=2)
         ana allows a remembering any
         ben allows a remembering any
         a -> ok
         model asks: a(confirm quorum=2)
         ? approvals
         a -> ok
         model asks: a(confirm)
         ? approvals
         a -> ok
         model asks: a(confirm quorum=3)",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         execute a
         start a
         call model: a=ok
         execute a
         a:ben+ana
         start a
         call model: a=ok
         execute a
         a:ben
         start a
         call model: a=ok
         pause p3 after p2 for people: a(2/3)",
    );
    after(
        "any",
        "model asks: a(confirm args=6 definition=v2)
         ana[finance] allows a remembering any
         a -> ok
         model asks: a(confirm quorum=2 args=6 definition=v2)",
        "pause p2 after p1 for people: a
         execute a
         start a
         call model: a=ok
         pause p3 after p2 for people: a(1/2)",
    );
}

#[test]
fn a_grant_of_nobody_in_particular_counts_like_their_answer() {
    check(
        "model asks: a(confirm)
         nobody allows a remembering any
         a -> ok
         model asks: a(confirm)
         a -> ok
         model asks: a(confirm four_eyes)",
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=ok
         execute a
         start a
         call model: a=ok
         pause p2 after p1 for people: a",
    );
}

#[test]
fn a_grant_never_beats_a_denial() {
    after("any", "model asks: a(deny args=5 definition=v1)", "call model: a=denied");
    after(
        "any",
        "model asks: a(confirm args=5 definition=v1)
         a begins (deny)",
        "execute a
         call model: a=denied",
    );
}

#[test]
fn a_grant_is_not_needed_where_policy_allows() {
    let mut stage = Stage::new();
    for line in ["model asks: a(confirm)", "ana allows a remembering any", "a -> ok", "model asks: a"] {
        stage.play(line);
    }
    let used = stage.log.iter().filter(|entry| entry.event.name() == "grant_used");
    assert_eq!(used.count(), 0);
}

#[test]
fn a_grant_never_answers_a_doubt() {
    after(
        "any",
        "model asks: a(confirm args=5 definition=v1)
         a begins
         crash
         ana[finance] allows a remembering any
         ana[finance] allows a",
        "execute a
         start a
         pause p2 after p1 for people: a?
         rejected invalid_decision: a
         execute a",
    );
}

#[test]
fn whoever_gave_a_grant_may_still_refuse_one_call_that_it_counts_for() {
    after(
        "any",
        "model asks: a(confirm quorum=2 args=5 definition=v1)
         ana[finance] denies a",
        "pause p2 after p1 for people: a(1/2)
         call model: a=refused",
    );
}
