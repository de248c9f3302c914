//! Chat completions: the request, and a reply as OpenAI sends it.

use std::sync::Arc;

use holdpoint_core::{Block, JsonText, Message, ParallelToolCalls, ProviderState};
use holdpoint_model::{KeySource, ModelOptions, ModelRequest, NoDeltas, ReasoningEffort, ToolChoice};
use serde_json::json;

use crate::server::{Server, chunks};
use crate::{Listener, choice, document, files_read, image, model, shown, turn, user};

const DONE: &str = r#"{"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}"#;

#[tokio::test]
async fn a_conversation_is_sent_as_the_protocol_says() {
    let server = Server::answering(vec![chunks(&[DONE])]).await;
    let [said, gave] = turn(None, vec![Block::text("here it is"), image()]);
    let messages = [
        Arc::new(Message::System("Be brief.".into())),
        Arc::new(Message::User(vec![Block::text("look"), image(), document()])),
        said,
        gave,
        user("and now?"),
    ];
    let tools = [files_read()];
    model("openai", &server).reply(&ModelRequest::new(&messages, &tools), &NoDeltas).await.unwrap();
    let name = "files_read-x601e4eb608";
    let png = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,cG5n" } });
    assert_eq!(
        server.body(),
        json!({
            "model": "small", "stream": true, "stream_options": { "include_usage": true },
            "tools": [{ "type": "function", "function": {
                "name": name, "description": "Reads a file", "parameters": { "type": "object" },
            } }],
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [
                    { "type": "text", "text": "look" },
                    png,
                    { "type": "file", "file": { "filename": "file.pdf", "file_data": "data:application/pdf;base64,cGRm" } },
                ] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c1", "type": "function", "function": { "name": name, "arguments": "{\"path\":\"a\"}" } },
                ] },
                { "role": "tool", "tool_call_id": "c1", "content": "here it is\n[The rest of this result follows.]" },
                { "role": "user", "content": [{ "type": "text", "text": "Of the result of `c1`:" }, png] },
                { "role": "user", "content": "and now?" },
            ],
        })
    );
}

#[tokio::test]
async fn options_are_sent_only_when_given_and_extra_members_win() {
    let server = Server::answering(vec![chunks(&[DONE]), chunks(&[DONE])]).await;
    let model = model("openai", &server);
    let messages = [user("hi")];
    let tools = [files_read()];
    let extra = json!({ "temperature": 2, "top_k": 5, "stream": false, "messages": [] });
    let options = ModelOptions {
        temperature: Some(0.5),
        top_p: Some(0.9),
        output_tokens_max: Some(7),
        stop_sequences: vec!["END".into()],
        seed: Some(-3),
        reasoning_effort: Some(ReasoningEffort::Low),
        extra: extra.as_object().cloned().map(Arc::new),
    };
    let request = ModelRequest {
        options: &options,
        tool_choice: &ToolChoice::Named("files.read".into()),
        parallel_tool_calls: ParallelToolCalls::One,
        ..ModelRequest::new(&messages, &tools)
    };
    model.reply(&request, &NoDeltas).await.unwrap();
    let body = server.body();
    let sent = |name: &str| body.get(name).cloned().unwrap_or_default();
    assert_eq!((sent("temperature"), sent("top_p"), sent("max_tokens")), (json!(2), json!(0.9), json!(7)));
    assert_eq!((sent("stop"), sent("seed"), sent("reasoning_effort")), (json!(["END"]), json!(-3), json!("low")));
    assert_eq!((sent("top_k"), sent("stream"), sent("parallel_tool_calls")), (json!(5), json!(true), json!(false)));
    assert_eq!(sent("messages"), json!([{ "role": "user", "content": "hi" }]));
    let named = json!({ "type": "function", "function": { "name": "files_read-x601e4eb608" } });
    assert_eq!(sent("tool_choice"), named);
    let request = ModelRequest { tool_choice: &ToolChoice::Required, ..ModelRequest::new(&messages, &[]) };
    model.reply(&request, &NoDeltas).await.unwrap();
    let body = server.body();
    assert!(body.get("tool_choice").is_none() && body.get("tools").is_none(), "{body}");
}

#[tokio::test]
async fn a_streamed_reply_is_put_together() {
    let name = "files_read-x601e4eb608";
    let call = format!(
        r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"call_1","type":"function","function":{{"name":"{name}","arguments":""}}}}]}},"finish_reason":null}}]}}"#
    );
    let server = Server::answering(vec![chunks(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"I "},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"look.\n\u00e4"},"finish_reason":null}]}"#,
        &call,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"id\": 123456789"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"01234567890}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
    ])])
    .await;
    let listener = Listener::default();
    let (messages, tools) = ([user("hi")], [files_read()]);
    let reply = model("openai", &server).reply(&ModelRequest::new(&messages, &tools), &listener).await.unwrap();
    assert_eq!(
        shown(&reply.unwrap()),
        json!({
            "text": "I look.\nä", "thinking": null,
            "calls": [["call_1", "files.read", "{\"id\": 12345678901234567890}"]], "stop": "tool_use",
            "usage": [10, 5, 8, 0, 2],
        })
    );
    assert_eq!(*listener.0.lock().unwrap(), "I look.\nä");
}

#[tokio::test]
async fn reasoning_goes_back_with_the_calls_it_led_to_and_to_its_provider_only() {
    let thinks = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"let me look"}}]}"#;
    let calls = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let server = Server::answering(vec![chunks(&[thinks, calls]), chunks(&[DONE]), chunks(&[DONE])]).await;
    let reasoner = model("deepseek", &server);
    let reply = reasoner.reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await.unwrap().unwrap();
    assert_eq!(reply.thinking.as_deref(), Some("let me look"));
    let state = reply.provider_state.unwrap();
    let expected = JsonText::new(r#"{"reasoning_member":"reasoning_content"}"#);
    assert_eq!(state, ProviderState { provider: "deepseek".into(), version: 1, data: expected });
    let [said, gave] = turn(Some(state), vec![Block::text("x")]);
    let messages = [user("hi"), said, gave];
    reasoner.reply(&ModelRequest::new(&messages, &[]), &NoDeltas).await.unwrap();
    assert_eq!(server.body()["messages"][1]["reasoning_content"], "let me look");
    model("openai", &server).reply(&ModelRequest::new(&messages, &[]), &NoDeltas).await.unwrap();
    assert!(server.body()["messages"][1].get("reasoning_content").is_none());
}

#[tokio::test]
async fn the_key_is_sent_as_a_bearer_and_only_if_there_is_one() {
    let server = Server::answering(vec![chunks(&[DONE]), chunks(&[DONE])]).await;
    let messages = [user("hi")];
    let keyed = choice("openai", &server).key(KeySource::Given("sk-1".into())).open().unwrap();
    keyed.reply(&ModelRequest::new(&messages, &[]), &NoDeltas).await.unwrap();
    model("openai", &server).reply(&ModelRequest::new(&messages, &[]), &NoDeltas).await.unwrap();
    let asked = server.asked();
    assert!(asked[0].0.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", asked[0].0);
    assert!(asked[0].0.contains("authorization: Bearer sk-1\r\n"), "{}", asked[0].0);
    assert!(!asked[1].0.contains("authorization"), "{}", asked[1].0);
}

#[tokio::test]
async fn a_long_history_grows_by_what_is_new() {
    let answers = (0..4).map(|_| chunks(&[DONE])).collect();
    let server = Server::answering(answers).await;
    let model = model("openai", &server);
    let mut messages: Vec<Arc<Message>> = (0..40).map(|index| user(&format!("m{index}"))).collect();
    for _ in 0..4 {
        model.reply(&ModelRequest::new(&messages, &[]), &NoDeltas).await.unwrap();
        let expected: Vec<_> =
            messages.iter().map(|message| json!({ "role": "user", "content": message.text() })).collect();
        assert_eq!(server.body()["messages"], json!(expected));
        messages.push(user("more"));
    }
}
