//! The parts that a runner is made of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdpoint_codec::SigningKey;
use holdpoint_codec::receipt::{ReceiptKey, ReceiptMaker};
use holdpoint_core::{RunId, Settings, Timestamp};
use holdpoint_model::{Model, ModelOptions, TokenCounter, ToolChoice};
use holdpoint_policy::Guarded;
use holdpoint_store::{Hold, LeaseClock, OwnerId, Store};
use holdpoint_tools::{Chain, Executors, Registry};
use tokio_util::sync::CancellationToken;

use crate::background::queue::BackgroundResults;
use crate::background::stopping::Stopping;
use crate::events::callbacks::Callbacks;
use crate::events::deltas::DeltaHub;
use crate::events::instrument::Instruments;
use crate::events::tool_stats::AllStats;
use crate::failpoint::Failpoints;

/// How long a policy may take to decide.
pub(crate) const POLICY_TIMEOUT: Duration = Duration::from_secs(5);

/// Run lease: another process may take the run over after this long without a renewal.
pub(crate) const RUN_LEASE: Duration = Duration::from_secs(30);
/// How often a lease is renewed within its length.
pub(crate) const RENEWALS_PER_LEASE: u32 = 3;

/// Everything that a run needs beside its own state. Cheap to share; changed only between runs.
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
    pub(crate) failpoints: Arc<Failpoints>,
    pub(crate) live: Arc<Live>,
    pub(crate) lease: Duration,
    pub(crate) lease_clock: Arc<dyn LeaseClock>,
    pub(crate) deltas: Option<DeltaHub>,
    pub(crate) span_parent: Option<SpanParent>,
    pub(crate) stats: Arc<AllStats>,
    pub(crate) stopping: Stopping,
    pub(crate) background_results: Arc<BackgroundResults>,
}

impl Parts {
    /// The same parts, shared.
    pub(crate) fn share(&self) -> Parts {
        Parts {
            agent: self.agent.clone(),
            model: Arc::clone(&self.model),
            model_options: self.model_options.clone(),
            tool_choice: self.tool_choice.clone(),
            registry: Arc::clone(&self.registry),
            policy: self.policy.clone(),
            executors: Arc::clone(&self.executors),
            hooks: self.hooks.clone(),
            store: self.store.clone(),
            settings: Arc::clone(&self.settings),
            signing_key: self.signing_key.clone(),
            receipt_key: self.receipt_key.clone(),
            unsigned_imports: self.unsigned_imports,
            migrate: self.migrate.clone(),
            token_counter: Arc::clone(&self.token_counter),
            callbacks: self.callbacks.clone(),
            instruments: self.instruments.clone(),
            failpoints: Arc::clone(&self.failpoints),
            live: Arc::clone(&self.live),
            lease: self.lease,
            lease_clock: Arc::clone(&self.lease_clock),
            deltas: self.deltas.clone(),
            span_parent: self.span_parent.clone(),
            stats: Arc::clone(&self.stats),
            stopping: self.stopping.clone(),
            background_results: Arc::clone(&self.background_results),
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
#[derive(Debug, Default)]
pub(crate) struct Live {
    runs: Mutex<HashMap<RunId, Vec<Arc<CancellationToken>>>>,
}

impl Live {
    /// Notes that a run is driven here, until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, run: &RunId) -> LiveGuard {
        let token = Arc::new(CancellationToken::new());
        self.lock().entry(run.clone()).or_default().push(Arc::clone(&token));
        LiveGuard { live: Arc::clone(self), run: run.clone(), token }
    }

    /// Tells whoever drives the run here to let go of it.
    pub(crate) fn cancel(&self, run: &RunId) {
        let tokens = self.lock().get(run).cloned().unwrap_or_default();
        tokens.iter().for_each(|token| token.cancel());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, Vec<Arc<CancellationToken>>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While it lives, a run is driven here. Dropping it also tells what still runs for it to stop.
#[derive(Debug)]
pub(crate) struct LiveGuard {
    live: Arc<Live>,
    run: RunId,
    token: Arc<CancellationToken>,
}

impl LiveGuard {
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}

impl Drop for LiveGuard {
    fn drop(&mut self) {
        self.token.cancel();
        let mut runs = self.live.lock();
        if let Some(tokens) = runs.get_mut(&self.run) {
            tokens.retain(|token| !Arc::ptr_eq(token, &self.token));
            if tokens.is_empty() {
                runs.remove(&self.run);
            }
        }
    }
}
