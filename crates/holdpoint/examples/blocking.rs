//! A program without an async runtime.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::blocking_tool;
use holdpoint::{Agent, blocking};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new(vec![ScriptedReply::call("d", "days", "{}"), ScriptedReply::text("A week.")]);
    let agent =
        Agent::builder().model(model).policy(AllowAll).tool(blocking_tool("days", "Counts days", || 7)).build()?;
    let agent = blocking::Agent::new(agent)?;
    println!("{}", agent.chat("how long?")?.text().unwrap_or_default());
    Ok(())
}
