//! What long runs leave in the database: linear in what is new, and tool schemas not at every turn.

use std::time::Instant;

use holdpoint_codec::message_view;
use serde_json::json;

use super::database::{Place, Scratch, Size};
use super::finish;
use super::turns::{self, Shape};
use crate::parts::{Says, print};

/// Several runs, so that the pages that each of them half fills do not count as its own.
const RUNS: usize = 8;
/// The bound: so many times the bytes of the messages …
const TIMES_MESSAGES_MAX: f64 = 1.5;
/// … and so many for each turn.
const PER_TURN_BYTES_MAX: f64 = 1_500.0;
/// What a run of 200 turns may store, in terms of one of 50.
const RATIO_200_TO_50_MAX: f64 = 4.2;

/// What a run of some length stored.
#[derive(Clone, Copy)]
struct Grown {
    message_bytes: f64,
    row_bytes: f64,
    page_bytes: f64,
    wal_bytes: Option<f64>,
    secs: f64,
}

/// A kind of runs.
struct Variant {
    name: &'static str,
    result_bytes: usize,
    more_tools: usize,
    schema_bytes: usize,
}

const VARIANTS: [Variant; 3] = [
    Variant { name: "short_results", result_bytes: 2, more_tools: 0, schema_bytes: 0 },
    Variant { name: "results_of_500_bytes", result_bytes: 500, more_tools: 0, schema_bytes: 0 },
    Variant { name: "20_more_tools_with_schemas_of_5_kb", result_bytes: 500, more_tools: 20, schema_bytes: 5_000 },
];

pub(super) async fn measure(place: &Place) -> anyhow::Result<()> {
    for variant in &VARIANTS {
        let mut of_50 = None;
        for turns in [50, 200] {
            let scratch = place.scratch().await?;
            let kind = scratch.kind();
            let grown = grow(&scratch, variant.shape(turns)).await;
            let grown = finish(scratch, grown).await?;
            report(kind, variant, turns, grown, of_50);
            of_50 = Some(grown);
        }
    }
    Ok(())
}

impl Variant {
    fn shape(&self, turns: usize) -> Shape {
        let Self { result_bytes, more_tools, schema_bytes, .. } = *self;
        Shape { turns, result_bytes, more_tools, schema_bytes }
    }
}

async fn grow(scratch: &Scratch, shape: Shape) -> anyhow::Result<Grown> {
    let store = holdpoint::open_store(&scratch.url()).await?;
    // Another agent, so that nothing of the measured runs is there beforehand.
    turns::agent(Shape::of(1), Says::Allow, store.clone())?.chat("go").await?;
    let agent = turns::agent(shape, Says::Allow, store)?;
    let before = scratch.size().await?;
    let started = Instant::now();
    let mut message_bytes = 0;
    for _ in 0..RUNS {
        let result = agent.chat("go").await?;
        anyhow::ensure!(result.text().is_some(), "the run did not finish");
        for message in result.messages() {
            message_bytes += serde_json::to_string(&message_view(message))?.len();
        }
    }
    let secs = started.elapsed().as_secs_f64() / RUNS as f64;
    let after = scratch.size().await?;
    let per_run = |bytes: fn(&Size) -> i64| (bytes(&after) - bytes(&before)) as f64 / RUNS as f64;
    let wal_bytes = after.wal_bytes.zip(before.wal_bytes).map(|(after, before)| (after - before) as f64 / RUNS as f64);
    Ok(Grown {
        message_bytes: message_bytes as f64 / RUNS as f64,
        row_bytes: per_run(|size| size.row_bytes),
        page_bytes: per_run(|size| size.page_bytes),
        wal_bytes,
        secs,
    })
}

fn report(store: &str, variant: &Variant, turns: usize, grown: Grown, of_50: Option<Grown>) {
    let bytes_max = TIMES_MESSAGES_MAX * grown.message_bytes + PER_TURN_BYTES_MAX * turns as f64;
    let rows_over_50 = of_50.map(|of_50| grown.row_bytes / of_50.row_bytes);
    let pages_over_50 = of_50.map(|of_50| grown.page_bytes / of_50.page_bytes);
    let linear = rows_over_50.into_iter().chain(pages_over_50).all(|ratio| ratio <= RATIO_200_TO_50_MAX);
    let largest = grown.row_bytes.max(grown.page_bytes);
    print(&json!({
        "peer": "holdpoint", "bench": format!("d_growth{turns}"), "store": store, "durability": "default",
        "variant": variant.name, "turns": turns, "runs": RUNS, "secs": grown.secs, "message_bytes": grown.message_bytes,
        "row_bytes": grown.row_bytes, "db_growth": grown.page_bytes, "wal_bytes": grown.wal_bytes,
        "row_bytes_per_turn": grown.row_bytes / turns as f64, "db_growth_per_turn": grown.page_bytes / turns as f64,
        "stored_bytes": largest, "stored_bytes_max": bytes_max,
        "row_bytes_over_50_turns": rows_over_50, "db_growth_over_50_turns": pages_over_50,
        "over_50_turns_max": of_50.map(|_| RATIO_200_TO_50_MAX), "holds": largest <= bytes_max && linear,
    }));
}
