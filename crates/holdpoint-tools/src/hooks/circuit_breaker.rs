//! Stops calling a tool that keeps failing, and tries it again after a while.
//!
//! ```
//! use holdpoint_tools::hooks::{CircuitBreaker, CircuitState};
//!
//! // After 3 failures in a row the tool is left alone for 30 s; then one call tries it.
//! let breaker = CircuitBreaker::builder(3, 30_000).tool("search*").build().expect("possible settings");
//! assert_eq!(breaker.state(&"search_web".into()), CircuitState::Closed);
//! assert!(CircuitBreaker::builder(0, 30_000).build().is_err());
//! ```

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdpoint_core::{Code, Outcome, Settlement, Source, Timestamp, ToolName};

use super::build::above_zero;
use super::per_tool::{PerTool, lock};
use super::{HookConfigError, Scope, TimeSource, system_time};
use crate::{Around, AroundCall, HookError, Next};

const HOOK: &str = "circuit_breaker";

/// One circuit for each tool.
///
/// Only what a tool itself did counts: it failed or timed out, or it gave a result. Refusals, cached results and
/// arguments that the tool cannot use say nothing about its health.
pub struct CircuitBreaker {
    scope: Scope,
    failures: u32,
    open_ms: u64,
    time: TimeSource,
    circuits: PerTool<Circuit>,
}

/// Whether a tool is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState {
    /// It is.
    Closed,
    /// It is not, for a while.
    Open,
    /// One call tries it, or the next one will.
    HalfOpen,
}

/// Settings of a [`CircuitBreaker`].
#[derive(Clone)]
#[must_use]
pub struct CircuitBreakerBuilder {
    failures: u32,
    open_ms: u64,
    tool: Option<Arc<str>>,
    time: TimeSource,
}

impl CircuitBreaker {
    /// Opens after so many failures in a row, for so many milliseconds.
    pub fn builder(failures: u32, open_ms: u64) -> CircuitBreakerBuilder {
        CircuitBreakerBuilder { failures, open_ms, tool: None, time: system_time() }
    }

    /// Whether this tool is called now.
    pub fn state(&self, tool: &ToolName) -> CircuitState {
        let Some(circuit) = self.circuits.find(tool) else { return CircuitState::Closed };
        let phase = lock(&circuit).phase;
        match phase {
            Phase::Closed { .. } => CircuitState::Closed,
            Phase::Open { until } if self.is_over(until) => CircuitState::HalfOpen,
            Phase::Open { .. } => CircuitState::Open,
            Phase::Trial => CircuitState::HalfOpen,
        }
    }

    /// A clock that was set back must not keep a circuit open for longer than it was meant to be.
    fn is_over(&self, until: Timestamp) -> bool {
        let now = (self.time)();
        now >= until || now.plus_ms(self.open_ms) < until
    }

    fn admit<'a>(&'a self, circuit: &'a Mutex<Circuit>) -> Option<Admitted<'a>> {
        let mut opened = lock(circuit);
        match opened.phase {
            Phase::Closed { .. } => {}
            Phase::Open { until } if self.is_over(until) => opened.enter(Phase::Trial),
            Phase::Open { .. } | Phase::Trial => return None,
        }
        Some(Admitted { breaker: self, circuit, epoch: opened.epoch, verdict: Verdict::Nothing })
    }
}

impl CircuitBreakerBuilder {
    /// Only for this tool: a registered name or a glob.
    pub fn tool(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Goes by this time.
    pub fn time(mut self, time: TimeSource) -> Self {
        self.time = time;
        self
    }

    /// The hook, unless it could never close or never open.
    pub fn build(self) -> Result<Arc<CircuitBreaker>, HookConfigError> {
        above_zero(HOOK, "failures", self.failures.into())?;
        above_zero(HOOK, "open_ms", self.open_ms)?;
        let scope = Scope::parse(HOOK, self.tool.as_deref())?;
        let Self { failures, open_ms, time, .. } = self;
        Ok(Arc::new(CircuitBreaker { scope, failures, open_ms, time, circuits: PerTool::default() }))
    }
}

#[async_trait]
impl Around for CircuitBreaker {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        let definition = call.definition();
        if !self.scope.covers(definition) {
            return next.run().await;
        }
        let circuit = self.circuits.of(&definition.name, Circuit::default);
        let Some(circuit) = circuit else { return next.run().await };
        let Some(mut admitted) = self.admit(&circuit) else {
            let text = format!(
                "The tool `{}` kept failing, so this call was not executed. It may be tried again later.",
                definition.name
            );
            return Ok(call.refused(Code::CircuitOpen, text));
        };
        let settlement = next.run().await?;
        admitted.verdict = Verdict::of(&settlement);
        Ok(settlement)
    }
}

/// The circuit of one tool.
struct Circuit {
    phase: Phase,
    /// Grows with every change of phase, so that a call that began in an earlier one is not counted in this one.
    epoch: u64,
}

#[derive(Clone, Copy)]
enum Phase {
    Closed { failures: u32 },
    Open { until: Timestamp },
    Trial,
}

impl Default for Circuit {
    fn default() -> Self {
        Self { phase: Phase::Closed { failures: 0 }, epoch: 0 }
    }
}

impl Circuit {
    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.epoch += 1;
    }
}

/// What a call says about the health of its tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Works,
    Fails,
    Nothing,
}

impl Verdict {
    fn of(settlement: &Settlement) -> Self {
        if settlement.source != Some(Source::Tool) {
            return Verdict::Nothing;
        }
        match settlement.outcome {
            Outcome::Succeeded | Outcome::Halted => Verdict::Works,
            Outcome::Failed if settlement.code == Some(Code::InvalidArguments) => Verdict::Nothing,
            Outcome::Failed | Outcome::TimedOut => Verdict::Fails,
            Outcome::Denied | Outcome::Refused | Outcome::Expired | Outcome::Cancelled | Outcome::Ignored => {
                Verdict::Nothing
            }
        }
    }
}

/// A call that was let through. Reports when it is dropped, so that a trial that is cancelled leaves room for another.
struct Admitted<'a> {
    breaker: &'a CircuitBreaker,
    circuit: &'a Mutex<Circuit>,
    epoch: u64,
    verdict: Verdict,
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let now = (self.breaker.time)();
        let open = Phase::Open { until: now.plus_ms(self.breaker.open_ms) };
        let mut circuit = lock(self.circuit);
        if circuit.epoch != self.epoch {
            return;
        }
        match (circuit.phase, self.verdict) {
            (Phase::Closed { failures }, Verdict::Fails) if failures + 1 >= self.breaker.failures => {
                circuit.enter(open);
            }
            (Phase::Closed { failures }, Verdict::Fails) => circuit.phase = Phase::Closed { failures: failures + 1 },
            (Phase::Closed { .. }, Verdict::Works) => circuit.phase = Phase::Closed { failures: 0 },
            (Phase::Trial, Verdict::Works) => circuit.enter(Phase::Closed { failures: 0 }),
            (Phase::Trial, Verdict::Fails) => circuit.enter(open),
            (Phase::Trial, Verdict::Nothing) => circuit.enter(Phase::Open { until: now }),
            (Phase::Closed { .. }, Verdict::Nothing) | (Phase::Open { .. }, _) => {}
        }
    }
}
