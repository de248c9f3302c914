//! Policy is asked again when a call goes from ready to running.

use crate::support::{Stage, check};

#[test]
fn a_new_denial_counts() {
    check(
        "model asks: a(confirm), b
         ana allows a
         a begins (deny)
         b -> two
         ? records
         ? messages",
        "call model
         pause p1 for people: a
         execute a b
         start b
         call model: a=denied b=two
         1.a=denied:policy_revoked 1.b=succeeded/tool
         user(go) assistant(a b) tool(a: Denied: the policy says no. The permission was withdrawn before the call ran. Do not repeat this call.) tool(b: two)",
    );
}

#[test]
fn a_call_that_nobody_was_asked_about_is_asked_about_when_policy_wants_that_by_now() {
    check(
        "model asks: a
         a begins (confirm by=finance)
         ana allows a
         ana[finance] allows a
         a -> ok",
        "call model
         execute a
         pause p1 for people: a
         rejected not_an_approver: a
         execute a
         start a
         call model: a=ok",
    );
}

#[test]
fn terms_that_are_stricter_than_those_that_were_met_ask_again() {
    for stricter in ["confirm by=board", "confirm by=finance quorum=2", "confirm by=finance four_eyes"] {
        check(
            &format!(
                "given requester zoe
                 model asks: a(confirm by=finance)
                 ana[finance] allows a
                 a begins ({stricter})
                 batch ana[finance+board] allows a seen q1
                 ana[finance+board] allows a"
            ),
            &format!(
                "call model
                 pause p1 for people: a
                 execute a
                 pause p2 after p1 for people: a{}
                 rejected digest_mismatch: a
                 {}",
                if stricter.contains("quorum") { "(0/2)" } else { "" },
                if stricter.contains("quorum") { "pause p3 after p2 for people: a(1/2)" } else { "execute a" },
            ),
        );
    }
}

#[test]
fn terms_that_were_met_do_not_ask_again() {
    for met in ["allow", "confirm", "confirm by=finance", "confirm by=finance+board", "confirm by=finance within=5"] {
        check(
            &format!(
                "given requester zoe
                 model asks: a(confirm by=finance quorum=2 four_eyes)
                 ana[finance] allows a
                 ben[finance] allows a
                 a begins ({met})"
            ),
            "call model
             pause p1 for people: a(0/2)
             pause p2 after p1 for people: a(1/2)
             execute a
             start a",
        );
    }
}

#[test]
fn policy_is_asked_when_an_answer_arrives() {
    check(
        "model asks: a(confirm), b(confirm), c(confirm)
         partly ana allows a (deny)
         partly ana allows b (confirm by=board)
         partly ana allows b seen q1
         partly ana allows c (confirm)
         cid[board] allows b (confirm by=board)
         ? records",
        "call model
         pause p1 for people: a b c
         pause p2 after p1 for people: b c
         pause p3 after p2 for people: b c
         rejected not_an_approver: b
         pause p4 after p3 for people: b
         execute b c
         1.a=denied:policy_revoked 1.b=pending 1.c=pending",
    );
}

#[test]
fn an_answer_under_terms_that_are_stricter_by_now_is_recorded_and_not_counted() {
    check(
        "model asks: a(confirm)
         ana allows a (confirm quorum=2)
         batch ana allows a seen q1
         ana allows a (confirm quorum=2)
         ben allows a (confirm quorum=2)
         ? events",
        "call model
         pause p1 for people: a
         pause p2 after p1 for people: a(0/2)
         rejected digest_mismatch: a
         pause p3 after p2 for people: a(1/2)
         execute a
         run_started turn_started message_completed call_decided turn_ended authorization_required paused done resumed call_answered turn_ended authorization_required paused done resumed call_answered turn_ended authorization_required paused done resumed call_answered",
    );
}

#[test]
fn a_grant_does_not_come_of_an_answer_that_does_not_count() {
    for policy in ["deny", "confirm quorum=2"] {
        let mut stage = Stage::new();
        stage.play("model asks: a(confirm)");
        stage.play(&format!("ana allows a ({policy}) remembering any"));
        assert!(stage.grants.is_empty(), "{policy}");
    }
}

#[test]
fn the_denial_is_recorded_before_anything_follows_from_it() {
    check(
        "model asks: a
         a begins (deny)
         ? events",
        "call model
         execute a
         call model: a=denied
         run_started turn_started message_completed call_decided call_decided turn_ended turn_started",
    );
}

#[test]
fn recovery_uses_the_record_and_does_not_ask_again() {
    check(
        "model asks: a(safe)
         a begins
         crash
         a begins (deny)",
        "call model
         execute a
         start a
         execute a
         start a#2",
    );
}

#[test]
fn a_call_that_a_person_lets_run_again_is_asked_about_again() {
    check(
        "model asks: a
         a begins
         crash
         ana allows a
         a begins (deny)",
        "call model
         execute a
         start a
         pause p1 for people: a?
         execute a
         call model: a=denied",
    );
}

#[test]
fn an_approved_call_that_was_revoked_keeps_its_approval() {
    check(
        "given siblings run
         model asks: a(confirm)
         ana allows a
         a begins (deny)",
        "call model
         pause p1 for people: a
         execute a
         call model: a=denied",
    );
}

#[test]
fn without_a_recheck_the_first_decision_stays() {
    let mut stage = Stage::new();
    stage.play("given recheck off");
    stage.play("model asks: a");
    stage.play("a begins (deny)");
    assert_eq!(stage.transcript().last().unwrap(), "start a");
}
