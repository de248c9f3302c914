//! Numbers for Prometheus. Labels are routes, agents and registered names only (I5), never what a client or a model wrote.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdpoint::{Happening, InstrumentSink};
use holdpoint_api::ToolStatistics;
use holdpoint_store::{Scope, StoreTally};
use http::Method;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use serde_json::Value;

mod measured;

/// The bounds of histograms, in seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// Each label with its value.
type Labels<const N: usize> = [(&'static str, String); N];
type Counters<const N: usize> = Family<Labels<N>, Counter>;
type Gauges = Family<Labels<1>, Gauge>;
type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Counts what happens in this process. Cheap to clone; clones count together.
#[derive(Clone, Debug)]
pub struct Metrics {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    registry: Registry,
    /// What is looked up in the store: left out while that is out of reach.
    stored: Registry,
    requests: Counters<3>,
    request_seconds: Histograms<Labels<1>>,
    runs: Counters<2>,
    pauses: Counters<2>,
    model_calls: Counters<1>,
    tool_calls: Counters<3>,
    tool_seconds: Histograms<Labels<2>>,
    store_seconds: Histograms<[(&'static str, &'static str); 1]>,
    approvals: Gauge<i64, AtomicI64>,
    approval_age: Gauge<f64, AtomicU64>,
    tasks: Gauges,
    open_runs: Gauges,
    streams: Gauge,
    driven: Gauge,
    /// By agent and tool.
    tools: Mutex<BTreeMap<(String, String), ByTenant>>,
}

/// No tenant learns of another's calls (I15).
type ByTenant = BTreeMap<Option<String>, ToolStatistics>;

/// Methods by name. What nobody knows is one name, or clients could make as many as they like.
pub(crate) fn known(method: &Method) -> &str {
    match *method {
        Method::GET | Method::POST | Method::DELETE | Method::HEAD | Method::PUT | Method::PATCH | Method::OPTIONS => {
            method.as_str()
        }
        _ => "(other)",
    }
}

/// Makes a metric and has it encoded with the others.
fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

fn histograms<L: Clone + std::hash::Hash + Eq>() -> Histograms<L> {
    Family::new_with_constructor(|| Histogram::new(SECONDS))
}

impl Default for Metrics {
    fn default() -> Self {
        let (mut own, mut stored) = (Registry::with_prefix("holdpoint"), Registry::with_prefix("holdpoint"));
        let first_byte = "Time to the first byte of the answer";
        let oldest = "How long the question waits that waits longest";
        let inner = Inner {
            requests: add(&mut own, "http_requests", "Requests answered", Family::default()),
            request_seconds: add(&mut own, "http_request_seconds", first_byte, histograms()),
            runs: add(&mut own, "runs", "Segments of runs that ended, by why", Family::default()),
            pauses: add(&mut own, "pauses", "Pauses of runs, by what they wait for", Family::default()),
            model_calls: add(&mut own, "model_calls", "Calls of models", Family::default()),
            tool_calls: add(&mut own, "tool_calls", "Calls of tools that ended", Family::default()),
            tool_seconds: add(&mut own, "tool_seconds", "How long calls of tools took", histograms()),
            store_seconds: add(&mut own, "store_seconds", "How long the store took", histograms()),
            streams: add(&mut own, "streams_open", "Event streams that are open", Gauge::default()),
            driven: add(&mut own, "runs_driven", "Runs that requests to this process drive now", Gauge::default()),
            approvals: add(&mut stored, "approvals_waiting", "Questions that wait for people", Gauge::default()),
            approval_age: add(&mut stored, "approvals_oldest_seconds", oldest, Gauge::default()),
            tasks: add(&mut stored, "tasks", "Tasks in the queue, by where they are", Family::default()),
            open_runs: add(&mut stored, "runs_open", "Runs that are not over, by where they are", Family::default()),
            tools: Mutex::default(),
            registry: own,
            stored,
        };
        Self { inner: Arc::new(inner) }
    }
}

impl Metrics {
    /// What an agent's happenings are told to.
    pub fn sink(&self, agent: &str) -> InstrumentSink {
        let (metrics, agent) = (self.clone(), agent.to_owned());
        Arc::new(move |happening| metrics.happened(&agent, happening))
    }

    pub(crate) fn request(&self, method: &str, route: &str, status: u16, elapsed: Duration) {
        let route = ("route", route.to_owned());
        self.inner.request_seconds.get_or_create(std::array::from_ref(&route)).observe(elapsed.as_secs_f64());
        let labels = [("method", method.to_owned()), route, ("status", status.to_string())];
        self.inner.requests.get_or_create(&labels).inc();
    }

    fn happened(&self, agent: &str, happening: &Happening) {
        let field = |name: &str| happening.fields.get(name);
        let text = |name: &str| field(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let agent = ("agent", agent.to_owned());
        match happening.name {
            "holdpoint.run" => {
                self.inner.runs.get_or_create(&[agent, ("reason", text("stop_reason"))]).inc();
            }
            "holdpoint.pause" => {
                self.inner.pauses.get_or_create(&[agent, ("reason", text("pause_reason"))]).inc();
            }
            "holdpoint.llm.call" => {
                self.inner.model_calls.get_or_create(&[agent]).inc();
            }
            "holdpoint.tool.execute" => {
                let failed = field("result_error").is_some_and(|error| *error != Value::Bool(false));
                let ms = field("duration_ms").and_then(Value::as_f64).unwrap_or_default();
                let elapsed = Duration::try_from_secs_f64(ms / 1_000.0).unwrap_or_default();
                let tenant = field("tenant").and_then(Value::as_str).map(str::to_owned);
                self.tool_ended([agent, ("tool", text("executed_name"))], tenant, failed, elapsed);
            }
            _ => {}
        }
    }

    fn tool_ended(&self, labels: Labels<2>, tenant: Option<String>, failed: bool, elapsed: Duration) {
        self.inner.tool_seconds.get_or_create(&labels).observe(elapsed.as_secs_f64());
        let [agent, tool] = labels;
        let outcome = ("outcome", if failed { "error" } else { "success" }.to_owned());
        self.inner.tool_calls.get_or_create(&[agent.clone(), tool.clone(), outcome]).inc();
        let mut tools = self.inner.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let statistics = tools.entry((agent.1, tool.1)).or_default().entry(tenant).or_default();
        statistics.calls += 1;
        statistics.errors += u64::from(failed);
        let us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        statistics.duration_us = statistics.duration_us.saturating_add(us);
    }

    /// What became of the calls of a tool since the start, as far as the caller may know.
    pub(crate) fn tool(&self, scope: &Scope, agent: &str, tool: &str) -> ToolStatistics {
        let tools = self.inner.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(by_tenant) = tools.get(&(agent.to_owned(), tool.to_owned())) else { return ToolStatistics::default() };
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

    /// The numbers as Prometheus reads them. `stored` is what the store counted, and how long its oldest question waits; nothing
    /// while it is out of reach.
    pub(crate) fn encode(&self, streams: usize, driven: usize, stored: Option<(StoreTally, Duration)>) -> String {
        let size = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.inner.streams.set(size(streams));
        self.inner.driven.set(size(driven));
        let mut out = String::new();
        // Writing to memory does not fail.
        let _ = text::encode_registry(&mut out, &self.inner.registry);
        if let Some((tally, oldest)) = stored {
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
        let (tasks, runs) = (&self.inner.tasks, &self.inner.open_runs);
        for (gauges, state, count) in [
            (tasks, "waiting", tally.tasks_waiting),
            (tasks, "leased", tally.tasks_leased),
            (tasks, "delivered", tally.tasks_delivered),
            (runs, "running", tally.runs_running),
            (runs, "awaiting_tool_confirmation", tally.runs_awaiting_confirmation),
            (runs, "awaiting_tool_results", tally.runs_awaiting_results),
        ] {
            gauges.get_or_create(&[("state", state.to_owned())]).set(number(count));
        }
    }

    fn store_took(&self, operation: &'static str, elapsed: Duration) {
        self.inner.store_seconds.get_or_create(&[("operation", operation)]).observe(elapsed.as_secs_f64());
    }
}
