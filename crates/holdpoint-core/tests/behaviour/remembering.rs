//! Which answers say something about calls that are yet to come, and what.

use crate::support::{Stage, check};

#[test]
fn only_an_approval_can_be_remembered() {
    check(
        "model asks: a(confirm)
         ana denies a because no remembering any
         ana answers a with x remembering any
         ana knows a gave x remembering any
         ana allows a",
        "call model
         pause p1 for people: a
         rejected invalid_decision: a
         rejected invalid_decision: a
         rejected invalid_decision: a
         execute a",
    );
}

#[test]
fn what_could_never_be_used_is_not_remembered() {
    check(
        "at 100
         model asks: a(confirm)
         ana allows a remembering any until=99
         ana allows a remembering any until=100
         ana allows a remembering any in=session
         ana allows a remembering any until=101",
        "call model
         pause p1 for people: a
         rejected invalid_decision: a
         rejected invalid_decision: a
         rejected invalid_decision: a
         execute a",
    );
}

#[test]
fn an_edit_that_is_remembered_covers_what_the_person_wrote() {
    check(
        "model asks: a(confirm args=5)
         ana edits a to 9 remembering these
         a -> ok
         model asks: a(confirm args=5)
         ana denies a
         model asks: a(confirm args=9)",
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=ok
         pause p2 after p1 for people: a
         call model: a=refused
         execute a",
    );
}

#[test]
fn an_edit_that_policy_denies_gives_nothing() {
    check(
        "model asks: a(confirm args=5)
         ana edits a to 9 (deny) remembering any
         model asks: a(confirm args=5)",
        "call model
         pause p1 for people: a
         call model: a=denied
         pause p2 after p1 for people: a",
    );
}

#[test]
fn an_edit_that_others_must_look_at_gives_nothing() {
    for other in ["confirm by=board", "confirm by=finance four_eyes"] {
        check(
            &format!(
                "model asks: a(confirm by=finance)
                 ana[finance] edits a to 9 ({other}) remembering any
                 cid[board+finance] allows a
                 a -> ok
                 model asks: a(confirm by=finance)"
            ),
            "call model
             pause p1 for people: a
             pause p2 after p1 for people: a
             execute a
             start a
             call model: a=ok
             pause p3 after p2 for people: a",
        );
    }
}

#[test]
fn an_edit_short_of_its_quorum_gives_what_its_writer_said() {
    check(
        "model asks: a(confirm)
         ana edits a to 9 (confirm quorum=2) remembering these
         ben allows a
         a -> ok
         model asks: a(confirm args=9)",
        "call model
         pause p1 for people: a
         pause p2 after p1 for people: a(1/2)
         execute a
         start a
         call model: a=ok
         execute a",
    );
}

#[test]
fn an_answer_that_is_rejected_gives_nothing() {
    let mut stage = Stage::new();
    stage.play("model asks: a(confirm by=finance args=5)");
    for line in [
        "ana allows a remembering any",
        "ana[finance] allows a seen 6 remembering any",
        "from=p9 ana[finance] allows a remembering any",
        "ana[finance] allows ghost remembering any",
    ] {
        stage.play(line);
    }
    assert!(stage.grants.is_empty());
    assert!(stage.log.iter().all(|entry| entry.event.name() != "grant_given"));
}

#[test]
fn an_answer_that_comes_again_gives_nothing_more() {
    check(
        "model asks: a(confirm quorum=2)
         ana allows a
         ana allows a remembering any
         ben allows a
         a -> ok
         model asks: a(confirm)",
        "call model
         pause p1 for people: a(0/2)
         pause p2 after p1 for people: a(1/2)
         nothing changes
         execute a
         start a
         call model: a=ok
         pause p3 after p2 for people: a",
    );
}

#[test]
fn an_answer_past_the_deadline_gives_nothing() {
    check(
        "model asks: a(confirm within=100)
         at 100
         ana allows a remembering any
         model asks: a(confirm)",
        "call model
         pause p1 for people: a
         call model: a=expired
         pause p2 after p1 for people: a",
    );
}

#[test]
fn each_grant_of_a_run_has_its_own_name_also_in_another_store() {
    let mut stage = Stage::new();
    for line in [
        "model asks: a(confirm), b(confirm), c(confirm)",
        "partly ana allows a remembering these; allows b remembering any",
        "move",
        "ana allows c remembering any in=tenant",
    ] {
        stage.play(line);
    }
    let names: Vec<&str> = stage.grants.iter().rev().map(|grant| grant.id.as_str()).collect();
    assert_eq!(names, ["r.g1", "r.g2", "r.g3"]);
    assert!(stage.grants.iter().all(|grant| grant.id.run().is_some_and(|run| run.as_str() == "r")));
}

#[test]
fn what_a_grant_is_tells_who_when_where_and_for_which_tool() {
    use holdpoint_core::{GrantScope, RunId, Timestamp};
    let mut stage = Stage::new();
    for line in [
        "given requester zoe/acme",
        "given session talk",
        "at 7",
        "model asks: a(confirm args=5 definition=v1), b(confirm args=6)",
        "ana[finance]/acme allows a remembering these until=90; allows b remembering any in=session",
    ] {
        stage.play(line);
    }
    let [b, a] = &stage.grants[..] else { panic!("two were given: {:?}", stage.grants) };
    assert_eq!((a.tool.as_str(), a.definition.as_deref(), a.digest.is_some()), ("a", Some("v1"), true));
    assert_eq!((b.tool.as_str(), b.definition.as_deref(), b.digest.is_some()), ("b", None, false));
    assert_eq!((&a.scope, &b.scope), (&GrantScope::Run(RunId::new("r")), &GrantScope::Session("talk".into())));
    assert_eq!((a.until, b.until), (Some(Timestamp(90_000)), None));
    assert_eq!((a.at, a.tenant.as_deref()), (Timestamp(7_000), Some("acme")));
    assert_eq!((a.actor.id.as_deref(), a.actor.roles.len()), (Some("ana"), 1));
}
