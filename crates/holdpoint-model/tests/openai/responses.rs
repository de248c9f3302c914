//! Responses: the request, the reply, and reasoning that goes back.

use std::sync::Arc;

use holdpoint_core::{Block, Message};
use holdpoint_model::{ModelErrorKind, ModelOptions, ModelRequest, NoDeltas, ReasoningEffort, ToolChoice};
use serde_json::json;

use crate::server::{Server, answer, streamed};
use crate::{Listener, document, files_read, image, model, shown, turn, user};

fn events(list: &[&str]) -> String {
    let events: Vec<String> = list.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect();
    streamed(&events.concat())
}

const OK: &[&str] = &[
    r#"{"type":"response.output_text.delta","output_index":0,"delta":"ok"}"#,
    r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
];

#[tokio::test]
async fn a_conversation_is_sent_as_the_protocol_says() {
    let server = Server::answering(vec![events(OK)]).await;
    let [said, gave] = turn(None, vec![Block::text("here it is"), image()]);
    let messages = [
        Arc::new(Message::System("Be brief.".into())),
        Arc::new(Message::User(vec![Block::text("look"), image(), document()])),
        said,
        gave,
        Arc::new(Message::assistant("so?")),
    ];
    let tools = [files_read()];
    let options = ModelOptions {
        output_tokens_max: Some(9),
        reasoning_effort: Some(ReasoningEffort::High),
        ..ModelOptions::default()
    };
    let request =
        ModelRequest { options: &options, tool_choice: &ToolChoice::Required, ..ModelRequest::new(&messages, &tools) };
    model("openai-responses", &server).reply(&request, &NoDeltas).await.unwrap();
    let name = "files_read-x601e4eb608";
    let png = json!({ "type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,cG5n" });
    assert!(server.asked()[0].0.starts_with("POST /v1/responses "));
    assert_eq!(
        server.body(),
        json!({
            "model": "small", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
            "max_output_tokens": 9, "reasoning": { "effort": "high" },
            "tools": [{
                "type": "function", "name": name, "description": "Reads a file", "parameters": { "type": "object" },
                "strict": false,
            }],
            "tool_choice": "required",
            "input": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [
                    { "type": "input_text", "text": "look" },
                    png,
                    { "type": "input_file", "filename": "file.pdf", "file_data": "data:application/pdf;base64,cGRm" },
                ] },
                { "type": "function_call", "call_id": "c1", "name": name, "arguments": "{\"path\":\"a\"}" },
                { "type": "function_call_output", "call_id": "c1", "output": [
                    { "type": "input_text", "text": "here it is" },
                    png,
                ] },
                { "type": "message", "role": "assistant", "content": "so?" },
            ],
        })
    );
}

const REASONED: &[&str] = &[
    r#"{"type":"response.created","response":{"status":"in_progress"}}"#,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"status":"completed","encrypted_content":"AAAA"}}"#,
    r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"a","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"n\":"}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"1}"}"#,
    r#"{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{\"n\":1}"}"#,
    r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"a","arguments":"{\"n\":1}"}}"#,
    r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","call_id":"c1","name":"a","arguments":"{\"n\":1}"}],"usage":{"input_tokens":10,"output_tokens":5,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":3}}}}"#,
];

#[tokio::test]
async fn reasoning_is_kept_and_stands_before_the_call_it_led_to() {
    let server = Server::answering(vec![events(REASONED), events(OK)]).await;
    let model = model("openai-responses", &server);
    let reply = model.reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await.unwrap().unwrap();
    let expected = json!({
        "text": "", "thinking": "hm", "calls": [["c1", "a", "{\"n\":1}"]], "stop": null, "usage": [10, 5, 4, 0, 3],
    });
    assert_eq!(shown(&reply), expected);
    let [said, gave] = turn(reply.provider_state, vec![Block::text("x")]);
    let listener = Listener::default();
    model.reply(&ModelRequest::new(&[user("hi"), said, gave], &[]), &listener).await.unwrap();
    let kept = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AAAA" });
    let body = server.body();
    assert_eq!((&body["input"][1], &body["input"][2]["type"]), (&kept, &json!("function_call")));
    assert_eq!(*listener.0.lock().unwrap(), "ok");
}

#[tokio::test]
async fn an_incomplete_response_says_why() {
    let cut = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#;
    let server = Server::answering(vec![events(&[OK[0], cut])]).await;
    let reply = model("openai-responses", &server).reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await;
    assert_eq!(shown(&reply.unwrap().unwrap())["stop"], "max_tokens");
}

#[tokio::test]
async fn a_response_that_stops_before_its_end_is_cut() {
    let rule = holdpoint_model::RetryRule::NEVER;
    let server = Server::answering(vec![events(&REASONED[..9])]).await;
    let model = crate::choice("openai-responses", &server).retry(rule).open().unwrap();
    let error = model.reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Cut);
}

#[tokio::test]
async fn a_failed_response_is_an_error_without_its_words() {
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"content_filter","message":"canary"}}}"#;
    let server = Server::answering(vec![events(&[failed])]).await;
    let model = model("openai-responses", &server);
    let error = model.reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert!(!format!("{error:?}").contains("canary"));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = r#"{"status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]},{"type":"function_call","call_id":"c","name":"a","arguments":"{}"}],"usage":{"input_tokens":1,"output_tokens":2}}"#;
    let server = Server::answering(vec![answer("200 OK", "content-type: application/json\r\n", body)]).await;
    let reply = model("openai-responses", &server).reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await;
    let reply = shown(&reply.unwrap().unwrap());
    assert_eq!((&reply["text"], &reply["calls"]), (&json!("ok"), &json!([["c", "a", "{}"]])));
}
