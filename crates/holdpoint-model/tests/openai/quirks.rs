//! What servers that imitate OpenAI do otherwise.

use holdpoint_model::{ModelErrorKind, ModelRequest, NoDeltas};
use serde_json::{Value, json};

use crate::server::{Server, answer, chunks, streamed};
use crate::{model, shown, user};

async fn reply(wire: String) -> Value {
    let server = Server::answering(vec![wire]).await;
    let reply = model("openai", &server).reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await;
    shown(&reply.unwrap().unwrap())
}

#[tokio::test]
async fn calls_without_numbers_and_ids_are_told_apart() {
    let two = r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":{"x":1.0}}},{"function":{"name":"b","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    assert_eq!(reply(chunks(&[two])).await["calls"], json!([[null, "a", "{\"x\":1.0}"], [null, "b", "{}"]]));
}

#[tokio::test]
async fn calls_that_share_a_number_are_told_apart_by_their_ids() {
    let one =
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}]}}]}"#;
    let other = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"2","function":{"name":"a","arguments":"{\"b\":2}"}}]},"finish_reason":"tool_calls"}]}"#;
    assert_eq!(reply(chunks(&[one, other])).await["calls"], json!([["1", "a", "{}"], ["2", "a", "{\"b\":2}"]]));
}

#[tokio::test]
async fn pieces_without_a_number_belong_to_the_last_call() {
    let name = r#"{"choices":[{"delta":{"tool_calls":[{"id":"1","function":{"name":"a"}}]}}]}"#;
    let more = r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"b\":"}}]}}]}"#;
    let rest = r#"{"choices":[{"delta":{"tool_calls":[{"id":"1","function":{"arguments":"2}"}}]},"finish_reason":"tool_calls"}]}"#;
    assert_eq!(reply(chunks(&[name, more, rest])).await["calls"], json!([["1", "a", "{\"b\":2}"]]));
}

#[tokio::test]
async fn comments_and_other_line_ends_change_nothing() {
    let body = ": ready\r\n\r\nevent: message\r\nid: 1\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\r\n\r\n: ping\r\n\r\ndata: [DONE]";
    assert_eq!(reply(streamed(body)).await["text"], "ok");
}

#[tokio::test]
async fn a_reason_to_stop_is_an_end_without_the_last_word() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"length\"}]}\n\n";
    let reply = reply(streamed(body)).await;
    assert_eq!((&reply["text"], &reply["stop"]), (&json!("ok"), &json!("max_tokens")));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"ok","tool_calls":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    let reply = reply(answer("200 OK", "content-type: application/json\r\n", body)).await;
    assert_eq!((&reply["text"], &reply["usage"]), (&json!("ok"), &json!([3, 1, 0, 0, 0])));
}

#[tokio::test]
async fn content_in_parts_is_text_and_thinking() {
    let body = r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"ok"}]},"finish_reason":"stop"}]}"#;
    let reply = reply(chunks(&[body])).await;
    assert_eq!((&reply["text"], &reply["thinking"]), (&json!("ok"), &json!("hm")));
}

#[tokio::test]
async fn a_refusal_is_text_and_a_reason_to_stop() {
    let body = r#"{"choices":[{"delta":{"content":null,"refusal":"I cannot"},"finish_reason":"stop"}]}"#;
    let reply = reply(chunks(&[body])).await;
    assert_eq!((&reply["text"], &reply["stop"]), (&json!("I cannot"), &json!("content_filter")));
}

#[tokio::test]
async fn strange_usage_costs_no_reply() {
    let body = r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-5,"completion_tokens":1e99,"input_tokens":2}}"#;
    let reply = reply(chunks(&[body])).await;
    assert_eq!(reply["usage"], json!([2, 1_u64 << 53, 0, 0, 0]));
    let other = r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}],"usage":"much"}"#;
    assert_eq!(self::reply(chunks(&[other])).await["usage"], json!([0, 0, 0, 0, 0]));
}

#[tokio::test]
async fn no_choice_at_all_is_no_message() {
    let server = Server::answering(vec![chunks(&[r#"{"choices":[]}"#])]).await;
    let reply = model("openai", &server).reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await;
    assert!(reply.unwrap().is_none());
}

#[tokio::test]
async fn an_error_in_a_stream_that_began_well_is_one() {
    let body = r#"{"error":{"message":"canary","type":"exceed_context_size_error","code":400}}"#;
    let server = Server::answering(vec![chunks(&[body])]).await;
    let error = model("openai", &server).reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ModelErrorKind::ContextTooLong, Some(400)));
    assert!(!format!("{error:?}").contains("canary"));
}

#[tokio::test]
async fn a_reply_that_the_server_broke_off_is_asked_for_again() {
    for word in ["error", "abort", "insufficient_system_resource"] {
        let cut = format!(r#"{{"choices":[{{"delta":{{"content":"half"}},"finish_reason":"{word}"}}]}}"#);
        let whole = r#"{"choices":[{"delta":{"content":"whole"},"finish_reason":"stop"}]}"#;
        let server = Server::answering(vec![chunks(&[&cut]), chunks(&[whole])]).await;
        let reply = model("openai", &server).reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await;
        assert_eq!(shown(&reply.unwrap().unwrap())["text"], "whole", "{word}");
    }
}
