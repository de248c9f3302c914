//! The benchmarks of other runtimes, against a server that speaks chat completions: the same conversations, the same
//! names of fields, so that both can be set side by side. The model's name is the script that the server follows.

mod bare;
mod cold;
mod overhead;
mod parallel;
mod pause;
mod paused_memory;
mod process;
mod provider;
mod throughput;

use std::time::Duration;

use clap::Args;
use holdpoint::{Agent, AgentBuilder, Parallel};
use holdpoint_model::ModelChoice;
use holdpoint_policy::AllowAll;
use holdpoint_tools::{ToolCall, raw_tool};
use serde_json::{Value, json};

/// Where the server is.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServedArguments {
    /// For `a`, `b`, `c`, `e`, `f`, `g`, `cold` and `model-overhead`: a server that speaks chat completions, such as
    /// `http://127.0.0.1:28471/v1`.
    #[arg(long)]
    base_url: Option<String>,
}

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    Overhead,
    Parallel,
    Pause,
    Throughput,
    PausedMemory,
    Cold,
    ColdOnce,
    Provider,
}

/// More turns than any script has.
const TURNS_MAX: u32 = 1_000;

/// Measures on as many threads as there are cores. The work is on one of them, as it would be in a real program.
pub(crate) fn measure(served: Served, arguments: &ServedArguments) -> anyhow::Result<()> {
    let url = arguments.base_url.clone();
    let url = url.ok_or_else(|| anyhow::anyhow!("this needs `--base-url http://HOST:PORT/v1`"))?;
    if served == Served::Cold {
        return cold::measure(&url);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async move {
        tokio::spawn(async move {
            match served {
                Served::Overhead => overhead::measure(&url).await,
                Served::Parallel => parallel::measure(&url).await,
                Served::Pause => pause::measure(&url).await,
                Served::Throughput => throughput::measure(&url).await,
                Served::PausedMemory => paused_memory::measure(&url).await,
                Served::ColdOnce => run(&agent(&url, "m-turns0-k1")?.build()?).await,
                Served::Provider => provider::measure(&url).await,
                Served::Cold => Ok(()),
            }
        })
        .await?
    })
}

#[derive(serde::Deserialize)]
struct Work {
    ms: u64,
}

/// The schema of the one tool.
fn parameters() -> Value {
    json!({
        "type": "object", "properties": { "i": { "type": "integer" }, "ms": { "type": "integer" } },
        "required": ["i", "ms"],
    })
}

/// An agent whose model follows a script of the server.
fn agent(url: &str, script: &str) -> anyhow::Result<AgentBuilder> {
    let work = raw_tool("work", "do work", parameters(), async |call: ToolCall| {
        let Ok(Work { ms }) = call.arguments_as() else { return "not the arguments that were agreed on" };
        if ms > 0 {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        "ok"
    });
    let model = ModelChoice::parse(&format!("openai:{script}"))?.base_url(url);
    Ok(Agent::builder().model(model).policy(AllowAll).tool(work).parallel(Parallel::All).max_turns(TURNS_MAX))
}

/// One run to its end.
async fn run(agent: &Agent) -> anyhow::Result<()> {
    let result = agent.chat("go").await?;
    let text = result.text().unwrap_or_default();
    anyhow::ensure!(text.starts_with("done"), "the run ended otherwise: {:?}", result.stop_reason());
    Ok(())
}
