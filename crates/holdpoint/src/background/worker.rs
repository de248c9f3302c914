//! Does the calls that agents hand out: leases tasks, runs their tools, and delivers what came of it.

mod perform;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use globset::{Glob, GlobMatcher};
use holdpoint_codec::receipt::ReceiptKeys;
use holdpoint_core::ToolName;
use holdpoint_store::{
    LEASE_LIMIT_MAX, LEASE_MS_MAX, LEASE_TOOLS_MAX, LeaseClock, LeaseRequest, LeaseState, Store, TaskLease, Topic,
    WorkerSeen,
};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call::lease::TaskHold;
use crate::{Error, Runner};

/// How many tasks a worker does at once unless told otherwise.
const CONCURRENCY: usize = 8;
/// Task lease: another worker may get the task after this long without a heartbeat.
const LEASE: Duration = Duration::from_secs(30);
/// The shortest lease.
const LEASE_MIN: Duration = Duration::from_millis(10);
/// How often a lease is renewed within its length.
const HEARTBEATS_PER_LEASE: u32 = 3;
/// The longest time between two renewals, so that a worker soon learns that a task was withdrawn.
const HEARTBEAT_MAX: Duration = Duration::from_secs(1);
/// How often it looks although nothing woke it.
const POLL: Duration = Duration::from_millis(500);
/// How often it says that it is there.
const SEEN_EVERY: Duration = Duration::from_secs(10);
/// How long it waits for what it does when it is told to stop.
const GRACE: Duration = Duration::from_secs(30);

/// Takes deferred calls of some agents from their store and does them, until it is told to stop.
///
/// The lease is the intent: a task whose worker dies is tried again only if its tool may be repeated; otherwise a person
/// is asked.
pub struct Worker {
    name: Arc<str>,
    runners: Vec<Runner>,
    tools: Vec<GlobMatcher>,
    problem: Option<Error>,
    tenant: Option<Arc<str>>,
    verify: Option<ReceiptKeys>,
    concurrency: usize,
    lease: Duration,
    poll: Duration,
    grace: Duration,
}

impl Worker {
    /// Does the calls that this runner's agent hands out, with the runner's tools and hooks.
    pub fn new(runner: &Runner) -> Self {
        Self {
            name: format!("worker-{}", std::process::id()).into(),
            runners: vec![runner.clone()],
            tools: Vec::new(),
            problem: None,
            tenant: None,
            verify: None,
            concurrency: CONCURRENCY,
            lease: LEASE,
            poll: POLL,
            grace: GRACE,
        }
    }

    /// Does the calls of another agent too. It must use the same store.
    #[must_use]
    pub fn and(mut self, runner: &Runner) -> Self {
        self.runners.push(runner.clone());
        self
    }

    /// Its name, as people see it in questions and lists.
    #[must_use]
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Only tools whose registered name matches this glob, or another one given so. All tools by default.
    #[must_use]
    pub fn tools(mut self, glob: &str) -> Self {
        match Glob::new(glob) {
            Ok(glob) => self.tools.push(glob.compile_matcher()),
            Err(error) => {
                self.problem.get_or_insert(Error::config(format!("`{glob}` is not a pattern of tools: {error}")));
            }
        }
        self
    }

    /// Only tasks of this tenant.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<Arc<str>>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Does only calls whose receipt one of these keys signed and that is for exactly what would run. Any other task is
    /// settled as failed with `receipt_invalid`, and its tool does not run. Without this, whoever can write to the store can
    /// have any call done.
    #[must_use]
    pub fn verify(mut self, keys: impl Into<ReceiptKeys>) -> Self {
        self.verify = Some(keys.into());
        self
    }

    /// How many tasks it does at once: 8 by default.
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// How long others leave its tasks alone when they hear nothing of it: 30 seconds by default.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.clamp(LEASE_MIN, Duration::from_millis(LEASE_MS_MAX));
        self
    }

    /// How often it looks although nothing woke it: twice a second by default.
    #[must_use]
    pub fn poll(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }

    /// How long it waits for what it does when it is told to stop: 30 seconds by default. What is not done by then is in
    /// doubt.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Works until `shutdown` is cancelled; then it takes nothing more, and gives back what it had not started.
    ///
    /// # Errors
    /// When it could never do anything: a pattern that is none, or no tool at all.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), Error> {
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        let tools = self.matching();
        if tools.is_empty() {
            return Err(Error::config("the worker has no tool that matches"));
        }
        let bench = Arc::new(Bench {
            worker: Arc::clone(&self.name),
            store: self.runners[0].store().clone(),
            clock: Arc::clone(&self.runners[0].parts.lease_clock),
            runners: self.runners.iter().map(|runner| (runner.parts.agent_key(), runner.clone())).collect(),
            verify: self.verify.clone(),
            lease: self.lease,
            stopping: shutdown.child_token(),
            held: Mutex::default(),
        });
        let beats = tokio::spawn(Arc::clone(&bench).beat());
        let names = tools.iter().map(|(_, tool)| tool.clone()).collect();
        let seen = WorkerSeen { name: Arc::clone(&self.name), tenant: self.tenant.clone(), tools: names };
        let seen = tokio::spawn(Arc::clone(&bench).be_seen(seen));
        let mut jobs = JoinSet::new();
        self.take_tasks(&bench, tools, &mut jobs).await;
        let done = async { while jobs.join_next().await.is_some() {} };
        if tokio::time::timeout(self.grace, done).await.is_err() {
            tracing::warn!(target: "holdpoint", tasks = jobs.len(), "tasks were not done in time");
        }
        beats.abort();
        seen.abort();
        Ok(())
    }

    /// The tools that it has, each with its agent.
    fn matching(&self) -> Vec<(Arc<str>, ToolName)> {
        let matches =
            |name: &ToolName| self.tools.is_empty() || self.tools.iter().any(|glob| glob.is_match(name.as_str()));
        let all = self.runners.iter().flat_map(|runner| {
            let agent = runner.parts.agent_key();
            let tools = runner.parts.registry.definitions().into_iter();
            // What is only declared is done by somebody else, who has more than a declaration.
            let here = tools.filter(|tool| !tool.metadata.is_of_workers());
            here.map(move |tool| (Arc::clone(&agent), tool.name.clone()))
        });
        all.filter(|(_, name)| matches(name)).take(LEASE_TOOLS_MAX).collect()
    }

    /// Until when nothing is taken, after a task has ended.
    fn rests_after(&self, ended: Result<Ended, JoinError>, until: Instant) -> Instant {
        match ended {
            Ok(Ended::GivenBack) => until.max(Instant::now() + self.poll),
            Ok(Ended::Done) | Err(_) => until,
        }
    }

    async fn take_tasks(&self, bench: &Arc<Bench>, tools: Vec<(Arc<str>, ToolName)>, jobs: &mut JoinSet<Ended>) {
        let mut woken = bench.store.runs.watch(Topic::Tasks);
        let mut request = LeaseRequest {
            worker: Arc::clone(&self.name),
            tools,
            tenant: self.tenant.clone(),
            limit: 0,
            lease_ms: bench.lease_ms(),
        };
        let mut out_of_reach = false;
        // What was given back wakes everybody, this worker too, and could not be started here a moment ago.
        let mut rests_until = Instant::now();
        while !bench.stopping.is_cancelled() {
            woken.borrow_and_update();
            while let Some(ended) = jobs.try_join_next() {
                rests_until = self.rests_after(ended, rests_until);
            }
            let rests = Instant::now() < rests_until;
            request.limit = self.concurrency.saturating_sub(jobs.len()).min(LEASE_LIMIT_MAX);
            let full = request.limit == 0;
            let mut took = false;
            if !full && !rests {
                let sent = bench.clock.read();
                match bench.store.tasks.lease(&request).await {
                    Ok(tasks) => {
                        out_of_reach = false;
                        took = !tasks.is_empty();
                        for task in tasks {
                            jobs.spawn(Arc::clone(bench).perform(task, sent));
                        }
                    }
                    Err(error) => {
                        if !out_of_reach {
                            tracing::warn!(target: "holdpoint", code = %error.code(), "no task can be taken");
                        }
                        out_of_reach = true;
                    }
                }
            }
            if took {
                continue;
            }
            tokio::select! {
                () = bench.stopping.cancelled() => {}
                Some(ended) = jobs.join_next() => rests_until = self.rests_after(ended, rests_until),
                Ok(()) = woken.changed(), if !full && !out_of_reach && !rests => {}
                () = tokio::time::sleep(self.poll), if !full => {}
            }
        }
    }
}

/// How a task ended, for the worker that took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// It is not in the queue any more, or somebody else's.
    Done,
    /// It was not started, and anybody may have it.
    GivenBack,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("name", &self.name)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

/// What all tasks of a worker share.
struct Bench {
    worker: Arc<str>,
    store: Store,
    clock: Arc<dyn LeaseClock>,
    runners: HashMap<Arc<str>, Runner>,
    /// The keys of receipts, if they are verified.
    verify: Option<ReceiptKeys>,
    lease: Duration,
    stopping: CancellationToken,
    /// The leases that it has.
    held: Mutex<HashMap<TaskLease, Arc<HeldTask>>>,
}

/// A lease of a task, and what tells its tool to stop.
struct HeldTask {
    lease: Arc<TaskHold>,
    stop: CancellationToken,
}

impl Bench {
    fn lease_ms(&self) -> u64 {
        u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX)
    }

    /// Renews all leases again and again. A tool whose task was withdrawn or taken is told to stop.
    async fn beat(self: Arc<Self>) {
        let every = (self.lease / HEARTBEATS_PER_LEASE).min(HEARTBEAT_MAX);
        loop {
            tokio::time::sleep(every).await;
            let leases: Vec<TaskLease> = self.held().keys().cloned().collect();
            if leases.is_empty() {
                continue;
            }
            let sent = self.clock.read();
            match self.store.tasks.heartbeat(&leases, self.lease_ms()).await {
                Ok(states) => {
                    let held = self.held();
                    for (lease, state) in leases.iter().zip(states) {
                        let Some(held) = held.get(lease) else { continue };
                        held.lease.renewed(sent, state);
                        if state == LeaseState::Lost {
                            held.stop.cancel();
                        }
                    }
                }
                Err(error) => {
                    tracing::warn!(target: "holdpoint", code = %error.code(), "task leases could not be renewed");
                }
            }
        }
    }

    /// Says again and again that it is there, for lists of workers.
    async fn be_seen(self: Arc<Self>, seen: WorkerSeen) {
        loop {
            if let Err(error) = self.store.state.note_worker(&seen).await {
                tracing::debug!(target: "holdpoint", code = %error.code(), "a worker is not noted");
            }
            tokio::time::sleep(SEEN_EVERY).await;
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<TaskLease, Arc<HeldTask>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
