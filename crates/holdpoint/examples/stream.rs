//! Events as they happen. A reader that goes away does not stop the run, and one that comes late misses nothing.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::tool;
use holdpoint::{Agent, Revision, StreamEvent};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model =
        ScriptedModel::new(vec![ScriptedReply::call("t", "time", "{}"), ScriptedReply::text("It is nearly midnight.")]);
    let agent = Agent::builder().model(model).policy(AllowAll).tool(tool("time", "Tells the time", async || "23:58"));
    let agent = agent.build()?;

    let mut stream = agent.chat("what time is it?").stream();
    while let Some(event) = stream.next().await {
        match &event {
            StreamEvent::TextDelta(text) => print!("{text}"),
            StreamEvent::Durable(durable) => println!("[{}] {}", durable.seq(), event.name()),
            _ => {}
        }
    }
    let result = stream.result().await?;

    let missed = agent.runner().events(result.run_id(), Revision(3)).await?;
    println!("{} events after the third", missed.len());
    Ok(())
}
