//! Keeps runs going: takes over those whose process died, lets questions expire, asks about lost tasks, takes the results
//! that workers delivered, seals the audit log, and throws away what is past its time. Any number of keepers may look after one store: each thing is done
//! once.

mod overlong;
mod sealer;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdpoint_core::{LossCause, RunId};
use holdpoint_store::{CLAIM_LIMIT_MAX, ClaimRequest, Hold, Scope, Store, StoreError, Swept, TaskHead, Topic};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::entry::point::{EntryPoint, Then};
use crate::{Error, Runner};
use overlong::OverlongLeases;
use sealer::Sealer;

/// How many runs a keeper drives at once unless told otherwise.
const RUNS_MAX: usize = 256;
/// How often it looks although nothing woke it.
const POLL: Duration = Duration::from_secs(1);
/// Overlong leases are looked for once in so many polls: they are there only after a clock was set back.
const POLLS_PER_OVERLONG_LOOK: u32 = 5;
/// The shortest pause between two looks, so that a busy store is not asked all the time.
const GAP: Duration = Duration::from_millis(5);
/// How long it waits for what it drives when it is told to stop.
const GRACE: Duration = Duration::from_secs(30);
/// How often it seals the audit logs of tenants whose runs moved.
const SEAL_EVERY: Duration = Duration::from_secs(60);
/// How often it throws away what is past its time and of no run.
const SWEEP_EVERY: Duration = Duration::from_secs(5 * 60);
/// How often in one go.
const SWEEPS_MAX: usize = 100;
/// How many deadlines, lost tasks and arrivals one look handles.
const BATCH: usize = 100;

/// Looks after the runs of some agents in one store, until it is told to stop.
pub struct Keeper {
    runners: Vec<Runner>,
    runs_max: usize,
    poll: Duration,
    grace: Duration,
    seal_every: Option<Duration>,
}

impl Keeper {
    /// Looks after the runs of this runner's agent.
    pub fn new(runner: &Runner) -> Self {
        let (runners, seal_every) = (vec![runner.clone()], Some(SEAL_EVERY));
        Self { runners, runs_max: RUNS_MAX, poll: POLL, grace: GRACE, seal_every }
    }

    /// Looks after the runs of another agent too. It must use the same store.
    #[must_use]
    pub fn and(mut self, runner: &Runner) -> Self {
        self.runners.push(runner.clone());
        self
    }

    /// How many runs it drives at once: 256 by default.
    #[must_use]
    pub fn runs_max(mut self, runs_max: usize) -> Self {
        self.runs_max = runs_max.clamp(1, Semaphore::MAX_PERMITS);
        self
    }

    /// How often it looks although nothing woke it: every second by default.
    #[must_use]
    pub fn poll(mut self, poll: Duration) -> Self {
        self.poll = poll.max(GAP);
        self
    }

    /// How long it waits for the tools that run when it is told to stop: 30 seconds by default. No turn and no tool begins
    /// any more, and a run whose tools are done goes at once to whoever takes it over. What is not done by then is in doubt.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How often it seals the audit logs of tenants whose runs moved: every minute by default, and once more when it is
    /// told to stop. It seals every agent's runs. Several keepers of one store share the work: however many there are, a
    /// tenant is sealed at most twice in this time.
    #[must_use]
    pub fn seal_every(mut self, every: Duration) -> Self {
        self.seal_every = Some(every.max(GAP));
        self
    }

    /// Leaves sealing to others: another keeper, or `holdpoint audit seal`.
    #[must_use]
    pub fn seal_never(mut self) -> Self {
        self.seal_every = None;
        self
    }

    /// Works until `shutdown` is cancelled.
    pub async fn run(self, shutdown: CancellationToken) {
        let store = self.runners[0].store().clone();
        let sealer = self.seal_every.map(|every| Sealer::new(store.clone(), every));
        let sealing = async {
            if let Some(sealer) = &sealer {
                sealer.run(&shutdown).await;
            }
        };
        let overlong = self.overlong_leases(&store);
        tokio::join!(self.look_after(&shutdown), sealing, sweep(&store, &shutdown), overlong.watch(&shutdown));
        if let Some(sealer) = sealer {
            // What moved until the end, too.
            sealer.finish(self.grace).await;
        }
    }

    fn overlong_leases(&self, store: &Store) -> OverlongLeases {
        let agents = self.runners.iter().map(|runner| runner.parts.agent_key()).collect();
        let clock = &self.runners[0].parts.lease_clock;
        OverlongLeases::new(store, clock, agents, self.poll * POLLS_PER_OVERLONG_LOOK)
    }

    async fn look_after(&self, shutdown: &CancellationToken) {
        let rounds = Arc::new(Rounds::new(self, shutdown));
        let mut woken = rounds.store.runs.watch(Topic::Runs);
        let mut jobs = JoinSet::new();
        let mut out_of_reach = false;
        loop {
            woken.borrow_and_update();
            match rounds.look(&mut jobs).await {
                Ok(()) => out_of_reach = false,
                Err(error) => {
                    if !out_of_reach {
                        tracing::warn!(target: "holdpoint", code = %error.code(), "the store cannot be looked after");
                    }
                    out_of_reach = true;
                }
            }
            tokio::time::sleep(GAP).await;
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = tokio::time::sleep(self.poll) => {}
                // A store that is gone wakes nobody: then only time does.
                Ok(()) = woken.changed(), if !out_of_reach => {}
                Some(_) = jobs.join_next() => {}
            }
            while jobs.try_join_next().is_some() {}
        }
        let done = async { while jobs.join_next().await.is_some() {} };
        if tokio::time::timeout(self.grace, done).await.is_err() {
            tracing::warn!(target: "holdpoint", runs = jobs.len(), "runs are left to whoever takes them over");
        }
    }
}

/// Throws away what is past its time and of no run, every so often.
async fn sweep(store: &Store, shutdown: &CancellationToken) {
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(SWEEP_EVERY) => {}
        }
        // A full page may not have been all.
        for _ in 0..SWEEPS_MAX {
            match store.state.sweep().await {
                Ok(swept) if swept != Swept::default() => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::debug!(target: "holdpoint", code = %error.code(), "what is old stays for now");
                    break;
                }
            }
        }
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper")
            .field("runners", &self.runners)
            .field("runs_max", &self.runs_max)
            .finish_non_exhaustive()
    }
}

/// Something that is to be done about a run.
enum Job {
    /// Its lease lapsed, and it was claimed under this hold.
    TakeOver(RunId, Hold),
    /// A deadline passed.
    Expire(RunId),
    /// Results of workers wait to be collected.
    Collect(RunId),
    /// A lease of a task lapsed.
    Lost(Box<TaskHead>),
}

impl Job {
    fn run(&self) -> &RunId {
        match self {
            Job::TakeOver(run, _) | Job::Expire(run) | Job::Collect(run) => run,
            Job::Lost(task) => &task.key.run,
        }
    }
}

struct Rounds {
    store: Store,
    runners: HashMap<Arc<str>, Runner>,
    agents: Vec<Arc<str>>,
    slots: Arc<Semaphore>,
    /// The runs that something is done about here and now: a second look leaves them alone.
    busy: Mutex<HashSet<RunId>>,
}

impl Rounds {
    /// What it drives is let go of at the shutdown.
    fn new(keeper: &Keeper, shutdown: &CancellationToken) -> Self {
        let runners = keeper.runners.iter().map(|runner| runner.with_stopping(shutdown.clone()));
        let runners: HashMap<_, _> = runners.map(|runner| (runner.parts.agent_key(), runner)).collect();
        Self {
            store: keeper.runners[0].store().clone(),
            agents: runners.keys().cloned().collect(),
            runners,
            slots: Arc::new(Semaphore::new(keeper.runs_max)),
            busy: Mutex::default(),
        }
    }

    /// Finds what is to be done, and starts it.
    async fn look(self: &Arc<Self>, jobs: &mut JoinSet<()>) -> Result<(), StoreError> {
        let free = self.slots.available_permits().min(CLAIM_LIMIT_MAX);
        let first = &self.runners[&self.agents[0]];
        // Who stops would only let go of what it takes.
        if free == 0 || first.parts.stopping.is_on() {
            return Ok(());
        }
        let limit = free.min(BATCH);
        let claim = ClaimRequest { hold: first.parts.hold(), agents: self.agents.clone(), limit: free };
        let claimed = self.store.leases.claim(&claim).await?.into_iter();
        let mut found: Vec<Job> = claimed.map(|run| Job::TakeOver(run, claim.hold.clone())).collect();
        // What was claimed is taken over, also when the rest cannot be read.
        let read = self.read_due(limit, &mut found).await;
        let mut by_run: BTreeMap<RunId, Vec<Job>> = BTreeMap::new();
        for job in found {
            by_run.entry(job.run().clone()).or_default().push(job);
        }
        for (run, found) in by_run {
            if let Some(busy) = Busy::enter(self, &run) {
                jobs.spawn(Arc::clone(self).work(found, busy));
            }
        }
        read
    }

    /// Adds what time, workers and lapsed leases ask for.
    async fn read_due(&self, limit: usize, found: &mut Vec<Job>) -> Result<(), StoreError> {
        let due = self.store.runs.due(&self.agents, self.store.runs.now(), limit).await?;
        found.extend(due.into_iter().map(Job::Expire));
        found.extend(self.store.tasks.collectable(&self.agents, limit).await?.into_iter().map(Job::Collect));
        let lapsed = self.store.tasks.lapsed(&self.agents, limit).await?;
        found.extend(lapsed.into_iter().map(|task| Job::Lost(Box::new(task))));
        Ok(())
    }

    /// Does everything that one look found about a run, one after the other: what cannot be done must not keep the rest waiting.
    async fn work(self: Arc<Self>, jobs: Vec<Job>, busy: Busy) {
        // The semaphore is never closed.
        let Ok(_slot) = Arc::clone(&self.slots).acquire_owned().await else { return };
        for job in jobs {
            match self.perform(job).await {
                Ok(()) => {}
                Err(error @ Error::Store(_)) => {
                    tracing::warn!(target: "holdpoint", run = %busy.run, code = %error.code(), "a run could not be looked after");
                }
                // Somebody else was faster, or the run is driven right now: the next look will tell.
                Err(error) => tracing::debug!(target: "holdpoint", run = %busy.run, code = %error.code(), "left alone"),
            }
        }
        drop(busy);
    }

    async fn perform(&self, job: Job) -> Result<(), Error> {
        let Some(runner) = self.runner_of(job.run()).await? else { return Ok(()) };
        match job {
            Job::TakeOver(run, claim) => runner.enter(&EntryPoint::TakeOver(run, claim).into(), None).await.map(drop),
            Job::Expire(run) => runner.expire(&run).await.map(drop),
            Job::Collect(run) => runner.enter(&EntryPoint::Collect(run).into(), None).await.map(drop),
            Job::Lost(task) => runner.queue().lost(&task, LossCause::LeaseLapsed, Then::Drive).await,
        }
    }

    async fn runner_of(&self, run: &RunId) -> Result<Option<&Runner>, Error> {
        if let [only] = &self.agents[..] {
            return Ok(self.runners.get(only));
        }
        let head = self.store.runs.head(&Scope::All, run).await?;
        Ok(head.and_then(|head| self.runners.get(&head.agent.unwrap_or_default())))
    }

    fn busy(&self) -> std::sync::MutexGuard<'_, HashSet<RunId>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While it lives, nothing else is done about a run here.
struct Busy {
    rounds: Arc<Rounds>,
    run: RunId,
}

impl Busy {
    fn enter(rounds: &Arc<Rounds>, run: &RunId) -> Option<Self> {
        rounds.busy().insert(run.clone()).then(|| Self { rounds: Arc::clone(rounds), run: run.clone() })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.rounds.busy().remove(&self.run);
    }
}
