use serde_json::json;

use super::*;

fn mapped(result: Value) -> ToolResult {
    result_of(serde_json::from_value(result).unwrap())
}

#[test]
fn each_kind_of_content_becomes_a_block() {
    let result = mapped(json!({ "content": [
        { "type": "text", "text": "hello" },
        { "type": "image", "data": "AQID", "mimeType": "image/png" },
        { "type": "audio", "data": "BAUG", "mimeType": "audio/wav" },
        { "type": "resource", "resource": { "uri": "test://a", "mimeType": "text/plain", "text": "inside" } },
        { "type": "resource", "resource": { "uri": "test://b", "mimeType": "application/pdf", "blob": "BwgJ" } },
        { "type": "resource_link", "uri": "test://c", "name": "c", "mimeType": "text/plain", "description": "a thing" },
    ]}));
    let blob = |kind: &str, bytes: [u8; 3]| Blob { media_type: kind.into(), bytes: bytes.to_vec().into() };
    let expected = vec![
        Block::text("hello"),
        Block::Image(blob("image/png", [1, 2, 3])),
        Block::File(blob("audio/wav", [4, 5, 6])),
        Block::text("inside"),
        Block::File(blob("application/pdf", [7, 8, 9])),
        Block::text("Resource c (text/plain) at test://c: a thing"),
    ];
    assert!(result.same_as(&ToolResult::from_blocks(expected)), "{result:?}");
}

#[test]
fn structured_content_is_there_once() {
    let repeated = mapped(json!({
        "content": [{ "type": "text", "text": "{ \"b\": 1, \"a\": [2] }" }, { "type": "text", "text": "more" }],
        "structuredContent": { "a": [2], "b": 1 },
    }));
    let json = Block::Json(JsonText::new(r#"{"a":[2],"b":1}"#));
    assert!(repeated.same_as(&ToolResult::from_blocks(vec![json.clone(), Block::text("more")])));

    let alone = mapped(json!({ "content": [], "structuredContent": { "a": [2], "b": 1 } }));
    assert!(alone.same_as(&ToolResult::from_blocks(vec![json])));
}

#[test]
fn an_error_of_the_tool_is_an_error_result() {
    let result = mapped(json!({ "content": [{ "type": "text", "text": "no such file" }], "isError": true }));
    assert!(result.is_error());
    assert_eq!(result.text(), "no such file");
}

#[test]
fn content_that_cannot_be_decoded_is_named() {
    let result = mapped(json!({ "content": [{ "type": "image", "data": "%%%", "mimeType": "image/png" }] }));
    assert_eq!(result.text(), "Left out: content of type image/png that cannot be decoded.");
}

#[test]
fn an_error_of_the_protocol_is_cut() {
    let error = ErrorData::invalid_params("x".repeat(10_000), None);
    let result = result_of_error(&error);
    assert!(result.is_error());
    assert!(result.text().starts_with("The server refused the call (-32602): xxx"));
    assert!(result.text().len() < 2_100);
}
