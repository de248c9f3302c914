//! A true loop with a real language model: it asks for a tool, the tool runs, and it answers with what the tool said.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::Counter;
use holdpoint::model::{ModelChoice, ModelOptions, Timeouts, ToolChoice};
use holdpoint::policy::AllowAll;
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Agent, Session, Status};
use holdpoint_core::{
    Arguments, AssistantMessage, CallArguments, CallId, Digest, Message, MessageCall, RequestedName, ToolMessage,
    ToolResult,
};
use serde_json::json;

fn choice(provider: &str) -> ModelChoice {
    let url = std::env::var("HOLDPOINT_TEST_LLM").expect(
        "HOLDPOINT_TEST_LLM is not set: run ./scripts/test, or start a server with ./scripts/llm start and set it to the URL",
    );
    let slow = Duration::from_secs(240);
    let timeouts = Timeouts { first_byte: slow, between_chunks: slow, ..Timeouts::default() };
    ModelChoice::parse(&format!("{provider}:smollm2")).unwrap().base_url(format!("{url}/v1")).timeouts(timeouts)
}

/// Two turns that went well, so that the small model sees how it is done.
fn example() -> Vec<Arc<Message>> {
    let turn = |id: &str, city: &str, sky: &str, says: &str| {
        let call = MessageCall {
            id: CallId::new(id),
            provider_id: None,
            name: RequestedName::new("get_weather"),
            arguments: CallArguments::Canonical(Arguments::from_canonical(
                format!("{{\"city\":\"{city}\"}}"),
                Digest([0; 32]),
            )),
        };
        let result =
            ToolMessage { call: CallId::new(id), provider_id: None, result: Arc::new(ToolResult::success(sky)) };
        [
            Message::user(format!("Weather in {city}?")),
            Message::Assistant(AssistantMessage { calls: vec![call], ..AssistantMessage::default() }),
            Message::Tool(result),
            Message::assistant(says),
        ]
    };
    let turns = [turn("a", "Rome", "sunny", "It is sunny in Rome."), turn("b", "Oslo", "rain", "It is rainy in Oslo.")];
    turns.into_iter().flatten().map(Arc::new).collect()
}

#[tokio::test]
async fn a_real_model_calls_a_tool_and_answers_with_its_result() {
    for provider in ["openai", "openai-responses", "anthropic"] {
        let counter = Counter::default();
        let counted = counter.clone();
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let weather = raw_tool("get_weather", "Weather in a city", schema, move |call: ToolCall| {
            counted.add();
            let paris = call.arguments().expose().contains("Paris");
            async move { if paris { "cloudy" } else { "unknown" } }
        });
        let options = ModelOptions { temperature: Some(0.0), output_tokens_max: Some(80), ..ModelOptions::default() };
        let agent = Agent::builder()
            .model(choice(provider))
            .model_options(options)
            .tool_choice(ToolChoice::Required)
            .policy(AllowAll)
            .tool(weather)
            .max_turns(4)
            .build()
            .unwrap();
        let session = Session::from_history(&agent, example());
        let result = session.chat("Weather in Paris?").await.unwrap();
        let text = result.text().unwrap_or_default().to_owned();
        assert_eq!(result.status(), Status::Finished, "{provider}: {text}");
        assert_eq!(counter.count(), 1, "{provider}: {text}");
        assert_eq!(result.records()[0].progress.as_str(), "succeeded", "{provider}");
        assert!(text.contains("cloudy") && text.contains("Paris"), "{provider}: {text}");
    }
}
