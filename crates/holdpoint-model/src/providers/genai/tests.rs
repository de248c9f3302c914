use genai::chat::{ContentPart, CustomPart, MessageContent};
use serde_json::json;

use super::state::State;
use super::words;
use crate::providers::names::Names;

fn leading() -> Vec<ContentPart> {
    vec![
        ContentPart::ThoughtSignature("c2ln".to_owned()),
        ContentPart::ReasoningContent("Two calls.".to_owned()),
        ContentPart::Custom(CustomPart {
            model_iden: None,
            data: json!({"type": "redacted_thinking", "data": "eA=="}),
        }),
    ]
}

fn kept() -> State {
    let mut state = State::default();
    let mut parts = leading();
    parts.push(ContentPart::Text("said".to_owned()));
    state.keep(MessageContent::from_parts(parts));
    state.calls = vec![None, Some("c2lnMg==".to_owned())];
    state
}

/// What lies in logs must be read for ever.
#[test]
fn the_state_in_the_log_has_this_shape() {
    let state = kept().seal("anthropic").unwrap();
    assert_eq!((&*state.provider, state.version), ("anthropic", 1));
    assert_eq!(
        state.data.expose(),
        r#"{"calls":[null,"c2lnMg=="],"lead":[{"signature":"c2ln"},{"thinking":"Two calls."},{"block":{"data":"eA==","type":"redacted_thinking"}}]}"#
    );
}

#[test]
fn the_state_goes_back_to_its_provider_in_its_order_and_to_no_other() {
    let state = kept().seal("anthropic").unwrap();
    let own = State::unseal(Some(&state), "anthropic");
    assert_eq!(own, kept());
    let shown = |parts: Vec<ContentPart>| serde_json::to_value(parts).unwrap();
    assert_eq!(shown(own.parts()), shown(leading()));
    assert_eq!(State::unseal(Some(&state), "gemini"), State::default());
    let newer = holdpoint_core::ProviderState { version: 2, ..state };
    assert_eq!(State::unseal(Some(&newer), "anthropic"), State::default());
}

#[test]
fn a_reply_without_state_leaves_none() {
    let mut state = State::default();
    state.calls = vec![None, None];
    assert!(state.seal("anthropic").is_none());
}

#[test]
fn a_tool_is_never_taken_for_one_of_the_providers_own() {
    let names = Names::default();
    for name in ["web_search", "googleSearch", "codeExecution", "urlContext", "googleSearchRetrieval"] {
        let wire = words::to_wire(&names, name).into_owned();
        assert_ne!(wire, name);
        assert!(wire.starts_with(name) && wire.len() <= crate::providers::names::WIRE_NAME_BYTES_MAX, "{wire}");
        assert_eq!(words::from_wire(&wire), name);
    }
    assert_eq!(words::to_wire(&names, "get_weather"), "get_weather");
    assert_eq!(words::from_wire("web_search-x0000000000"), "web_search-x0000000000");
}
