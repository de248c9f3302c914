//! Agents: what is refused when they are built, how they are changed between runs, and their saved configuration.

use crate::common;

use std::time::Duration;

use common::{Counter, asking, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::tools::raw_tool;
use holdpoint::{Agent, AgentConfig, Code, Parallel};
use serde_json::json;
use tokio::time::Instant;

#[test]
fn impossible_settings_are_refused_when_the_agent_is_built() {
    let built = |change: fn(holdpoint::AgentBuilder) -> holdpoint::AgentBuilder| {
        change(asking(&[]).0).build().map(|_| ()).unwrap_err()
    };
    assert_eq!(built(|b| b.max_turns(0)).code(), Code::InvalidConfig);
    assert_eq!(built(|b| b.with_tool_concurrency("async", 0)).code(), Code::InvalidConfig);
    assert_eq!(built(|b| b.context_window(100, 100)).code(), Code::InvalidConfig);
    assert_eq!(built(|b| b.tool_timeout_ms(0)).code(), Code::InvalidConfig);
    assert_eq!(built(|b| b.with_tool_concurrency("threads", None).unlimited_concurrency()).code(), Code::InvalidConfig);
    let unknown = built(|b| b.with_tool_concurrency("fibers", None));
    assert_eq!(unknown.code(), Code::UnknownExecutor);
    assert!(unknown.to_string().contains("concurrent") && unknown.to_string().contains("fibers"), "{unknown}");
    let routed = built(|b| b.route("slow_*", "nowhere"));
    assert_eq!(routed.code(), Code::UnknownExecutor);
    let twice = asking(&[]).0.tool(echo("a", &Counter::default())).tool(echo("a", &Counter::default())).build();
    assert_eq!(twice.unwrap_err().code(), Code::InvalidConfig);
    assert_eq!(Agent::builder().build().unwrap_err().code(), Code::InvalidConfig);
}

#[tokio::test]
async fn without_a_policy_everything_is_denied() {
    let counter = Counter::default();
    let script = vec![ScriptedReply::call("c", "work", "{}"), ScriptedReply::text("done")];
    let agent = Agent::builder().model(ScriptedModel::new(script)).tool(echo("work", &counter)).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    assert_eq!(result.records()[0].progress.as_str(), "denied");
    assert_eq!(counter.count(), 0);
}

fn sleeping(name: &str, seconds: u64) -> holdpoint::tools::MadeTool {
    raw_tool(name, "Sleeps", json!({"type": "object"}), move |_| async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        "ok"
    })
}

fn three_tools() -> Agent {
    let calls = ScriptedReply::calls(&[("a", "weather", "{}"), ("b", "stock", "{}"), ("c", "currency", "{}")]);
    let model = ScriptedModel::repeating(vec![calls, ScriptedReply::text("done")]);
    let builder = Agent::builder().model(model).policy(by_name());
    builder.tool(sleeping("weather", 2)).tool(sleeping("stock", 3)).tool(sleeping("currency", 1)).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn three_tools_of_two_three_and_one_second_take_three_seconds_when_they_run_together() {
    let agent = three_tools();
    let started = Instant::now();
    agent.chat("go").await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 6);
    let agent = agent.with_tool_concurrency("async", 5).unwrap().with_parallel(Parallel::All).unwrap();
    let started = Instant::now();
    agent.chat("go").await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 3);
    let agent = agent.with_tool_concurrency("sequential", None).unwrap();
    let started = Instant::now();
    agent.chat("go").await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 6);
}

#[tokio::test(start_paused = true)]
async fn results_are_told_as_they_come_and_stored_as_they_were_asked_for() {
    let agent = three_tools().with_tool_concurrency("async", 5).unwrap().with_parallel(Parallel::All).unwrap();
    let mut stream = agent.chat("go").stream();
    let mut ended = Vec::new();
    while let Some(event) = stream.next().await {
        if event.name() == "tool_ended" {
            ended.push(event.to_json()["index"].as_u64().unwrap());
        }
    }
    assert_eq!(ended, [2, 0, 1]);
    let result = stream.result().await.unwrap();
    let ids: Vec<String> = result.records().iter().map(|record| record.id.to_string()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

#[test]
fn a_configuration_survives_its_journey_through_json() {
    let agent = asking(&[])
        .0
        .name("support")
        .system_prompt("be kind")
        .tool(echo("work", &Counter::default()))
        .with_tool_concurrency("concurrent", 7)
        .parallel(Parallel::All)
        .route("slow_*", "defer_all")
        .siblings(holdpoint::Siblings::Run)
        .max_turns(3)
        .context_keys(["user_id"])
        .context_window(1000, 100)
        .fix_empty_final(false)
        .build()
        .unwrap();
    let json = agent.config().to_json();
    let config = AgentConfig::from_json(&json).unwrap();
    assert_eq!(config, agent.config());
    assert_eq!(config.tools, ["work"]);
    let again = holdpoint::AgentBuilder::from_config(&config).model(ScriptedModel::new(vec![])).build().unwrap();
    assert_eq!(again.name(), Some("support"));
    assert_eq!(again.runner().settings(), agent.runner().settings());
}

#[test]
fn a_configuration_of_another_version_or_shape_is_refused() {
    let json = asking(&[]).0.max_turns(3).build().unwrap().config().to_json();
    let newer = json.replace("\"schema_version\": 1", "\"schema_version\": 2");
    assert_eq!(AgentConfig::from_json(&newer).unwrap_err().code(), Code::UnsupportedSchemaVersion);
    let misspelt = json.replace("max_turns", "max_turn");
    assert_eq!(AgentConfig::from_json(&misspelt).unwrap_err().code(), Code::InvalidConfig);
    assert_eq!(AgentConfig::from_json("{}").unwrap_err().code(), Code::InvalidConfig);
}
