//! `holdpoint runs show`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use holdpoint_codec::Shown;
use holdpoint_config::printable;
use serde_json::Value;

use crate::desk::{DeskArgs, listed, text};

/// Show where a run is, what it waits for, and its conversation.
///
/// What models and tools wrote is shown as it is, except that characters which could deceive a reader are shown as their
/// numbers. It may hold whatever the conversation holds: mind who looks on.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ShowArgs {
    /// The run.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    desk: DeskArgs,
    /// One JSON object: what `GET /v1/runs/ID` answers, and the messages.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint runs show 0199f0c1-2b3c-7d4e-8f50-1234567890ab
  holdpoint runs show 0199f0c1-2b3c-7d4e-8f50-1234567890ab --json | jq .pending";

pub(super) async fn run(args: &ShowArgs) -> Result<(), ExitCode> {
    let desk = args.desk.open().await?;
    let mut run = desk.run(&args.id).await?;
    let messages = desk.messages(&args.id).await?;
    let told = if args.json {
        run.set("messages", &messages);
        format!("{run}\n")
    } else {
        shown(&run, &messages)
    };
    let _ = write!(io::stdout(), "{told}");
    Ok(())
}

fn shown(run: &Shown, messages: &[Shown]) -> String {
    let mut told = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            told.push_str(&format!("{name:8} {}\n", printable::line(value)));
        }
    };
    for (name, key) in [
        ("run", "id"),
        ("agent", "agent"),
        ("session", "session"),
        ("by", "actor"),
        ("created", "created_at"),
        ("status", "status"),
        ("stopped", "stop_reason"),
    ] {
        line(name, &text(run, key));
    }
    line(
        "cost",
        &format!(
            "{} turns, {} model calls, {} tool executions, {} tokens read, {} written",
            run.value("turn"),
            run.value("model_calls"),
            run.value("tool_executions"),
            run.value("usage")["input"],
            run.value("usage")["output"]
        ),
    );
    for waiting in &listed(run, "pending") {
        let arguments = waiting.raw("arguments").map_or("null", |raw| raw.get());
        line("waits", &format!("{} {arguments}", text(waiting, "tool")));
        if !text(waiting, "reason").is_empty() {
            line("", &format!("why: {}", text(waiting, "reason")));
        }
        line("", &format!("digest: {}", text(waiting, "digest")));
    }
    told + &messages.iter().map(spoken).collect::<String>()
}

fn spoken(message: &Shown) -> String {
    fn text<'v>(value: &'v Value, key: &str) -> &'v str {
        value[key].as_str().unwrap_or_default()
    }
    let message = message.to_value();
    let blocks = message["content"].as_array().into_iter().flatten().map(|block| text(block, "text"));
    let said: Vec<&str> = std::iter::once(text(&message, "text")).chain(blocks).collect();
    let said = printable::lines(&said.join("\n"));
    let asked = message["calls"].as_array().into_iter().flatten();
    let asked = asked.map(|call| format!("asks for {}", printable::line(text(call, "name"))));
    let lines = said.lines().filter(|line| !line.is_empty()).map(str::to_owned).chain(asked);
    format!("\n{}\n{}", text(&message, "role"), lines.map(|line| format!("  {line}\n")).collect::<String>())
}
