//! Export and import of a signed continuation, beside plain serde_json of the same messages.

use std::time::{Duration, Instant};

use holdpoint::{Agent, Context, ExportOptions, RunRequest, SigningKey};
use holdpoint_codec::continuation::{self, DumpOptions};
use holdpoint_codec::{LoadOptions, message_view};
use serde_json::json;

use crate::parts::{Says, agent, history, print};

const ROUNDS: u32 = 30;

pub(crate) async fn measure() -> anyhow::Result<()> {
    for messages in [10, 100, 1000] {
        measure_with(messages).await?;
    }
    Ok(())
}

async fn measure_with(messages: usize) -> anyhow::Result<()> {
    let agent: Agent = agent(1, Says::Confirm)?;
    let paused = agent.chat(RunRequest::new("go").after(history(messages, 500))).await?;
    let paused = paused.continuation().ok_or_else(|| anyhow::anyhow!("the run did not pause"))?;
    agent.runner().export(&paused, &ExportOptions::default())?;
    let plain: Vec<_> = paused.run().messages().iter().map(|m| message_view(m)).collect();
    let plain_text = serde_json::to_string(&plain)?;
    let key = SigningKey::new("bench", [7; 32]);
    let context = Context::new();
    let options = DumpOptions { context: Some(&context), key: Some(&key), ..DumpOptions::default() };
    let text = continuation::dump(paused.run(), &options)?;
    let ours = fastest(|| {
        let text = continuation::dump(paused.run(), &options)?;
        let load = LoadOptions { keys: std::slice::from_ref(&key), ..LoadOptions::default() };
        Ok(continuation::load(text, &load)?.snapshot.messages.len())
    })?;
    let theirs = fastest(|| {
        let text = serde_json::to_string(&plain)?;
        let back: Vec<serde_json::Value> = serde_json::from_str(&text)?;
        Ok(back.len())
    })?;
    let time_ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let size_ratio = text.len() as f64 / plain_text.len() as f64;
    print(&json!({
        "bench": "continuation", "messages": messages, "dump_and_load_us": ours.as_micros(),
        "plain_serde_json_us": theirs.as_micros(), "time_ratio": time_ratio, "time_ratio_max": 3.0,
        "bytes": text.len(), "plain_bytes": plain_text.len(), "size_ratio": size_ratio, "size_ratio_max": 1.1,
        "holds": messages < 1000 || (time_ratio <= 3.0 && size_ratio <= 1.1),
    }));
    Ok(())
}

/// The fastest of several rounds: what disturbs a round only makes it slower.
fn fastest(mut round: impl FnMut() -> anyhow::Result<usize>) -> anyhow::Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        std::hint::black_box(round()?);
        best = best.min(started.elapsed());
    }
    Ok(best)
}
