//! `holdpoint approvals show`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use holdpoint_codec::Shown;
use holdpoint_config::printable;
use serde_json::Value;

use crate::desk::{DeskArgs, text};

/// Show a question: the tool that would run, with which arguments, why a person is asked, and who may answer.
///
/// Characters that could deceive a reader are shown as their numbers.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ShowArgs {
    /// The approval.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    desk: DeskArgs,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint approvals show 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0
  holdpoint approvals show 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0 --json | jq .arguments";

pub(super) async fn run(args: &ShowArgs) -> Result<(), ExitCode> {
    let question = args.desk.open().await?.question(&args.id).await?;
    let told = if args.json { format!("{question}\n") } else { shown(&question) };
    let _ = write!(io::stdout(), "{told}");
    Ok(())
}

/// What a person has to see before they answer.
pub(super) fn shown(question: &Shown) -> String {
    let mut told = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            told.push_str(&format!("{name:9} {}\n", printable::line(value)));
        }
    };
    for (name, key) in [("approval", "id"), ("status", "status"), ("agent", "agent"), ("tool", "tool")] {
        line(name, &text(question, key));
    }
    line("arguments", question.raw("arguments").map_or("null", |raw| raw.get()));
    line("digest", &text(question, "digest"));
    match &*text(question, "kind") {
        "doubt" => line("doubt", "nobody knows whether it took effect; to allow it says that it did not, and runs it"),
        "input" => line("asks", question.value("doubt")["asks"]["message"].as_str().unwrap_or_default()),
        _ => {}
    }
    for (name, key) in [("why", "reason"), ("rule", "rule"), ("asked", "created_at"), ("until", "deadline")] {
        line(name, &text(question, key));
    }
    for (name, key) in [("for", "approvers"), ("approved", "approvals")] {
        let names = question.value(key);
        let names: Vec<&str> = names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        line(name, &names.join(", "));
    }
    if let Some(quorum) = question.value("quorum").as_u64().filter(|quorum| *quorum > 1) {
        line("needs", &format!("{quorum} people"));
    }
    told
}
