//! What hooks cost: none, five that only pass on, and a cache hit.

use std::sync::Arc;
use std::time::Instant;

use holdpoint_codec::{Context, arguments_for, idempotency_key, parse_arguments};
use holdpoint_core::{
    Attempt, CallId, CallIndex, CallKey, Outcome, Repeat, RequestedName, RunId, Settlement, Source, ToolName,
    ToolResult, Turn,
};
use holdpoint_tools::hooks::Cache;
use holdpoint_tools::{
    Around, AroundCall, CallFacts, Chain, Tool, ToolCall, ToolDefinition, ToolMetadata, around_fn, raw_tool,
};
use serde_json::json;

use crate::parts::print;

const CALLS: u32 = 200_000;

pub(crate) async fn measure() -> anyhow::Result<()> {
    let none = per_call_us(&Chain::default()).await?;
    let passing = || around_fn(|_, next| Box::pin(next.run()));
    let five = per_call_us(&Chain::new((0..5).map(|_| passing()).collect())).await?;
    let cache = Cache::builder().build()?;
    let hit = per_call_us(&Chain::new(vec![cache as Arc<dyn Around>])).await?;
    print(&json!({
        "bench": "hooks", "calls": CALLS, "no_hook_us": none, "five_passing_us": five,
        "five_passing_added_us": five - none, "five_passing_added_us_max": 0.5, "cache_hit_us": hit,
        "cache_hit_us_max": 5.0, "holds": five - none < 0.5 && hit < 5.0,
    }));
    Ok(())
}

async fn per_call_us(chain: &Chain) -> anyhow::Result<f64> {
    let tool = raw_tool("work", "Does nothing", json!({"type": "object"}), async |_| "ok").repeat(Repeat::Safe);
    let call = call(tool.definition())?;
    let result = Arc::new(ToolResult::success("ok"));
    let settled = || Settlement {
        outcome: Outcome::Succeeded,
        code: None,
        source: Some(Source::Tool),
        result: Arc::clone(&result),
        latency_us: 0,
    };
    let started = Instant::now();
    for _ in 0..CALLS {
        let settlement = chain.run(&call, |_| std::future::ready(Ok(settled()))).await?;
        std::hint::black_box(settlement);
    }
    Ok(started.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS))
}

fn call(definition: &ToolDefinition) -> anyhow::Result<AroundCall> {
    let text = parse_arguments(Some(r#"{"city":"London","days":3}"#))?;
    let arguments = arguments_for("work", &text);
    let run = RunId::new("bench");
    let (turn, index) = (Turn(1), CallIndex(0));
    let facts = CallFacts {
        id: CallId::new("c"),
        requested: RequestedName::new("work"),
        tool: ToolName::new("work"),
        idempotency_key: idempotency_key(&run, turn, index, arguments.digest()),
        key: CallKey { run, turn, index },
        arguments,
        context: Arc::new(Context::new()),
        attempt: Attempt(1),
    };
    let metadata = ToolMetadata { repeat: Repeat::Safe, ..ToolMetadata::default() };
    let definition = Arc::new(definition.clone().with_metadata(metadata));
    Ok(AroundCall::new(definition, ToolCall::new(facts)))
}
