//! Numbers for Prometheus. Labels are routes, agents and registered names only (I5), never what a client or a model wrote.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdpoint::{Happening, InstrumentSink};
use holdpoint_api::ToolStatistics;
use holdpoint_store::{Scope, StoreTally};
use http::Method;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use serde_json::Value;

mod measured;

/// The bounds of histograms, in seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    agent: String,
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
struct ToolLabels {
    agent: String,
    tool: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolOutcome {
    agent: String,
    tool: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AgentLabel {
    agent: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operation {
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Counts what happens in this process. Cheap to clone; clones count together.
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Registry,
    /// What is looked up in the store: left out while that is out of reach.
    stored: Registry,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Histograms<Route>,
    runs: Family<Reason, Counter>,
    pauses: Family<Reason, Counter>,
    model_calls: Family<AgentLabel, Counter>,
    tool_calls: Family<ToolOutcome, Counter>,
    tool_seconds: Histograms<ToolLabels>,
    store_seconds: Histograms<Operation>,
    approvals: Gauge<i64, AtomicI64>,
    approval_age: Gauge<f64, AtomicU64>,
    tasks: Family<StateLabel, Gauge>,
    open_runs: Family<StateLabel, Gauge>,
    streams: Gauge,
    driven: Gauge,
    tools: Mutex<BTreeMap<ToolLabels, ByTenant>>,
}

/// No tenant learns of another's calls (I15).
type ByTenant = BTreeMap<Option<String>, ToolStatistics>;

/// What is looked up when somebody asks for the numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Levels {
    /// What the store counted, and how long its oldest question waits. Nothing while it is out of reach.
    pub(crate) stored: Option<(StoreTally, Duration)>,
    pub(crate) streams: usize,
    pub(crate) driven: usize,
}

/// Methods by name. What nobody knows is one name, or clients could make as many as they like.
pub(crate) fn known(method: &Method) -> &str {
    match *method {
        Method::GET | Method::POST | Method::DELETE | Method::HEAD | Method::PUT | Method::PATCH | Method::OPTIONS => {
            method.as_str()
        }
        _ => "(other)",
    }
}

fn histogram() -> Histogram {
    Histogram::new(SECONDS)
}

fn histograms<L: Clone + std::hash::Hash + Eq>() -> Histograms<L> {
    Family::new_with_constructor(histogram as fn() -> Histogram)
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            registry: Registry::default(),
            stored: Registry::default(),
            requests: Family::default(),
            request_seconds: histograms(),
            runs: Family::default(),
            pauses: Family::default(),
            model_calls: Family::default(),
            tool_calls: Family::default(),
            tool_seconds: histograms(),
            store_seconds: histograms(),
            approvals: Gauge::default(),
            approval_age: Gauge::default(),
            tasks: Family::default(),
            open_runs: Family::default(),
            streams: Gauge::default(),
            driven: Gauge::default(),
            tools: Mutex::default(),
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Nothing happened yet.
    pub fn new() -> Self {
        let mut inner = Inner::default();
        let mut registry = Registry::with_prefix("holdpoint");
        registry.register("http_requests", "Requests answered", inner.requests.clone());
        registry.register(
            "http_request_seconds",
            "Time to the first byte of the answer",
            inner.request_seconds.clone(),
        );
        registry.register("runs", "Segments of runs that ended, by why", inner.runs.clone());
        registry.register("pauses", "Pauses of runs, by what they wait for", inner.pauses.clone());
        registry.register("model_calls", "Calls of models", inner.model_calls.clone());
        registry.register("tool_calls", "Calls of tools that ended", inner.tool_calls.clone());
        registry.register("tool_seconds", "How long calls of tools took", inner.tool_seconds.clone());
        registry.register("store_seconds", "How long the store took", inner.store_seconds.clone());
        registry.register("streams_open", "Event streams that are open", inner.streams.clone());
        registry.register("runs_driven", "Runs that requests to this process drive now", inner.driven.clone());
        inner.registry = registry;
        let mut stored = Registry::with_prefix("holdpoint");
        stored.register("approvals_waiting", "Questions that wait for people", inner.approvals.clone());
        let help = "How long the question waits that waits longest";
        stored.register("approvals_oldest_seconds", help, inner.approval_age.clone());
        stored.register("tasks", "Tasks in the queue, by where they are", inner.tasks.clone());
        stored.register("runs_open", "Runs that are not over, by where they are", inner.open_runs.clone());
        inner.stored = stored;
        Self { inner: Arc::new(inner) }
    }

    /// What an agent's happenings are told to.
    pub fn sink(&self, agent: &str) -> InstrumentSink {
        let (metrics, agent) = (self.clone(), agent.to_owned());
        Arc::new(move |happening| metrics.happened(&agent, happening))
    }

    pub(crate) fn request(&self, method: &str, route: &str, status: u16, elapsed: Duration) {
        let (method, route) = (method.to_owned(), route.to_owned());
        self.inner.request_seconds.get_or_create(&Route { route: route.clone() }).observe(elapsed.as_secs_f64());
        self.inner.requests.get_or_create(&RequestLabels { method, route, status }).inc();
    }

    fn happened(&self, agent: &str, happening: &Happening) {
        let text = |name: &str| happening.fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let agent = agent.to_owned();
        match happening.name {
            "holdpoint.run" => {
                self.inner.runs.get_or_create(&Reason { agent, reason: text("stop_reason") }).inc();
            }
            "holdpoint.pause" => {
                self.inner.pauses.get_or_create(&Reason { agent, reason: text("pause_reason") }).inc();
            }
            "holdpoint.llm.call" => {
                self.inner.model_calls.get_or_create(&AgentLabel { agent }).inc();
            }
            "holdpoint.tool.execute" => {
                let failed = happening.fields.get("result_error").is_some_and(|error| *error != Value::Bool(false));
                let ms = happening.fields.get("duration_ms").and_then(Value::as_f64).unwrap_or_default();
                let elapsed = Duration::try_from_secs_f64(ms / 1_000.0).unwrap_or_default();
                let labels = ToolLabels { agent, tool: text("executed_name") };
                let tenant = happening.fields.get("tenant").and_then(Value::as_str).map(str::to_owned);
                self.tool_ended(labels, tenant, failed, elapsed);
            }
            _ => {}
        }
    }

    fn tool_ended(&self, labels: ToolLabels, tenant: Option<String>, failed: bool, elapsed: Duration) {
        let outcome = if failed { "error" } else { "success" };
        let ToolLabels { agent, tool } = labels.clone();
        self.inner.tool_calls.get_or_create(&ToolOutcome { agent, tool, outcome }).inc();
        self.inner.tool_seconds.get_or_create(&labels).observe(elapsed.as_secs_f64());
        let mut tools = self.inner.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let statistics = tools.entry(labels).or_default().entry(tenant).or_default();
        statistics.calls += 1;
        statistics.errors += u64::from(failed);
        let us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        statistics.duration_us = statistics.duration_us.saturating_add(us);
    }

    /// What became of the calls of a tool since the start, as far as the caller may know.
    pub(crate) fn tool(&self, scope: &Scope, agent: &str, tool: &str) -> ToolStatistics {
        let labels = ToolLabels { agent: agent.to_owned(), tool: tool.to_owned() };
        let tools = self.inner.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(by_tenant) = tools.get(&labels) else { return ToolStatistics::default() };
        let seen = by_tenant.iter().filter(|(tenant, _)| match scope {
            Scope::All => true,
            Scope::Tenant(own) => tenant.as_deref() == Some(own),
        });
        seen.fold(ToolStatistics::default(), |sum, (_, more)| ToolStatistics {
            calls: sum.calls + more.calls,
            errors: sum.errors + more.errors,
            duration_us: sum.duration_us.saturating_add(more.duration_us),
        })
    }

    /// The numbers as Prometheus reads them.
    pub(crate) fn encode(&self, levels: Levels) -> String {
        let size = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.inner.streams.set(size(levels.streams));
        self.inner.driven.set(size(levels.driven));
        let mut out = String::new();
        // Writing to memory does not fail.
        let _ = text::encode_registry(&mut out, &self.inner.registry);
        if let Some((tally, oldest)) = levels.stored {
            self.set_stored(tally, oldest);
            let _ = text::encode_registry(&mut out, &self.inner.stored);
        }
        let _ = text::encode_eof(&mut out);
        out
    }

    fn set_stored(&self, tally: StoreTally, oldest: Duration) {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.inner.approvals.set(number(tally.questions_pending));
        self.inner.approval_age.set(oldest.as_secs_f64());
        let tasks =
            [("waiting", tally.tasks_waiting), ("leased", tally.tasks_leased), ("delivered", tally.tasks_delivered)];
        for (state, count) in tasks {
            self.inner.tasks.get_or_create(&StateLabel { state }).set(number(count));
        }
        let runs = [
            ("running", tally.runs_running),
            ("awaiting_tool_confirmation", tally.runs_awaiting_confirmation),
            ("awaiting_tool_results", tally.runs_awaiting_results),
        ];
        for (state, count) in runs {
            self.inner.open_runs.get_or_create(&StateLabel { state }).set(number(count));
        }
    }

    fn store_took(&self, operation: &'static str, elapsed: Duration) {
        self.inner.store_seconds.get_or_create(&Operation { operation }).observe(elapsed.as_secs_f64());
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}
