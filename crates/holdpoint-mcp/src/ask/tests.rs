use std::sync::Arc;

use holdpoint_core::{Block, JsonText, ToolResult};

use super::*;

fn params(value: Value) -> ElicitRequestParams {
    serde_json::from_value(value).unwrap()
}

fn form(message: &str) -> Value {
    json!({ "mode": "form", "message": message, "requestedSchema": {
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "age": { "type": "integer", "default": 7 },
        },
        "required": ["name"],
    }})
}

fn given(inquiry: &Inquiry, answer: Option<Value>) -> Given {
    let answer = answer.map(|value| Block::Json(JsonText::new(value.to_string())));
    Given {
        asks: Arc::new(inquiry.to_result()),
        answer: answer.map(|block| Arc::new(ToolResult::from_blocks(vec![block]))),
    }
}

#[test]
fn an_answer_goes_back_with_what_the_server_proposed_for_the_rest() {
    let inquiry = waiting_inquiry(&params(form("who?")), 3).unwrap();
    assert_eq!(&*inquiry.message, "who?");
    let reply = Reply::of(&given(&inquiry, Some(json!({ "name": "ana" })))).unwrap();
    assert_eq!(reply.state, AskState::Waiting { wait: 3, mode: Mode::Form });
    let told = to_json(&reply.accepted(Mode::Form));
    assert_eq!(told, json!({ "action": "accept", "content": { "name": "ana", "age": 7 } }));
}

#[test]
fn an_answer_of_the_wrong_shape_is_none() {
    let inquiry = waiting_inquiry(&params(form("who?")), 1).unwrap();
    assert!(Reply::of(&given(&inquiry, Some(json!({ "name": 5 })))).is_none());
    assert!(Reply::of(&given(&inquiry, None)).is_none());
}

#[test]
fn a_link_is_answered_by_yes() {
    let asked = params(json!({ "mode": "url", "message": "log in", "url": "https://a/b", "elicitationId": "1" }));
    let inquiry = waiting_inquiry(&asked, 1).unwrap();
    assert_eq!(&*inquiry.message, "log in\nhttps://a/b");
    let reply = Reply::of(&given(&inquiry, None)).unwrap();
    assert_eq!(to_json(&reply.accepted(Mode::Url)), json!({ "action": "accept" }));
}

#[test]
fn what_is_too_large_is_not_asked() {
    let asked = params(form(&"x".repeat(ASK_BYTES_MAX)));
    assert_eq!(waiting_inquiry(&asked, 1), Err(NotAskable::TooLarge));
}

fn required(requests: Value) -> InputRequiredResult {
    let result = json!({ "resultType": "input_required", "requestState": "sealed", "inputRequests": requests });
    serde_json::from_value(result).unwrap()
}

#[test]
fn one_question_of_a_call_that_was_given_back_is_asked_as_it_is() {
    let result = required(json!({
        "a": { "method": "elicitation/create", "params": form("who?") },
        "r": { "method": "roots/list" },
    }));
    let inquiry = again_inquiry(&result).unwrap().unwrap();
    assert_eq!(&*inquiry.message, "who?");
    let reply = Reply::of(&given(&inquiry, Some(json!({ "name": "ana" })))).unwrap();
    let AskState::Again { request_state, asked } = &reply.state else { panic!("{:?}", reply.state) };
    assert_eq!(request_state.as_deref(), Some("sealed"));
    let told = reply.responses(asked);
    assert_eq!(told["a"], json!({ "action": "accept", "content": { "name": "ana", "age": 7 } }));
    assert_eq!(told["r"], json!({ "roots": [] }));
}

#[test]
fn several_questions_are_one_with_a_part_for_each() {
    let ask = |message: &str| json!({ "method": "elicitation/create", "params": form(message) });
    let inquiry = again_inquiry(&required(json!({ "a": ask("who?"), "b": ask("and who?") }))).unwrap().unwrap();
    assert_eq!(&*inquiry.message, "a: who?\nb: and who?");
    let answer = json!({ "a": { "name": "ana" }, "b": { "name": "bo", "age": 1 } });
    let reply = Reply::of(&given(&inquiry, Some(answer))).unwrap();
    let AskState::Again { asked, .. } = &reply.state else { panic!("{:?}", reply.state) };
    let told = reply.responses(asked);
    assert_eq!(told["a"]["content"], json!({ "name": "ana", "age": 7 }));
    assert_eq!(told["b"]["content"], json!({ "name": "bo", "age": 1 }));
}

#[test]
fn a_server_never_gets_our_model() {
    let sampling = json!({ "method": "sampling/createMessage", "params": { "messages": [], "maxTokens": 1 } });
    assert_eq!(again_inquiry(&required(json!({ "m": sampling }))), Err(NotAskable::WantsModel));
}

#[test]
fn a_call_that_was_given_back_without_questions_asks_nobody() {
    assert_eq!(again_inquiry(&required(json!({ "r": { "method": "roots/list" } }))), Ok(None));
}
