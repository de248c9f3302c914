//! A call that needs a person: the run pauses, somebody says yes, the call runs once.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::Rules;
use holdpoint::tools::{ToolCall, tool};
use holdpoint::{Agent, Code, Decisions};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Refund {
    order: String,
    amount: u32,
}

const POLICY: &str = r#"
[[rule]]
tool = "refund"
when = { "/amount" = { gt = 100 } }
decide = "confirm"
reason = "refund above 100"

[[rule]]
tool = "refund"
decide = "allow"
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A scripted model needs no key and no network; a real one goes in its place.
    let model = ScriptedModel::new(vec![
        ScriptedReply::call("pay", "refund", r#"{"order": "A-42", "amount": 180}"#),
        ScriptedReply::text("The money is on its way."),
    ]);
    let agent = Agent::builder()
        .model(model)
        .tool(tool("refund", "Pays money back", async |refund: Refund, call: ToolCall| {
            // The key is equal over attempts and crashes: give it to the bank.
            let key = call.idempotency_key();
            format!("paid {} for {} under {}", refund.amount, refund.order, &key.as_str()[..8])
        }))
        .policy(Rules::parse(POLICY, "policy.toml")?)
        .build()?;

    let paused = agent.chat("My kettle is broken, I want my money back.").await?;
    for question in paused.pending_confirmations() {
        // Show what will run, not what the model says about it.
        println!("{} {}: {:?}", question.tool, question.arguments.expose(), question.reason);
    }

    // Now, or next week: the answer is bound to the digest of what was shown.
    let done = agent.resume(&paused, Decisions::new().allow("pay").by("ana")).await?;
    println!("{}", done.text().unwrap_or_default());
    assert_eq!(done.tool_executions(), 1);

    // A second click changes nothing.
    let again = agent.resume(&paused, [("pay", true)]).await;
    assert!(again.is_err_and(|error| error.code() == Code::StaleContinuation));
    Ok(())
}
