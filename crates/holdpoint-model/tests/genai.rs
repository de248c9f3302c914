//! What the providers behind `genai` are sent, and what is kept of what they send.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

#[path = "faults/server.rs"]
#[allow(dead_code, reason = "the server of the fault tests can do more")]
mod server;

use std::sync::Arc;

use holdpoint_codec::ToolDefinition;
use holdpoint_core::{
    Arguments, AssistantMessage, Blob, Block, CallArguments, CallId, Digest, Message, MessageCall, ModelStop,
    ParallelToolCalls, RequestedName, ToolMessage, ToolName, ToolResult,
};
use holdpoint_model::{
    ModelChoice, ModelError, ModelErrorKind, ModelOptions, ModelReply, ModelRequest, NoDeltas, ReasoningEffort,
    RetryRule, ToolChoice,
};
use serde_json::{Value, json};
use server::{Answer, FaultServer, status, stream};

const ANTHROPIC_OK: &str = include_str!("sdk/anthropic_text.sse");
const GEMINI_OK: &str =
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"ok\"}]},\"finishReason\":\"STOP\"}]}\n\n";
const OLLAMA_OK: &str = "{\"message\":{\"role\":\"assistant\",\"content\":\"ok\"},\"done\":false}\n{\"done\":true,\"done_reason\":\"stop\"}\n";

fn call(id: &str, name: &str, arguments: CallArguments) -> MessageCall {
    MessageCall { id: CallId::new(id), provider_id: None, name: RequestedName::new(name), arguments }
}

fn canonical(text: &str) -> CallArguments {
    CallArguments::Canonical(Arguments::from_canonical(text, Digest([0; 32])))
}

fn result(id: &str, result: ToolResult) -> Message {
    Message::Tool(ToolMessage { call: CallId::new(id), provider_id: None, result: Arc::new(result) })
}

fn png() -> Block {
    Block::Image(Blob { media_type: "image/png".into(), bytes: Arc::from(&b"png"[..]) })
}

fn file(media_type: &str, bytes: &[u8]) -> Block {
    Block::File(Blob { media_type: media_type.into(), bytes: Arc::from(bytes) })
}

fn conversation() -> Vec<Arc<Message>> {
    let user = vec![
        Block::text("Look:"),
        png(),
        file("application/pdf", b"pdf"),
        file("text/plain", b"plain"),
        file("application/zip", b"zip"),
    ];
    let calls = vec![
        call("a", "weather.get", canonical("{\"city\":\"Oslo\",\"n\":18446744073709551615}")),
        call("b", "web_search", CallArguments::Unusable("{oops".into())),
    ];
    let messages = vec![
        Message::System("Be kind.".into()),
        Message::User(user),
        Message::Assistant(AssistantMessage { text: "So.".into(), calls, ..AssistantMessage::default() }),
        result("a", ToolResult::from_blocks(vec![Block::text("cold"), png()])),
        result("b", ToolResult::error("no such thing")),
    ];
    messages.into_iter().map(Arc::new).collect()
}

fn tools() -> Vec<Arc<ToolDefinition>> {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = |name: &str| Arc::new(ToolDefinition::new(name, "Does it.", schema.clone()));
    vec![tool("weather.get"), tool("web_search")]
}

/// Asks, and gives back what was sent with what came.
async fn ask(
    choice: &str,
    answer: Answer,
    request: &ModelRequest<'_>,
) -> (Value, Result<Option<ModelReply>, ModelError>) {
    let server = FaultServer::start(vec![answer]).await;
    let model = ModelChoice::parse(choice).unwrap().base_url(&*server.url).retry(RetryRule::NEVER).open().unwrap();
    let reply = model.reply(request, &NoDeltas).await;
    let sent = server
        .requests()
        .first()
        .map_or(Value::Null, |request| serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap());
    (sent, reply)
}

fn sse(text: &str) -> Answer {
    stream(&[text.to_owned()])
}

#[tokio::test]
async fn anthropic_gets_blocks_results_with_images_and_names_it_takes() {
    let (messages, tools) = (conversation(), tools());
    let (sent, reply) = ask("anthropic:m", sse(ANTHROPIC_OK), &ModelRequest::new(&messages, &tools)).await;
    assert!(reply.unwrap().is_some());
    assert_eq!(sent["system"], "Be kind.");
    let names: Vec<&str> =
        sent["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names[0].starts_with("weather_get-x") && names[1].starts_with("web_search_-x"), "{names:?}");
    assert!(sent["tools"][1]["type"].is_null(), "the provider's own search was asked for: {}", sent["tools"][1]);
    assert_eq!(sent["tools"][1]["input_schema"]["type"], "object");
    let user = &sent["messages"][0]["content"];
    assert_eq!(user[1]["source"], json!({"type": "base64", "media_type": "image/png", "data": "cG5n"}));
    assert_eq!((&user[2]["type"], &user[3]["text"]), (&json!("document"), &json!("plain")));
    assert!(user[4]["text"].as_str().unwrap().contains("application/zip"));
    let said = &sent["messages"][1]["content"];
    assert_eq!(said[1]["input"], json!({"city": "Oslo", "n": 18446744073709551615u64}));
    assert_eq!((&said[1]["name"], &said[2]["name"]), (&json!(names[0]), &json!(names[1])));
    assert_eq!(said[2]["input"], json!({"invalid_arguments": "{oops"}));
    let results = &sent["messages"][2]["content"];
    assert_eq!(sent["messages"].as_array().unwrap().len(), 3, "the results of a turn are one message");
    assert_eq!((&results[0]["tool_use_id"], &results[0]["content"][1]["type"]), (&said[1]["id"], &json!("image")));
    assert_eq!((&results[1]["is_error"], &results[0]["is_error"]), (&json!(true), &json!(false)));
}

#[tokio::test]
async fn ids_that_repeat_in_a_conversation_are_told_apart() {
    let mut messages = Vec::new();
    for _ in 0..2 {
        let calls = vec![call("tc_1", "weather.get", canonical("{}"))];
        messages.push(Arc::new(Message::user("go")));
        messages.push(Arc::new(Message::Assistant(AssistantMessage { calls, ..AssistantMessage::default() })));
        messages.push(Arc::new(result("tc_1", ToolResult::success("ok"))));
    }
    let (sent, _) = ask("anthropic:m", sse(ANTHROPIC_OK), &ModelRequest::new(&messages, &tools())).await;
    let id = |message: usize, member: &str| sent["messages"][message]["content"][0][member].clone();
    assert_eq!((id(1, "id"), id(2, "tool_use_id")), (json!("tc_1"), json!("tc_1")));
    assert_eq!((id(4, "id"), id(5, "tool_use_id")), (json!("tc_1__2"), json!("tc_1__2")));
}

#[tokio::test]
async fn options_and_tool_choice_reach_the_provider() {
    let messages = [Arc::new(Message::user("go"))];
    let tools = tools();
    let extra = json!({"metadata": {"user_id": "u"}});
    let options = ModelOptions {
        temperature: Some(0.5),
        top_p: Some(0.9),
        output_tokens_max: Some(77),
        stop_sequences: vec!["END".into()],
        seed: Some(3),
        reasoning_effort: None,
        extra: extra.as_object().cloned().map(Arc::new),
    };
    let choice = ToolChoice::Named(ToolName::new("web_search"));
    let plain = ModelRequest { options: &options, ..ModelRequest::new(&messages, &tools) };
    let request = ModelRequest { tool_choice: &choice, parallel_tool_calls: ParallelToolCalls::One, ..plain };
    let (sent, _) = ask("anthropic:m", sse(ANTHROPIC_OK), &request).await;
    assert_eq!((&sent["temperature"], &sent["max_tokens"]), (&json!(0.5), &json!(77)));
    assert_eq!((&sent["stop_sequences"], &sent["metadata"]), (&json!(["END"]), &extra["metadata"]));
    assert_eq!(sent["tool_choice"]["name"], sent["tools"][1]["name"]);
    assert_eq!(sent["tool_choice"]["disable_parallel_tool_use"], true);
    let (sent, _) = ask("gemini:m", sse(GEMINI_OK), &request).await;
    assert_eq!(sent["generationConfig"]["maxOutputTokens"], 77);
    assert_eq!(sent["generationConfig"]["seed"], 3);
    let allowed = &sent["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"][0];
    assert_eq!(allowed, &sent["tools"][0]["functionDeclarations"][1]["name"]);
    // Neither can be told; to go on without would be another request than the one that was asked for.
    for provider in ["ollama-native:m", "bedrock:m"] {
        let request = ModelRequest { tool_choice: &ToolChoice::Required, ..ModelRequest::new(&messages, &tools) };
        let (sent, reply) = ask(provider, status("500 No", "", ""), &request).await;
        assert_eq!((sent, reply.unwrap_err().kind), (Value::Null, ModelErrorKind::InvalidRequest), "{provider}");
    }
    let odd = ModelOptions { reasoning_effort: Some(ReasoningEffort::Other("huge".into())), ..ModelOptions::default() };
    let request = ModelRequest { options: &odd, ..plain };
    let (_, reply) = ask("anthropic:m", sse(ANTHROPIC_OK), &request).await;
    assert_eq!(reply.unwrap_err().kind, ModelErrorKind::InvalidRequest);
}

#[tokio::test]
async fn a_last_request_without_tools_still_defines_those_of_the_conversation() {
    let messages = conversation();
    let (sent, _) = ask("anthropic:m", sse(ANTHROPIC_OK), &ModelRequest::new(&messages, &[])).await;
    assert_eq!(sent["tools"].as_array().unwrap().len(), 2);
    assert_eq!(sent["tool_choice"], json!({"type": "none"}));
}

#[tokio::test]
async fn gemini_gets_images_of_results_in_a_message_of_their_own() {
    let (messages, tools) = (conversation(), tools());
    let (sent, reply) = ask("gemini:m", sse(GEMINI_OK), &ModelRequest::new(&messages, &tools)).await;
    assert_eq!(*reply.unwrap().unwrap().text, *"ok");
    let contents = &sent["contents"];
    let response = &contents[2]["parts"][0]["functionResponse"];
    assert_eq!(response["name"], contents[1]["parts"][1]["functionCall"]["name"]);
    assert!(response["response"]["content"].as_str().unwrap().starts_with("cold"));
    assert_eq!(contents[3]["parts"][0]["inline_data"]["data"], "cG5n");
    assert!(sent["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"].is_object());
}

#[tokio::test]
async fn arguments_keep_their_exact_text_where_they_come_as_values() {
    let exact = r#"{"n": 123456789012345678901234567890, "x":1.10}"#;
    let gemini = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"name\":\"a\",\"args\":{exact}}},\"thoughtSignature\":\"c2ln\"}},{{\"functionCall\":{{\"name\":\"b\"}}}}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
    );
    let ollama = format!(
        "{{\"message\":{{\"content\":\"\",\"tool_calls\":[{{\"function\":{{\"name\":\"a\",\"arguments\":{exact}}}}}]}},\"done\":false}}\n{{\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":3,\"eval_count\":2}}\n"
    );
    let messages = [Arc::new(Message::user("go"))];
    let request = ModelRequest::new(&messages, &[]);
    let (_, reply) = ask("gemini:gemini-3", sse(&gemini), &request).await;
    let reply = reply.unwrap().unwrap();
    assert_eq!(reply.calls[0].arguments.as_deref(), Some(exact));
    assert_eq!((reply.calls[1].arguments.as_deref(), reply.calls[0].id.as_deref()), (None, None));
    assert_eq!(reply.stop, Some(ModelStop::ToolUse));
    let (_, ollama) = ask("ollama-native:m", sse(&ollama), &request).await;
    let ollama = ollama.unwrap().unwrap();
    assert_eq!(ollama.calls[0].arguments.as_deref(), Some(exact));
    assert_eq!((ollama.usage.input, ollama.usage.output), (3, 2));

    // The signature goes back with its own call.
    let state = reply.provider_state.unwrap();
    let calls = vec![call("tc_1", "a", canonical("{}")), call("tc_2", "b", canonical("{}"))];
    let said = AssistantMessage { calls, provider_state: Some(state), ..AssistantMessage::default() };
    let messages: Vec<Arc<Message>> = vec![
        Arc::new(Message::user("go")),
        Arc::new(Message::Assistant(said)),
        Arc::new(result("tc_1", ToolResult::success("ok"))),
        Arc::new(result("tc_2", ToolResult::success("ok"))),
    ];
    let (sent, _) = ask("gemini:gemini-3", sse(GEMINI_OK), &ModelRequest::new(&messages, &[])).await;
    assert_eq!(sent["contents"][1]["parts"][0]["thoughtSignature"], "c2ln");
    assert!(sent["contents"][1]["parts"][1]["thoughtSignature"].is_null());
}

#[tokio::test]
async fn signed_thinking_goes_back_as_it_came() {
    let stream = include_str!("sdk/anthropic_thinking.sse");
    let redacted = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"eA==\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\"";
    let begin = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\"";
    let stream = stream.replace(begin, redacted);
    let messages = [Arc::new(Message::user("go"))];
    let (_, reply) = ask("anthropic:m", sse(&stream), &ModelRequest::new(&messages, &[])).await;
    let reply = reply.unwrap().unwrap();
    assert_eq!(reply.thinking.as_deref(), Some("Two cities, two calls."));
    let said = AssistantMessage {
        text: reply.text,
        thinking: reply.thinking,
        provider_state: reply.provider_state,
        ..AssistantMessage::default()
    };
    let messages =
        [Arc::new(Message::user("go")), Arc::new(Message::Assistant(said)), Arc::new(Message::user("and now?"))];
    let (sent, _) = ask("anthropic:m", sse(ANTHROPIC_OK), &ModelRequest::new(&messages, &[])).await;
    let expected = json!([
        {"type": "thinking", "thinking": "Two cities, two calls.", "signature": "c2lnbmVk"},
        {"type": "redacted_thinking", "data": "eA=="},
        {"type": "text", "text": "Let me look: é"},
    ]);
    assert_eq!(sent["messages"][1]["content"], expected);
    // Another provider gets none of it.
    let (sent, _) = ask("gemini:m", sse(GEMINI_OK), &ModelRequest::new(&messages, &[])).await;
    assert_eq!(sent["contents"][1]["parts"], json!([{"text": "Let me look: é"}]));
}

#[tokio::test]
async fn a_blocked_prompt_is_refused() {
    let frame =
        "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"},\"usageMetadata\":{\"promptTokenCount\":4}}\n\n";
    let messages = [Arc::new(Message::user("go"))];
    let (_, reply) = ask("gemini:m", sse(frame), &ModelRequest::new(&messages, &[])).await;
    assert_eq!(reply.unwrap_err().kind, ModelErrorKind::Refused);
}

#[tokio::test]
async fn a_stream_of_ollama_that_merely_ends_is_cut() {
    let messages = [Arc::new(Message::user("go"))];
    let begun = OLLAMA_OK.lines().next().unwrap().to_owned() + "\n";
    let request = ModelRequest::new(&messages, &[]);
    let (_, reply) = ask("ollama-native:m", sse(OLLAMA_OK), &request).await;
    assert_eq!(*reply.unwrap().unwrap().text, *"ok");
    let (_, reply) = ask("ollama-native:m", sse(&begun), &request).await;
    assert_eq!(reply.unwrap_err().kind, ModelErrorKind::Cut);
}
