//! `c`: pause, serialise, deserialise elsewhere, resume, with a longer and longer history.

use std::sync::Arc;

use holdpoint::{Agent, ExportOptions, Message, RunRequest, SigningKey};
use holdpoint_policy::policy_fn;
use holdpoint_store::MemoryStore;
use serde_json::{Value, json};

use super::agent;
use super::bare::{Bare, go};
use super::process::{Watch, median, median_difference};
use crate::parts::print;

const SCRIPT: &str = "m-turns1-k1";
const ROUNDS: usize = 8;
/// How long each message of the history is.
const MESSAGE_CHARS: usize = 500;

pub(super) async fn measure(url: &str) -> anyhow::Result<()> {
    let bare = Bare::new(url)?;
    for prior in [10, 100, 1000] {
        measure_with(url, &bare, prior).await?;
    }
    Ok(())
}

fn filler(prior: usize) -> Vec<String> {
    let text = |index| format!("message {index} {}", "lorem ipsum dolor sit amet ".repeat(20));
    (0..prior).map(|index| text(index).chars().take(MESSAGE_CHARS).collect()).collect()
}

/// What one cycle took.
#[derive(Default)]
struct Cycle {
    bytes: usize,
    serialize_ms: f64,
    deserialize_ms: f64,
}

async fn measure_with(url: &str, bare: &Bare, prior: usize) -> anyhow::Result<()> {
    let filler = filler(prior);
    let said = |(index, text): (usize, &String)| match index % 2 {
        0 => json!({ "role": "user", "content": text }),
        _ => json!({ "role": "assistant", "content": text }),
    };
    let messages: Vec<Value> = filler.iter().enumerate().map(said).chain(go()).collect();
    let cycles = if prior < 1000 { 50 } else { 10 };
    let (mut wall, mut bare_wall, mut serialize, mut deserialize) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    let agents = Agents::new(url)?;
    for round in 0..ROUNDS {
        let watch = Watch::start();
        for _ in 0..cycles {
            bare.run(SCRIPT, &messages).await?;
        }
        let bare_ms = watch.wall_ms() / f64::from(cycles);
        let watch = Watch::start();
        for _ in 0..cycles {
            let cycle = cycle(&agents, &filler).await?;
            serialize.push(cycle.serialize_ms);
            deserialize.push(cycle.deserialize_ms);
            bytes = cycle.bytes;
        }
        // The first round warms everything up.
        if round > 0 {
            bare_wall.push(bare_ms);
            wall.push(watch.wall_ms() / f64::from(cycles));
        }
    }
    print(&json!({
        "peer": "holdpoint", "bench": "c_pause_resume", "prior": prior, "state_bytes": bytes,
        "cycle_ms": median(&wall), "raw_http_ms": median(&bare_wall), "net_ms": median_difference(&wall, &bare_wall),
        "serialize_ms": median(&serialize), "deserialize_ms": median(&deserialize),
    }));
    Ok(())
}

/// Two agents as two processes would have them: with a store each, and one key.
struct Agents {
    here: Agent,
    there: Agent,
}

impl Agents {
    fn new(url: &str) -> anyhow::Result<Self> {
        let one = || -> anyhow::Result<Agent> {
            let asks = policy_fn(|_| holdpoint::Decision::confirm("a person must say yes"));
            let key = SigningKey::new("bench", [7; 32]);
            let builder = agent(url, SCRIPT)?.policy(asks).signing_key(key).store(Arc::new(MemoryStore::new()));
            Ok(builder.build()?)
        };
        Ok(Self { here: one()?, there: one()? })
    }
}

async fn cycle(agents: &Agents, filler: &[String]) -> anyhow::Result<Cycle> {
    let message = |(index, text): (usize, &String)| match index % 2 {
        0 => Arc::new(Message::user(text.as_str())),
        _ => Arc::new(Message::assistant(text.as_str())),
    };
    let history: Vec<Arc<Message>> = filler.iter().enumerate().map(message).collect();
    let paused = agents.here.chat(RunRequest::new("go").after(history)).await?;
    let continuation = paused.continuation().ok_or_else(|| anyhow::anyhow!("the run did not pause"))?;
    let watch = Watch::start();
    let text = agents.here.runner().export(&continuation, &ExportOptions::default())?;
    let serialize_ms = watch.wall_ms();
    drop((paused, continuation));
    let watch = Watch::start();
    let read = agents.there.runner().read(&text)?;
    let deserialize_ms = watch.wall_ms();
    let done = agents.there.resume(read, [("call_0_0", true)]).await?;
    anyhow::ensure!(done.text().unwrap_or_default().starts_with("done after 1"), "the run did not go on");
    Ok(Cycle { bytes: text.len(), serialize_ms, deserialize_ms })
}
