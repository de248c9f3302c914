//! A program without an async runtime.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::Agent;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::blocking_tool;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new(vec![ScriptedReply::call("d", "days", "{}"), ScriptedReply::text("A week.")]);
    let agent =
        Agent::builder().model(model).policy(AllowAll).tool(blocking_tool("days", "Counts days", || 7)).build()?;
    println!("{}", agent.chat("how long?").blocking()?.text().unwrap_or_default());
    Ok(())
}
