//! The parts that a runner is made of.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_codec::SigningKey;
use holdpoint_codec::receipt::{ReceiptKey, ReceiptMaker};
use holdpoint_core::{RunId, Settings, Timestamp};
use holdpoint_model::{Model, ModelOptions, ScriptedModel, TokenCounter, ToolChoice, estimate_tokens};
use holdpoint_policy::Guarded;
use holdpoint_store::{Hold, LeaseClock, MemoryStore, OwnerId, Store, SystemLeaseClock};
use holdpoint_tools::{Chain, Executors, Registry};
use tokio_util::sync::CancellationToken;

use crate::background::queue::BackgroundResults;
use crate::background::stopping::Stopping;
use crate::events::callbacks::Callbacks;
use crate::events::deltas::DeltaHub;
use crate::events::instrument::Instruments;
use crate::events::tool_stats::AllStats;
use crate::present::{Entered, Present};

/// How long a policy may take to decide.
pub(crate) const POLICY_TIMEOUT: Duration = Duration::from_secs(5);

/// Run lease: another process may take the run over after this long without a renewal.
const RUN_LEASE: Duration = Duration::from_secs(30);
/// How often a lease is renewed within its length.
pub(crate) const RENEWALS_PER_LEASE: u32 = 3;

/// Everything that a run needs beside its own state. Changed only between runs; clones share what is in use.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) model_options: ModelOptions,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: Guarded,
    pub(crate) executors: Arc<Executors>,
    pub(crate) hooks: Chain,
    pub(crate) store: Store,
    pub(crate) settings: Arc<Settings>,
    pub(crate) signing_key: Option<SigningKey>,
    pub(crate) receipt_key: Option<ReceiptKey>,
    pub(crate) unsigned_imports: UnsignedImports,
    pub(crate) migrate: Option<Migration>,
    pub(crate) token_counter: TokenCounter,
    pub(crate) callbacks: Callbacks,
    pub(crate) instruments: Instruments,
    pub(crate) live: Live,
    pub(crate) lease: Duration,
    pub(crate) lease_clock: Arc<dyn LeaseClock>,
    pub(crate) deltas: Option<DeltaHub>,
    pub(crate) span_parent: Option<SpanParent>,
    pub(crate) stats: Arc<AllStats>,
    pub(crate) stopping: Stopping,
    pub(crate) background_results: Arc<BackgroundResults>,
}

impl Parts {
    /// What a builder begins with: no policy, no tools, a store in memory, and a model that fails when it is asked.
    pub(crate) fn new() -> Self {
        Self {
            agent: None,
            model: Arc::new(ScriptedModel::new(Vec::new())),
            model_options: ModelOptions::default(),
            tool_choice: ToolChoice::Auto,
            registry: Arc::default(),
            policy: Guarded::new(None, POLICY_TIMEOUT),
            executors: Arc::default(),
            hooks: Chain::default(),
            store: MemoryStore::new().into(),
            settings: Arc::default(),
            signing_key: None,
            receipt_key: None,
            unsigned_imports: UnsignedImports::Refuse,
            migrate: None,
            token_counter: Arc::new(estimate_tokens),
            callbacks: Callbacks::default(),
            instruments: Instruments::default(),
            live: Live::default(),
            lease: RUN_LEASE,
            lease_clock: Arc::new(SystemLeaseClock),
            deltas: None,
            span_parent: None,
            stats: Arc::default(),
            stopping: Stopping::default(),
            background_results: Arc::default(),
        }
    }

    /// A hold under a new owner id: each driver and each claim has its own.
    pub(crate) fn hold(&self) -> Hold {
        Hold { owner: OwnerId::unique(), lease_ms: u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX) }
    }

    /// What makes receipts of calls that are handed out at this moment, if anything does.
    pub(crate) fn receipts(&self, at: Timestamp) -> Option<ReceiptMaker<'_>> {
        self.receipt_key.as_ref().map(|key| ReceiptMaker { key, at })
    }

    /// Puts a span into the trace that a run was started in.
    pub(crate) fn join_trace(&self, span: &tracing::Span, trace: Option<&Arc<str>>) {
        if let (Some(join), Some(trace)) = (&self.span_parent, trace) {
            join(span, trace);
        }
    }

    /// The name that this agent's runs and tasks are found by.
    pub(crate) fn agent_key(&self) -> Arc<str> {
        self.agent.clone().unwrap_or_default()
    }
}

/// Puts a span under the one that a W3C `traceparent` names: for those who send spans elsewhere.
pub type SpanParent = Arc<dyn Fn(&tracing::Span, &str) + Send + Sync>;

/// Turns an older payload into one of the current version.
pub type Migration = Arc<dyn Fn(serde_json::Value) -> Option<serde_json::Value> + Send + Sync>;

/// Whether a payload without a signature may bring a run that the store does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsignedImports {
    /// It is refused.
    #[default]
    Refuse,
    /// It is taken. Only for applications whose own storage keeps strangers out.
    Accept,
}

/// The runs that this process drives right now. One run may be driven twice for a moment: whoever cancels it drives it
/// too, and a takeover may find the old driver still alive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live(Arc<Present<RunId, CancellationToken>>);

impl Live {
    /// Notes that a run is driven here, until the guard is dropped.
    pub(crate) fn enter(&self, run: &RunId) -> LiveGuard {
        LiveGuard(self.0.enter(run, CancellationToken::new()))
    }

    /// Tells whoever drives the run here to let go of it.
    pub(crate) fn cancel(&self, run: &RunId) {
        self.0.of(run).iter().for_each(|token| token.cancel());
    }
}

/// While it lives, a run is driven here. Dropping it also tells what still runs for it to stop.
#[derive(Debug)]
pub(crate) struct LiveGuard(Entered<RunId, CancellationToken>);

impl LiveGuard {
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0.value
    }
}

impl Drop for LiveGuard {
    fn drop(&mut self) {
        self.token().cancel();
    }
}
