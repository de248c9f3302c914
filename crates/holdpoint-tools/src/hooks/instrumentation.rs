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
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdpoint_core::{Code, Outcome, Settlement, Source, ToolName};
use serde_json::{Value, json};

use super::per_tool::{PerTool, lock};
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
        self.tools.all().iter().map(|counters| lock(counters).statistics()).collect()
    }

    /// One tool, if it was called.
    pub fn of(&self, tool: &ToolName) -> Option<ToolStatistics> {
        self.tools.find(tool).map(|counters| lock(&counters).statistics())
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
        let counters = self.tools.of(&definition.name, || Counters::new(&definition.name));
        let Some(counters) = counters else { return next.run().await };
        lock(&counters).statistics.in_flight += 1;
        let mut passing = Passing { counters: &counters, is_settled: false };
        let settlement = next.run().await?;
        passing.is_settled = true;
        lock(&counters).count(&settlement);
        Ok(settlement)
    }
}

/// What is known of one tool, and what percentiles are found in.
struct Counters {
    statistics: ToolStatistics,
    latency_us: Histogram,
}

impl Counters {
    fn new(tool: &ToolName) -> Self {
        let statistics = ToolStatistics {
            tool: tool.clone(),
            total: 0,
            in_flight: 0,
            succeeded: 0,
            failed: 0,
            abandoned: 0,
            by_source: BTreeMap::new(),
            p50_us: None,
            p95_us: None,
            last_error: None,
        };
        Self { statistics, latency_us: Histogram::default() }
    }

    fn count(&mut self, settlement: &Settlement) {
        let Some(source) = settlement.source else { return };
        let statistics = &mut self.statistics;
        *statistics.by_source.entry(source.as_str()).or_default() += 1;
        if source != Source::Tool {
            return;
        }
        match settlement.outcome {
            Outcome::Succeeded | Outcome::Halted => statistics.succeeded += 1,
            Outcome::Cancelled => {
                statistics.abandoned += 1;
                return;
            }
            _ => {
                statistics.failed += 1;
                statistics.last_error = settlement.code;
            }
        }
        self.latency_us.record(settlement.latency_us);
    }

    fn statistics(&self) -> ToolStatistics {
        let [p50_us, p95_us] = [50, 95].map(|percent| self.latency_us.percentile(percent));
        ToolStatistics { p50_us, p95_us, ..self.statistics.clone() }
    }
}

/// A call on its way. However it ends, it is in flight no more.
struct Passing<'a> {
    counters: &'a Mutex<Counters>,
    is_settled: bool,
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        let statistics = &mut lock(self.counters).statistics;
        statistics.in_flight -= 1;
        statistics.total += 1;
        statistics.abandoned += u64::from(!self.is_settled);
    }
}
