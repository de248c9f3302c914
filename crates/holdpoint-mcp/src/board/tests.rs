#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_core::{Attempt, CallId, CallIndex, CallKey, IdempotencyKey, RequestedName, RunId, ToolName, Turn};
use holdpoint_tools::CallFacts;
use rmcp::model::{ElicitationSchema, NumberOrString};

use super::*;

fn call(run: &str) -> ToolCall {
    ToolCall::new(CallFacts {
        id: CallId::new("tc_1"),
        key: CallKey { run: RunId::new(run), turn: Turn(1), index: CallIndex(0) },
        requested: RequestedName::new("tool"),
        tool: ToolName::new("tool"),
        arguments: arguments_for("tool", &parse_arguments(Some("{}")).unwrap()),
        context: Arc::new(Context::new()),
        attempt: Attempt(1),
        idempotency_key: IdempotencyKey::new("key"),
    })
}

fn ask() -> Ask {
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "who?".to_owned(),
        requested_schema: ElicitationSchema::builder().build().unwrap(),
    };
    Ask { params, reply: oneshot::channel().0 }
}

fn id(number: i64) -> RequestId {
    NumberOrString::Number(number)
}

fn of(number: i64) -> Option<InboundStreamOrigin> {
    Some(InboundStreamOrigin::OutboundRequest(id(number)))
}

fn sent(ticket: &Ticket, number: i64) {
    ticket.sent(id(number), ProgressToken(id(number)));
}

#[test]
fn what_is_asked_about_a_request_goes_to_its_call_and_to_no_other() {
    let board = Arc::new(Board::default());
    let (first, mut asked_first) = board.enter(&call("one"));
    let (second, mut asked_second) = board.enter(&call("two"));
    sent(&first, 1);
    sent(&second, 2);
    assert!(board.ask(of(2).as_ref(), ask()));
    assert!(asked_first.try_recv().is_err() && asked_second.try_recv().is_ok());
    assert!(!board.ask(of(3).as_ref(), ask()), "a call that is over has nobody to ask");
    drop(second);
    assert!(!board.ask(of(2).as_ref(), ask()), "nor does it ask for the one that is left");
    assert!(asked_first.try_recv().is_err());
}

#[test]
fn a_server_may_ask_before_it_is_known_under_which_request_it_has_the_call() {
    let board = Arc::new(Board::default());
    let (known, mut asked_known) = board.enter(&call("one"));
    sent(&known, 1);
    let (_fresh, mut asked_fresh) = board.enter(&call("two"));
    assert!(board.ask(of(2).as_ref(), ask()));
    assert!(asked_known.try_recv().is_err() && asked_fresh.try_recv().is_ok());
    let (_another, _) = board.enter(&call("three"));
    assert!(!board.ask(of(3).as_ref(), ask()), "nobody knows which of the two it is");
}

#[test]
fn what_is_asked_about_no_request_is_passed_on_only_while_the_server_has_one_call() {
    let board = Arc::new(Board::default());
    let (first, mut asked) = board.enter(&call("one"));
    sent(&first, 1);
    assert!(board.ask(None, ask()) && asked.try_recv().is_ok());
    first.park();
    let (second, mut asked_second) = board.enter(&call("two"));
    sent(&second, 2);
    assert!(!board.ask(None, ask()), "it may be about the one that waits for a person");
    assert!(!board.ask(Some(&InboundStreamOrigin::Unassociated), ask()));
    drop(first);
    assert!(board.ask(None, ask()) && asked_second.try_recv().is_ok());
}
