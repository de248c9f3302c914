//! Tools that ask a person before they go on.

use crate::common;

use std::sync::{Arc, Mutex};

use common::{Counter, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::tools::{Inquiry, MadeTool, Tool, ToolCall, ToolDefinition, ToolError, raw_tool};
use holdpoint::{Actor, Agent, AgentBuilder, Code, Decisions, ExportOptions, RunResult, Siblings, Status, ToolResult};
use holdpoint_codec::SigningKey;
use holdpoint_core::{Block, CallKey, DoubtCause, JsonText, Repeat};
use holdpoint_store::MemoryStore;
use serde_json::{Value, json};

/// A tool that asks for a name, and says whom it greeted in which state.
fn greeter(name: &str, starts: &Counter) -> MadeTool {
    let starts = starts.clone();
    raw_tool(name, "Greets somebody", json!({ "type": "object" }), move |call: ToolCall| {
        starts.add();
        async move {
            let Some(given) = call.given() else {
                let schema =
                    json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
                return Err(ToolError::needs_input(Inquiry {
                    message: "who?".into(),
                    schema,
                    state: json!([7, "seven"]),
                }));
            };
            let asked = Inquiry::from_result(&given.asks).unwrap();
            let said = asked.read_answer(given.answer.as_deref()).unwrap();
            Ok(format!("hello {} in {} on attempt {}", said["name"], asked.state, call.attempt().0))
        }
    })
}

fn name(name: &str) -> ToolResult {
    ToolResult::from_blocks(vec![Block::Json(JsonText::new(json!({ "name": name }).to_string()))])
}

fn builder(calls: &[(&str, &str, &str)]) -> AgentBuilder {
    let model = ScriptedModel::new(vec![ScriptedReply::calls(calls), ScriptedReply::text("done")]);
    Agent::builder().model(model).policy(by_name())
}

fn told(result: &RunResult) -> Vec<String> {
    let texts: Vec<String> = result.new_messages().iter().map(|message| message.text()).collect();
    texts.into_iter().filter(|text| !text.is_empty() && text != "go").collect()
}

#[tokio::test]
async fn the_run_pauses_and_the_answer_goes_to_the_tool() {
    let (starts, others) = (Counter::default(), Counter::default());
    let calls = [("a", "greet", "{}"), ("b", "other", "{}")];
    let agent = builder(&calls).tool(greeter("greet", &starts)).tool(echo("other", &others)).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    assert_eq!((paused.status(), others.count()), (Status::AwaitingToolConfirmation, 0));
    let pending = paused.pending_confirmations();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].doubt.as_ref().unwrap().cause, DoubtCause::NeedsInput);
    let shown = pending[0].to_json();
    assert_eq!(shown["doubt"]["asks"]["message"], "who?");
    assert!(!shown.to_string().contains("seven"), "what the tool keeps is shown to nobody");

    let result = agent.resume(&paused, Decisions::new().answer("a", name("ana"))).await.unwrap();
    assert_eq!(told(&result), ["hello \"ana\" in [7,\"seven\"] on attempt 2", "{}", "done"]);
    assert_eq!((starts.count(), others.count(), result.tool_executions()), (2, 1, 3));
}

#[tokio::test]
async fn siblings_run_while_a_tool_asks_where_that_is_wanted() {
    let (starts, others) = (Counter::default(), Counter::default());
    let calls = [("a", "greet", "{}"), ("b", "other", "{}")];
    let agent = builder(&calls).siblings(Siblings::Run);
    let agent = agent.tool(greeter("greet", &starts)).tool(echo("other", &others)).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    assert_eq!((paused.status(), others.count()), (Status::AwaitingToolConfirmation, 1));
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_is_refused_and_changes_nothing() {
    let agent = builder(&[("a", "greet", "{}")]).tool(greeter("greet", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let wrong = [Decisions::new().answer("a", ToolResult::success("ana")), Decisions::new().allow("a")];
    for decisions in wrong {
        assert_eq!(agent.resume(&paused, decisions).await.unwrap_err().code(), Code::InvalidArguments);
    }
    let edited: Value = json!({});
    let edit = agent.resume(&paused, Decisions::new().allow_edited("a", &edited)).await;
    assert_eq!(edit.unwrap_err().code(), Code::InvalidDecision);
    let text = ToolResult::success(r#"{"name": "ana"}"#);
    let result = agent.resume(&paused, Decisions::new().answer("a", text)).await.unwrap();
    assert_eq!(result.status(), Status::Finished);
}

#[tokio::test]
async fn a_person_who_does_not_answer_ends_the_call() {
    let agent = builder(&[("a", "greet", "{}")]).tool(greeter("greet", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let result = agent.resume(&paused, Decisions::new().deny("a", "it is nobody's business")).await.unwrap();
    assert!(told(&result)[0].contains("they did not answer: it is nobody's business"), "{:?}", told(&result));
}

#[tokio::test]
async fn a_person_may_say_what_came_of_it() {
    let agent = builder(&[("a", "greet", "{}")]).tool(greeter("greet", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let happened = Decisions::new().happened("a", ToolResult::success("I greeted them myself"));
    assert_eq!(told(&agent.resume(&paused, happened).await.unwrap()), ["I greeted them myself", "done"]);
}

#[tokio::test]
async fn what_was_asked_and_answered_travels_with_the_run() {
    let key = SigningKey::new("k", b"a key of the test");
    let starts = Counter::default();
    let agent = |store: Arc<MemoryStore>| {
        let model = ScriptedModel::new(vec![
            ScriptedReply::calls(&[("a", "greet", "{}"), ("b", "greet", "{}")]),
            ScriptedReply::text("done"),
        ]);
        let agent = Agent::builder().model(model).policy(by_name()).with_tool_concurrency("concurrent", 2);
        let greet = greeter("greet", &starts).parallelizable(true);
        agent.tool(greet).store(store).signing_key(key.clone()).build().unwrap()
    };
    let here = agent(Arc::default());
    let paused = here.chat("go").await.unwrap();
    assert_eq!(paused.pending_confirmations().len(), 2);
    let half = here.resume(&paused, Decisions::new().answer("a", name("ana")).partial()).await.unwrap();
    assert_eq!(half.pending_confirmations().len(), 1);
    // The same again changes nothing, something else is refused.
    let same = here.resume(&half, Decisions::new().answer("a", name("ana")).partial()).await.unwrap();
    assert_eq!(same.continuation().unwrap().id(), half.continuation().unwrap().id());
    let other = here.resume(&half, Decisions::new().answer("a", name("eve")).partial()).await;
    assert_eq!(other.unwrap_err().code(), Code::ConflictingDecision);

    let payload = here.runner().export(&half.continuation().unwrap(), &ExportOptions::default()).unwrap();
    let model = ScriptedModel::new(vec![ScriptedReply::text("done")]);
    let there = Agent::builder().model(model).policy(by_name()).signing_key(key.clone());
    let there = there.tool(greeter("greet", &starts)).build().unwrap();
    let result = there.resume(payload, Decisions::new().answer("b", name("bo"))).await.unwrap();
    let told = told(&result);
    assert!(told[0].starts_with("hello \"ana\"") && told[1].starts_with("hello \"bo\""), "{told:?}");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_refused_and_never_cut() {
    let agent = builder(&[("a", "greet", "{}")]).max_tool_output_bytes(100);
    let agent = agent.tool(greeter("greet", &Counter::default())).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let large = agent.resume(&paused, Decisions::new().answer("a", name(&"x".repeat(200)))).await.unwrap_err();
    assert_eq!(large.code(), Code::ArgumentsTooLarge);
    assert!(large.to_string().contains("100 is the limit") && !large.to_string().contains("xx"), "{large}");
    let result = agent.resume(&paused, Decisions::new().answer("a", name("ana"))).await.unwrap();
    assert!(told(&result)[0].starts_with("hello \"ana\""), "{:?}", told(&result));
}

/// A tool that asks, and notes what it is told to let go of.
struct Keeping {
    inner: MadeTool,
    abandoned: Arc<Mutex<Vec<CallKey>>>,
}

#[async_trait::async_trait]
impl Tool for Keeping {
    fn definition(&self) -> &ToolDefinition {
        self.inner.definition()
    }

    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        self.inner.call(call).await
    }

    fn abandon(&self, key: &CallKey) {
        self.abandoned.lock().unwrap().push(key.clone());
    }
}

#[tokio::test]
async fn a_tool_that_asked_is_told_when_its_call_is_over_however_that_came() {
    let ends = ["deny", "happened", "answer", "cancel"];
    for end in ends {
        let abandoned: Arc<Mutex<Vec<CallKey>>> = Arc::default();
        let inner = greeter("greet", &Counter::default());
        let keeping = Keeping { inner, abandoned: Arc::clone(&abandoned) };
        let agent = builder(&[("b", "other", "{}"), ("a", "greet", "{}")]);
        let agent = agent.tool(keeping).tool(echo("other", &Counter::default())).build().unwrap();
        let paused = agent.chat("go").await.unwrap();
        assert!(abandoned.lock().unwrap().is_empty(), "{end}: it still waits");
        let decisions = match end {
            "deny" => Some(Decisions::new().deny("a", "no")),
            "happened" => Some(Decisions::new().happened("a", ToolResult::success("it did"))),
            "answer" => Some(Decisions::new().answer("a", name("ana"))),
            _ => None,
        };
        match decisions {
            Some(decisions) => drop(agent.resume(&paused, decisions).await.unwrap()),
            None => drop(agent.runner().cancel(paused.run_id(), Actor::default()).await.unwrap()),
        }
        let told = abandoned.lock().unwrap().clone();
        assert_eq!(told.len(), 1, "{end}");
        assert_eq!((&told[0].run, told[0].index.as_usize()), (paused.run_id(), 1), "{end}");
    }
}

/// A tool that does not know what became of it so many times, and then does.
fn forgetful(times: u32, starts: &Counter) -> MadeTool {
    let starts = starts.clone();
    let tool = raw_tool("forget", "Forgets", json!({ "type": "object" }), move |_: ToolCall| {
        starts.add();
        let count = starts.count();
        async move { if count > times { Ok("done at last") } else { Err(ToolError::unknown("who knows")) } }
    });
    tool.repeat(Repeat::Safe)
}

#[tokio::test]
async fn what_may_be_repeated_is_repeated_when_nobody_knows_what_became_of_it() {
    let starts = Counter::default();
    let agent = builder(&[("a", "forget", "{}")]).tool(forgetful(2, &starts)).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    assert_eq!(told(&result), ["done at last", "done"]);
    assert_eq!(starts.count(), 3);
}

#[tokio::test]
async fn a_person_is_asked_about_what_was_repeated_as_often_as_it_may_be() {
    let starts = Counter::default();
    let agent = builder(&[("a", "forget", "{}")]).tool(forgetful(u32::MAX, &starts)).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    assert_eq!((paused.status(), starts.count()), (Status::AwaitingToolConfirmation, 3));
    assert_eq!(paused.pending_confirmations()[0].doubt.as_ref().unwrap().cause, DoubtCause::OutOfAttempts);
    let given = Decisions::new().happened("a", ToolResult::success("it did"));
    assert_eq!(told(&agent.resume(&paused, given).await.unwrap()), ["it did", "done"]);
}
