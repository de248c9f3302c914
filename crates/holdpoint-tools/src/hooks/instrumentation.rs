//! Counts and times executions, for each tool.
//!
//! ```
//! use holdpoint_tools::hooks::Instrumentation;
//!
//! let instrumentation = Instrumentation::new();
//! // … `.around(instrumentation.clone())`, and after some calls:
//! for tool in instrumentation.stats() {
//!     tracing::info!(tool = %tool.tool, total = tool.total, p95_us = ?tool.p95_us, success_rate = ?tool.success_rate());
//! }
//! assert_eq!(instrumentation.to_json(), serde_json::json!({"tools": []}));
//! ```

mod histogram;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use async_trait::async_trait;
use holdpoint_core::{Code, Outcome, Settlement, Source, ToolName};
use serde_json::{Value, json};

use super::per_tool::PerTool;
use super::{HookConfigError, Scope};
use crate::{Around, AroundCall, HookError, Next};
use histogram::Histogram;

/// Statistics of the calls that pass it. What it sees depends on where it stands: inside of a cache it does not see the
/// hits, inside of a retry it sees every attempt.
#[derive(Default)]
pub struct Instrumentation {
    scope: Scope,
    tools: PerTool<Counters>,
}

/// What is known of the calls of one tool. A result from a cache or a dry run is counted by its source only: nothing
/// was executed.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolStatistics {
    /// The registered name.
    pub tool: ToolName,
    /// Calls that have ended.
    pub total: u64,
    /// Calls that have not ended.
    pub in_flight: u64,
    /// Executions that gave a result.
    pub succeeded: u64,
    /// Executions that failed or timed out.
    pub failed: u64,
    /// Calls that were cancelled, or lost to a failure of a hook.
    pub abandoned: u64,
    /// Calls that ended with a result, by where it came from. Sources that gave none are left out.
    pub by_source: BTreeMap<&'static str, u64>,
    /// Half of the executions took at most this long, in microseconds.
    pub p50_us: Option<u64>,
    /// 95 of 100 executions took at most this long, in microseconds.
    pub p95_us: Option<u64>,
    /// Why the last failed execution failed.
    pub last_error: Option<Code>,
}

impl Instrumentation {
    /// For every tool.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Only for this tool: a registered name or a glob.
    pub fn for_tool(tool: &str) -> Result<Arc<Self>, HookConfigError> {
        let scope = Scope::parse("instrument", Some(tool))?;
        Ok(Arc::new(Self { scope, tools: PerTool::default() }))
    }

    /// Every tool that was called, by name.
    pub fn stats(&self) -> Vec<ToolStatistics> {
        self.tools.all().into_iter().map(|(tool, counters)| counters.statistics(tool)).collect()
    }

    /// One tool, if it was called.
    pub fn of(&self, tool: &ToolName) -> Option<ToolStatistics> {
        self.tools.find(tool).map(|counters| counters.statistics(tool.clone()))
    }

    /// All of it as JSON.
    pub fn to_json(&self) -> Value {
        let tools: Vec<Value> = self.stats().iter().map(ToolStatistics::to_json).collect();
        json!({ "tools": tools })
    }
}

impl ToolStatistics {
    /// The part of the executions that gave a result, from 0 to 1; `None` before the first one ended.
    pub fn success_rate(&self) -> Option<f64> {
        let executed = self.succeeded + self.failed;
        #[expect(clippy::cast_precision_loss, reason = "a rate of so many calls needs no more digits")]
        (executed > 0).then(|| self.succeeded as f64 / executed as f64)
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "tool": self.tool.as_str(),
            "total": self.total,
            "in_flight": self.in_flight,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "abandoned": self.abandoned,
            "by_source": self.by_source,
            "success_rate": self.success_rate(),
            "p50_us": self.p50_us,
            "p95_us": self.p95_us,
            "last_error": self.last_error.map(Code::as_str),
        })
    }
}

#[async_trait]
impl Around for Instrumentation {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        let definition = call.definition();
        if !self.scope.covers(definition) {
            return next.run().await;
        }
        let Some(counters) = self.tools.of(&definition.name) else { return next.run().await };
        let passing = Passing::new(&counters);
        let settlement = next.run().await?;
        passing.ended(&settlement);
        Ok(settlement)
    }
}

/// Counters of one tool. Each is right by itself; read while calls end they need not fit each other.
#[derive(Default)]
struct Counters {
    total: AtomicU64,
    in_flight: AtomicU64,
    succeeded: AtomicU64,
    failed: AtomicU64,
    abandoned: AtomicU64,
    by_source: [AtomicU64; Source::ALL.len()],
    /// One more than the place of the code among all codes; 0 is none.
    last_error: AtomicUsize,
    latency_us: Histogram,
}

impl Counters {
    fn ended(&self, settlement: &Settlement) {
        let Some(source) = settlement.source else { return };
        if let Some(place) = Source::ALL.iter().position(|known| *known == source) {
            add(&self.by_source[place]);
        }
        if source == Source::Tool {
            self.executed(settlement);
        }
    }

    fn executed(&self, settlement: &Settlement) {
        match settlement.outcome {
            Outcome::Succeeded | Outcome::Halted => add(&self.succeeded),
            Outcome::Cancelled => return add(&self.abandoned),
            _ => {
                add(&self.failed);
                let place = Code::ALL.iter().position(|code| Some(*code) == settlement.code);
                self.last_error.store(place.map_or(0, |place| place + 1), Ordering::Relaxed);
            }
        }
        self.latency_us.record(settlement.latency_us);
    }

    fn statistics(&self, tool: ToolName) -> ToolStatistics {
        let counts = self.by_source.iter().map(read);
        let by_source: BTreeMap<_, _> =
            Source::ALL.into_iter().map(Source::as_str).zip(counts).filter(|(_, count)| *count > 0).collect();
        let last_error = self.last_error.load(Ordering::Relaxed).checked_sub(1).and_then(|place| Code::ALL.get(place));
        let [p50_us, p95_us] = self.latency_us.percentiles([50, 95]);
        ToolStatistics {
            tool,
            total: read(&self.total),
            in_flight: read(&self.in_flight),
            succeeded: read(&self.succeeded),
            failed: read(&self.failed),
            abandoned: read(&self.abandoned),
            by_source,
            p50_us,
            p95_us,
            last_error: last_error.copied(),
        }
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// A call on its way. However it ends, it is in flight no more.
struct Passing<'a> {
    counters: &'a Counters,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Lost,
    Settled,
}

impl<'a> Passing<'a> {
    fn new(counters: &'a Counters) -> Self {
        add(&counters.in_flight);
        Self { counters, end: End::Lost }
    }

    fn ended(mut self, settlement: &Settlement) {
        self.end = End::Settled;
        self.counters.ended(settlement);
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        if self.end == End::Lost {
            add(&self.counters.abandoned);
        }
        add(&self.counters.total);
        self.counters.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
