//! A worker on another machine does only calls whose signed receipt it can verify.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::policy_fn;
use holdpoint::store::{MemoryStore, Store};
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Agent, Decision, Decisions, Keeper, ReceiptKey, ReceiptKeys, Status, Worker};
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The private key stays with those who drive runs; everybody may know the public one.
    let key = ReceiptKey::generate("2026-11")?;
    let published = ReceiptKeys::from(key.public()).to_json().to_string();

    let store = Store::from(MemoryStore::new());
    let agent = || {
        let script = vec![
            ScriptedReply::calls(&[("a", "refund", r#"{"order": 42, "amount": 5}"#)]),
            ScriptedReply::text("The refund is on its way."),
        ];
        let refund = raw_tool("refund", "Pays money back", json!({"type": "object"}), async |call: ToolCall| {
            format!("refunded {}", call.arguments().expose())
        });
        Agent::builder()
            .model(ScriptedModel::new(script))
            .tool(refund)
            .policy(policy_fn(|_| Decision::confirm("money leaves the house")))
            .with_tool_concurrency("defer_all", None)
            .store(store.clone())
    };
    let server = agent().receipt_key(key).build()?;

    // The worker has no private key: it could not make a receipt if it wanted to.
    let stop = CancellationToken::new();
    let machine = agent().build()?;
    let worker = Worker::new(machine.runner()).verify(ReceiptKeys::from_json(&published)?);
    let worker = tokio::spawn(worker.run(stop.clone()));
    let keeper = tokio::spawn(Keeper::new(server.runner()).run(stop.clone()));

    let asked = server.chat("refund order 42").await?;
    let paused = server.resume(&asked, Decisions::new().allow("a").by("ana")).await?;
    let mut run = server.runner().result(paused.run_id()).await?;
    while run.status() != Status::Finished {
        server.runner().store().runs.changed(run.run_id(), run.revision()).await?;
        run = server.runner().result(run.run_id()).await?;
    }
    println!("{}", run.text().unwrap_or_default());
    stop.cancel();
    worker.await??;
    keeper.await?;
    Ok(())
}
