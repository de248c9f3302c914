//! A conversation over several runs. While a run waits, a new message is refused instead of mixed in.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::policy_fn;
use holdpoint::tools::tool;
use holdpoint::{Agent, Code, Decision};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new(vec![
        ScriptedReply::text("Hello! What can I do?"),
        ScriptedReply::call("d", "delete_account", "{}"),
        ScriptedReply::text("As you wish: the account stays."),
    ]);
    let agent = Agent::builder()
        .model(model)
        .system_prompt("You are careful.")
        .policy(policy_fn(|_| Decision::confirm("this cannot be undone")))
        .tool(tool("delete_account", "Deletes the account", async || "deleted"))
        .build()?;

    let session = agent.session();
    session.chat("hi").await?;
    let paused = session.chat("delete my account").await?;

    let refused = session.chat("hello?").await;
    assert!(refused.is_err_and(|error| error.code() == Code::RunPaused));

    let done = session.resume(&paused, [("d", false)]).await?;
    println!("{}", done.text().unwrap_or_default());
    println!("{} messages in the conversation", session.history().len());
    Ok(())
}
