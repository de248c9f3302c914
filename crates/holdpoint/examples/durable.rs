//! A run that outlives its process: it pauses in one, and goes on in another that knows only the store.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::{Policy, policy_fn};
use holdpoint::tools::raw_tool;
use holdpoint::{Agent, Decision, Decisions, Error, RunId, open_store};
use serde_json::json;

fn ask_about_refunds() -> impl Policy {
    policy_fn(|request| match request.tool.as_str() {
        "refund" => Decision::confirm("money leaves the house"),
        _ => Decision::deny("not for agents"),
    })
}

/// Every process puts the same agent together.
async fn agent(url: &str, script: Vec<ScriptedReply>) -> Result<Agent, Error> {
    Agent::builder()
        .name("support")
        .model(ScriptedModel::new(script))
        .tool(raw_tool("refund", "Pays money back", json!({"type": "object"}), async |_| "paid"))
        .policy(ask_about_refunds())
        .store(open_store(url).await?)
        .build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    // Or `postgres://USER@HOST/DATABASE`: nothing else changes.
    let url = format!("sqlite:{}", folder.path().join("runs.db").display());

    let run: RunId = {
        let first = agent(&url, vec![ScriptedReply::call("pay", "refund", r#"{"amount": 180}"#)]).await?;
        let paused = first.chat("My kettle is broken, I want my money back.").await?;
        println!("paused: {:?}", paused.stop_reason());
        paused.run_id().clone()
    };

    // Days later, in another process.
    let second = agent(&url, vec![ScriptedReply::text("The money is on its way.")]).await?;
    let paused = second.runner().result(&run).await?;
    let question = &paused.pending_confirmations()[0];
    println!("{} {} ({})", question.tool, question.arguments.expose(), question.arguments.digest());
    let done = second.resume(&paused, Decisions::new().allow("pay").by("ana")).await?;
    println!("{}", done.text().unwrap_or_default());
    assert_eq!(done.tool_executions(), 1);
    Ok(())
}
