//! The sample agent in the terminal: no key, no network, a run, a question and a result within a minute.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;

use holdpoint::blocking;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::Rules;
use holdpoint::store::{MemoryStore, Store};
use holdpoint::tools::{ToolCall, tool};
use holdpoint::{Agent, Decisions, Pending, RunResult, StreamEvent};
use schemars::JsonSchema;
use serde::Deserialize;

/// The policy of the sample: reading is free, money needs a person.
const POLICY: &str = r#"
[[rule]]
tool = "find_order"
decide = "allow"

[[rule]]
tool = "refund"
when = { "/amount" = { gt = 100 } }
decide = "confirm"
reason = "refund above 100"
[[rule.example]]
arguments = { order = "A-42", amount = 180 }
decides = "confirm"

[[rule]]
tool = "refund"
decide = "allow"
"#;

/// The sample agent's name, as its runs carry it.
pub(crate) const NAME: &str = "sample";

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The order's number.
    order: String,
}

#[derive(Deserialize, JsonSchema)]
struct Refund {
    /// The order's number.
    order: String,
    /// What to pay back.
    amount: u32,
}

/// Runs the sample.
pub(crate) fn run() -> ExitCode {
    match converse() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The sample agent, with its runs in this store.
pub(crate) fn agent(store: Arc<dyn Store>) -> anyhow::Result<Agent> {
    let script = vec![
        ScriptedReply::call("look", "find_order", r#"{"order": "A-42"}"#).costing(210, 18),
        ScriptedReply::call("pay", "refund", r#"{"order": "A-42", "amount": 180}"#).costing(260, 21),
        ScriptedReply::text("I have looked into order A-42 and told you what happened.").costing(310, 24),
    ];
    Ok(Agent::builder()
        .name(NAME)
        .system_prompt("You help customers with their orders.")
        .model(ScriptedModel::new(script).named("scripted:sample"))
        .tool(tool("find_order", "Looks an order up", async |order: Order| {
            format!("order {}: 1 kettle, 180, delivered broken", order.order)
        }))
        .tool(tool("refund", "Pays money back", async |refund: Refund, call: ToolCall| {
            format!(
                "paid {} back for {} (receipt {})",
                refund.amount,
                refund.order,
                &call.idempotency_key().as_str()[..8]
            )
        }))
        .policy(Rules::parse(POLICY, "the sample's policy")?)
        .store(store)
        .build()?)
}

fn converse() -> anyhow::Result<()> {
    let agent = blocking::Agent::new(agent(Arc::new(MemoryStore::new()))?)?;
    println!("Holdpoint's sample agent. It may look orders up; above 100 it pays back only if you say so.\n");
    println!("you:   My kettle from order A-42 arrived broken. I want my money back.");
    let mut result = agent.chat_stream("My kettle from order A-42 arrived broken. I want my money back.", show)?;
    while result.is_awaiting_confirmation() {
        let Some(decisions) = ask(&result)? else {
            println!("\nNobody answered: the run stays paused. Start again and answer `y` or `n`.");
            return Ok(());
        };
        result = agent.resume(&result, decisions)?;
        show_results(&result);
    }
    println!("agent: {}", result.text().unwrap_or_default());
    let usage = result.usage();
    println!(
        "\n{} turns, {} model calls, {} tool executions, {} tokens; stopped with `{}`.",
        result.turns(),
        result.model_calls(),
        result.tool_executions(),
        usage.total(),
        result.stop_reason().map_or_else(|| "nothing".to_owned(), |stop| stop.to_string())
    );
    println!("Next: read README.md, or run `holdpoint test scenarios`.");
    Ok(())
}

fn show(event: StreamEvent) {
    let json = event.to_json();
    match event.name() {
        "tool_started" => println!("tool:  {} starts", json["tool"].as_str().unwrap_or("a tool")),
        "tool_ended" => println!("tool:  {} ended", json["tool"].as_str().unwrap_or("a tool")),
        _ => {}
    }
}

fn show_results(result: &RunResult) {
    for message in result.new_messages() {
        if message.role() == holdpoint::Role::Tool {
            println!("tool:  {}", message.text());
        }
    }
}

/// Asks about each pending call. `None` when the input ended.
fn ask(paused: &RunResult) -> anyhow::Result<Option<Decisions>> {
    let mut decisions = Decisions::new().by("you");
    for question in paused.pending_confirmations() {
        show_question(&question);
        loop {
            print!("       Let it run? [y/n] ");
            io::stdout().flush()?;
            let mut line = String::new();
            if io::stdin().lock().read_line(&mut line)? == 0 {
                return Ok(None);
            }
            match line.trim() {
                "y" | "yes" => decisions = decisions.allow(question.id.clone()),
                "n" | "no" => decisions = decisions.deny(question.id.clone(), "the person at the terminal said no"),
                _ => continue,
            }
            break;
        }
    }
    Ok(Some(decisions))
}

fn show_question(question: &Pending) {
    println!("\nasks:  {} {}", question.tool, question.arguments.expose());
    println!("       why: {}", question.reason.as_deref().unwrap_or("the policy wants a person to decide"));
    println!("       digest: {}", question.digest());
}
