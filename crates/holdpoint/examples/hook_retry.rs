//! A retry: what failed and may be repeated is tried again. Each try is an attempt of its own with the same key.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::{Arc, Mutex};

use holdpoint::hooks::Retry;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::{MadeTool, ToolCall, raw_tool};
use holdpoint::{Agent, Repeat};
use serde_json::json;

type Seen = Arc<Mutex<Vec<(String, u32, String)>>>;

/// Works at the third attempt.
fn flaky(name: &str, seen: &Seen) -> MadeTool {
    let seen = Arc::clone(seen);
    raw_tool(name, "Works sometimes", json!({"type": "object"}), move |call: ToolCall| {
        let attempt = call.attempt().0;
        let key = call.idempotency_key().as_str().to_owned();
        seen.lock().expect("nobody panicked").push((call.tool().to_string(), attempt, key));
        async move { if attempt < 3 { Err("connection reset") } else { Ok("done") } }
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seen = Seen::default();
    let calls = ScriptedReply::calls(&[("a", "charge", "{}"), ("b", "pay", "{}")]);
    let agent = Agent::builder()
        .model(ScriptedModel::new(vec![calls, ScriptedReply::text("done")]))
        // The bank knows the key of a charge, so a second one does no harm. Nothing is known of `pay`.
        .tool(flaky("charge", &seen).repeat(Repeat::WithKey))
        .tool(flaky("pay", &seen))
        .policy(AllowAll)
        // Five attempts at most, after 1 ms, 2 ms, 4 ms, …
        .around(Retry::builder(5, 1).build()?)
        .build()?;

    let records = agent.chat("Charge, then pay.").await?.records();
    assert_eq!(records[0].progress.as_str(), "succeeded");
    assert_eq!(records[1].progress.as_str(), "failed");

    let seen = seen.lock().expect("nobody panicked");
    let tries: Vec<_> = seen.iter().map(|(tool, attempt, _)| (tool.as_str(), *attempt)).collect();
    println!("{tries:?}");
    assert_eq!(tries, [("charge", 1), ("charge", 2), ("charge", 3), ("pay", 1)]);
    assert!(seen[0].2 == seen[1].2 && seen[1].2 == seen[2].2, "one key for all attempts");
    Ok(())
}
