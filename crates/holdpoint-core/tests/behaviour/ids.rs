//! Shown ids: unique within a turn whatever the provider sends.

use std::collections::HashSet;

use holdpoint_core::{BatchId, CallId, CallIndex, CallKey, ContinuationId, Digest, PauseNumber, RunId, Turn};

use crate::support::{Stage, check};

#[test]
fn blank_ids_are_shown_by_their_position() {
    check(
        "model asks: _(deny), x(deny), -(deny)\n? records",
        "call model\ncall model: tc_1=denied x=denied tc_3=denied\n1.tc_1=denied:denied 1.x=denied:denied 1.tc_3=denied:denied",
    );
}

#[test]
fn repeated_ids_are_numbered() {
    check("model asks: a(deny), a(deny), a(deny)", "call model\ncall model: a=denied a__2=denied a__3=denied");
}

#[test]
fn a_numbered_id_does_not_collide_with_one_that_looks_like_it() {
    check(
        "model asks: a(deny), a(deny), a__2(deny), a(deny)",
        "call model\ncall model: a=denied a__2=denied a__2__2=denied a__3=denied",
    );
    check("model asks: a(deny), a__2(deny), a(deny)", "call model\ncall model: a=denied a__2=denied a__3=denied");
}

#[test]
fn a_blank_id_does_not_collide_with_one_that_looks_like_it() {
    check("model asks: tc_2(deny), _(deny)", "call model\ncall model: tc_2=denied tc_2__2=denied");
    check("model asks: _(deny), tc_1(deny)", "call model\ncall model: tc_1=denied tc_1__2=denied");
}

#[test]
fn equal_ids_in_one_turn_get_their_own_results() {
    check(
        "model asks: a, a(confirm)
         ana denies a__2
         a -> first",
        "call model
         pause p1 for people: a__2
         execute a
         start a
         call model: a=first a__2=refused",
    );
}

#[test]
fn an_id_that_comes_back_in_a_later_turn_is_another_call() {
    check(
        "model asks: a(confirm)
         ana allows a
         a -> one
         model asks: a(confirm)
         from=p1 ana allows a
         ana denies a
         ? records",
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=one
         pause p2 after p1 for people: a
         rejected stale_continuation: now p2
         call model: a=refused
         1.a=succeeded/tool 2.a=refused:refused",
    );
}

#[test]
fn dropped_calls_take_part_in_the_numbering() {
    check(
        "given max_calls 1
         model asks: a(deny), a, _
         ? records",
        "call model
         call model: a=denied
         1.a=denied:denied 1.a__2=ignored 1.tc_3=ignored",
    );
}

#[test]
fn the_providers_id_is_kept_to_echo_it() {
    let mut stage = Stage::new();
    stage.play("model asks: a(confirm), a(confirm), _(confirm)");
    let provider: Vec<Option<&str>> = stage.run().calls().iter().map(|call| call.provider_id.as_deref()).collect();
    assert_eq!(provider, [None, Some("a"), Some(" ")]);
}

#[test]
fn many_equal_ids_are_all_different() {
    let mut stage = Stage::new();
    let asked = vec!["a(deny)"; 1_000].join(", ");
    stage.play(&format!("model asks: {asked}"));
    let shown: HashSet<CallId> = stage.run().records().into_iter().map(|record| record.id).collect();
    assert_eq!(shown.len(), 1_000);
    assert!(shown.contains(&CallId::new("a__1000")));
}

#[test]
fn ids_are_read_back_as_they_are_written() {
    let pause = ContinuationId { run: RunId::new("r.p1"), pause: PauseNumber(3) };
    assert_eq!(ContinuationId::parse(&pause.to_string()), Some(pause));
    let batch = BatchId { run: RunId::new("r"), turn: Turn(0) };
    assert_eq!(BatchId::parse(&batch.to_string()), Some(batch));
    for bad in ["", "r", "r.p", "r.p01", "r.p-1", "r.p+1", ".p1", "r.b1x", "r.p99999999999"] {
        assert_eq!(ContinuationId::parse(bad), None, "{bad}");
    }
    let digest = Digest([7; 32]);
    assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
    assert_eq!(Digest::parse(&digest.to_string().to_uppercase().replace('0', "A")), None);
    assert_eq!(Digest::parse("07"), None);
}

#[test]
fn the_name_of_a_call_is_read_as_it_was_written() {
    for run in ["r", "01890a5d-ac96-774b", "with.b7.c9 dots"] {
        let key = CallKey { run: RunId::new(run), turn: Turn(3), index: CallIndex(12) };
        assert_eq!(key.to_string(), format!("{run}.b3.c12"));
        assert_eq!(CallKey::parse(&key.to_string()), Some(key));
    }
    for text in ["", "r", "r.b1", "r.c1", "r.b1.c", "r.b1.c01", "r.b01.c1", ".b1.c1", "r.b1.c-1", "r.b1.c99999999999"] {
        assert_eq!(CallKey::parse(text), None, "{text}");
    }
}
