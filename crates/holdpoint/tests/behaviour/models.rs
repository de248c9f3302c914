//! What an agent tells its model, and models that are chosen by name.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdpoint::model::{
    DeltaSink, Model, ModelCall, ModelChoice, ModelError, ModelOptions, ModelReply, ModelRequest, ToolChoice,
};
use holdpoint::policy::AllowAll;
use holdpoint::tools::tool;
use holdpoint::{Agent, AgentBuilder, Code, Message, StopReason};
use holdpoint_core::{JsonText, ProviderState};

/// Asks for a call, then says something; keeps what it was told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(ToolChoice, ModelOptions)>>>);

#[async_trait]
impl Model for Told {
    fn window_tokens(&self) -> Option<u64> {
        Some(100)
    }

    async fn reply(&self, request: &ModelRequest<'_>, _: &dyn DeltaSink) -> Result<Option<ModelReply>, ModelError> {
        let mut told = self.0.lock().unwrap();
        told.push((request.tool_choice.clone(), request.options.clone()));
        let call = ModelCall { id: None, name: "time".into(), arguments: None };
        let data = JsonText::new(r#"{"signature":"s"}"#);
        let state = ProviderState { provider: "told".into(), version: 1, data };
        Ok(Some(match told.len() {
            1 => ModelReply { calls: vec![call], provider_state: Some(state), ..ModelReply::default() },
            _ => ModelReply { text: "done".into(), ..ModelReply::default() },
        }))
    }
}

fn agent(model: &Told) -> AgentBuilder {
    Agent::builder().model(model.clone()).policy(AllowAll).tool(tool("time", "Tells the time", async || "late"))
}

#[tokio::test]
async fn a_forced_call_is_forced_once() {
    let model = Told::default();
    let options = ModelOptions { temperature: Some(0.5), ..ModelOptions::default() };
    let agent = agent(&model).tool_choice(ToolChoice::Required).model_options(options.clone()).build().unwrap();
    assert_eq!(agent.chat("hi").await.unwrap().text().as_deref(), Some("done"));
    let told = model.0.lock().unwrap().clone();
    assert_eq!(told, [(ToolChoice::Required, options.clone()), (ToolChoice::Auto, options)]);
}

#[tokio::test]
async fn a_forbidden_call_stays_forbidden() {
    let model = Told::default();
    let agent = agent(&model).tool_choice(ToolChoice::None).build().unwrap();
    agent.chat("hi").await.unwrap();
    let told: Vec<ToolChoice> = model.0.lock().unwrap().iter().map(|(choice, _)| choice.clone()).collect();
    assert_eq!(told, [ToolChoice::None, ToolChoice::None]);
}

#[tokio::test]
async fn what_the_provider_wants_back_is_kept_with_its_message() {
    let model = Told::default();
    let result = agent(&model).build().unwrap().chat("hi").await.unwrap();
    let states = result.messages().iter().filter_map(|message| match &**message {
        Message::Assistant(message) => message.provider_state.as_ref().map(|state| state.data.expose()),
        Message::System(_) | Message::User(_) | Message::Tool(_) => None,
    });
    assert_eq!(states.collect::<Vec<_>>(), [r#"{"signature":"s"}"#]);
}

#[tokio::test]
async fn the_window_of_the_model_is_heeded_unless_another_is_given() {
    let long = "x".repeat(1_000);
    let result = agent(&Told::default()).build().unwrap().chat(long.as_str()).await.unwrap();
    let stop = result.stop_reason();
    assert!(matches!(stop, Some(StopReason::Failed(holdpoint_core::Failure::ContextWindowExceeded))), "{stop:?}");
    let roomy = agent(&Told::default()).context_window(10_000, 0).build().unwrap();
    assert_eq!(roomy.chat(long.as_str()).await.unwrap().text().as_deref(), Some("done"));
}

#[test]
fn a_model_that_cannot_be_had_is_told_when_the_agent_is_built() {
    let error = Agent::builder().model("nobody:model").build().unwrap_err();
    assert!(error.to_string().contains("there is no provider `nobody`"), "{error}");
    assert_eq!(error.code(), Code::InvalidConfig);
    let local = ModelChoice::parse("ollama:any").unwrap();
    assert!(Agent::builder().model(local).build().is_ok());
    assert!(Agent::builder().model("ollama:any").build().is_ok());
}
