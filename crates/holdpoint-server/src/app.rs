//! What all requests share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use holdpoint::{DeltaHub, ReceiptKeys, RunId, RunResult, Runner};
use holdpoint_store::{Head, Store, StoreTally};
use tokio_util::sync::CancellationToken;

use crate::auth::{Caller, Tokens};
use crate::driving::Driving;
use crate::metrics::Metrics;
use crate::noted::Noted;
use crate::refusal::{Answer, Refusal};
use crate::seal::Sealer;
use crate::streams::{Rates, Streams};
use crate::{Limits, ServedAgent};

/// Everything that a request may need.
pub(crate) struct App {
    pub(crate) store: Store,
    /// By name. Never empty.
    pub(crate) agents: BTreeMap<Arc<str>, ServedAgent>,
    pub(crate) tokens: Tokens,
    pub(crate) sealer: Sealer,
    pub(crate) receipt_keys: ReceiptKeys,
    pub(crate) limits: Limits,
    pub(crate) rates: Rates,
    pub(crate) streams: Arc<Streams>,
    pub(crate) driving: Driving,
    /// What models say in runs that the keeper drives.
    pub(crate) deltas: DeltaHub,
    pub(crate) metrics: Metrics,
    pub(crate) cookies: Cookies,
    /// Whoever checks the audit log right now.
    pub(crate) verifying: tokio::sync::Mutex<()>,
    /// What the store counted last, and when.
    pub(crate) counted: tokio::sync::Mutex<Option<(Instant, Option<StoreTally>)>>,
    /// Whether the store could be written when that was tried last, and when. What was wrong, if anything was.
    pub(crate) checked: tokio::sync::Mutex<Option<(Instant, Option<String>)>>,
    /// Set when nobody looks after runs any more although the server goes on.
    pub(crate) abandoned: AtomicBool,
    /// Set when the worker of this process ended although the server goes on.
    pub(crate) worker_ended: AtomicBool,
    /// Changes when somebody logs out here.
    pub(crate) logged_out: tokio::sync::watch::Sender<u64>,
    /// Which workers elsewhere were noted, and when.
    pub(crate) noted: Noted,
    /// Cancelled when the server begins to stop.
    pub(crate) stopping: CancellationToken,
}

/// Whether browsers may send the cookie of a session over plain HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cookies {
    #[default]
    Plain,
    SecureOnly,
}

impl App {
    /// The shortest lease of a run here: this long after a server died, another may go on with what it did.
    pub(crate) fn lease(&self) -> Duration {
        self.runners().map(Runner::lease).min().unwrap_or(Duration::from_secs(30))
    }

    pub(crate) fn runners(&self) -> impl Iterator<Item = &Runner> {
        self.agents.values().map(ServedAgent::runner)
    }

    /// A runner that can read any run: reading needs a store, and no agent in particular.
    pub(crate) fn reader(&self) -> Answer<&Runner> {
        self.runners().next().ok_or_else(|| Refusal::internal("a server without agents"))
    }

    /// The head of a run that the caller's tenant owns.
    pub(crate) async fn head(&self, caller: &Caller, run: &RunId) -> Answer<Head> {
        self.store.runs.head(&caller.scope, run).await?.ok_or_else(Refusal::no_run)
    }

    /// A run as the store has it, for a caller that may see it: one who reads all runs, or who started this one.
    pub(crate) async fn run_seen(&self, caller: &Caller, run: &RunId) -> Answer<RunResult> {
        let seen = self.run_owned(caller, run).await?;
        caller.need_to_see(seen.run())?;
        Ok(seen)
    }

    /// A run of the caller's tenant, as the store has it.
    pub(crate) async fn run_owned(&self, caller: &Caller, run: &RunId) -> Answer<RunResult> {
        Ok(RunResult::read(&self.store, &caller.scope, run).await?)
    }

    /// The runner of the agent of a run.
    pub(crate) fn runner_for(&self, run: &RunResult) -> Answer<&Runner> {
        self.runner_of(run.run().agent().map(|agent| &**agent))
    }

    /// The runner of a run's agent.
    pub(crate) fn runner_of(&self, agent: Option<&str>) -> Answer<&Runner> {
        self.agents.get(agent.unwrap_or_default()).map(ServedAgent::runner).ok_or_else(|| {
            let detail = "this server does not run the agent of this run";
            Refusal::new(holdpoint_api::ApiCode::UnknownAgent, detail)
        })
    }

    /// # Errors
    /// When the server stops.
    pub(crate) fn expect_running(&self) -> Answer<()> {
        if self.stopping.is_cancelled() {
            let detail = "the server stops and begins nothing new";
            return Err(Refusal::new(holdpoint_api::ApiCode::ShuttingDown, detail).retry_after(5));
        }
        Ok(())
    }
}
