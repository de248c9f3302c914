//! Calls that workers do: they wait in the store until somebody has the tool for them, and the run goes on by itself.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Agent, Keeper, Repeat, Status, Worker, open_store};
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let store = open_store(&format!("sqlite:{}", folder.path().join("runs.db").display())).await?;
    let model = ScriptedModel::new(vec![
        ScriptedReply::calls(&[("a", "render", r#"{"page": 1}"#), ("b", "render", r#"{"page": 2}"#)]),
        ScriptedReply::text("Both pages are rendered."),
    ]);
    let render = raw_tool("render", "Renders a page", json!({"type": "object"}), async |call: ToolCall| {
        format!("rendered {} under {}", call.arguments().expose(), &call.idempotency_key().as_str()[..8])
    });
    let agent = Agent::builder()
        .model(model)
        // Rendering twice does no harm: a worker that dies is replaced. Without this a person would be asked.
        .tool(render.repeat(Repeat::Safe))
        .policy(AllowAll)
        .with_tool_concurrency("defer_all", None)
        .store(store)
        .build()?;

    // On this machine or on any other that opens the same store.
    let stop = CancellationToken::new();
    let worker = Worker::new(agent.runner()).name("renderer-1").tools("render").concurrency(4);
    let worker = tokio::spawn(worker.run(stop.clone()));
    // Takes results, lets questions expire, and picks up runs whose process died.
    let keeper = tokio::spawn(Keeper::new(agent.runner()).run(stop.clone()));

    let paused = agent.chat("render both pages").await?;
    println!("paused: {:?}", paused.stop_reason());
    let mut run = agent.runner().result(paused.run_id()).await?;
    while run.status() != Status::Finished {
        agent.runner().store().runs.changed(paused.run_id(), run.revision()).await?;
        run = agent.runner().result(paused.run_id()).await?;
    }
    println!("{}", run.text().unwrap_or_default());
    stop.cancel();
    worker.await??;
    keeper.await?;
    Ok(())
}
