//! Transitions: one statement each, or one for all that wait.
//!
//! A few connections do nothing else. A transition that finds one of them free goes at once. What comes while all of
//! them are busy waits, and the first that is free again takes everything that waits as one statement.

mod asking;
mod batch;
mod fold;

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{Revision, RunId};
use holdpoint_store::{CommitError, Step, StoreError, Transition};
use tokio::sync::{Mutex, mpsc, oneshot};
use uuid::Uuid;

use crate::clock::StoreClock;
use crate::fault::{Recovery, recovery, store_error, timed_out};
use crate::pool::{Pool, Retry};
use crate::wait::{self, Moved, Wakes};
use asking::Asked;
#[cfg(all(test, feature = "server-tests"))]
pub(crate) use batch::statements;
use batch::{Seen, Verdict};
use fold::Folded;

/// How many transitions wait before a caller that brings another one has to wait to hand it over.
const QUEUE_MAX: usize = 1_024;
/// The most transitions of one statement.
const BATCH_MAX: usize = 128;
/// Transitions are not put together beyond this.
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

const DOING: &str = "write the run";

/// A transition on its way into the database.
struct Job {
    step: Step,
    /// Tells this commit from all others, so that it is recognised when its answer was lost.
    token: i64,
    tasks: Vec<Folded>,
    questions: Vec<Asked>,
    reply: oneshot::Sender<Result<Revision, CommitError>>,
}

impl Job {
    /// Whether it writes more than the run and its log.
    fn has_more(&self) -> bool {
        !self.tasks.is_empty() || !self.step.grants.is_empty() || !self.questions.is_empty()
    }

    /// Whether it creates a run that must be alone in its session.
    fn is_alone(&self) -> bool {
        self.step.own_session().is_some()
    }

    /// Why it was not written, by where the run is.
    fn refused_at(&self, current: Revision) -> CommitError {
        // The run is not there, and yet it could not be created: another run has the session.
        if self.is_alone() && current == self.step.at {
            CommitError::SessionBusy
        } else {
            CommitError::Stale { current }
        }
    }

    /// The name of the run that must be the last of the session, empty for none. Nothing when it does not matter.
    fn last_run(&self) -> Option<&str> {
        let wanted = self.step.session_use.after().filter(|_| self.is_alone())?;
        Some(wanted.map(RunId::as_str).unwrap_or_default())
    }

    fn moved(&self, run_no: i64) -> Moved {
        Moved { run_no, revision: self.step.next, topics: self.step.topics }
    }
}

/// Where transitions are handed in.
pub(crate) struct Commits {
    queue: mpsc::Sender<Job>,
    shared: Arc<Shared>,
}

impl Commits {
    /// Starts so many committers. They end when this is dropped and all that was handed in is done.
    pub(crate) fn start(committers: u32, shared: Shared) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let (jobs, shared) = (Arc::new(Mutex::new(jobs)), Arc::new(shared));
        for _ in 0..committers.max(1) {
            tokio::spawn(work(Arc::clone(&jobs), Arc::clone(&shared)));
        }
        Self { queue, shared }
    }

    pub(crate) async fn commit(
        &self,
        run: &RunId,
        at: Revision,
        transition: Transition,
    ) -> Result<Revision, CommitError> {
        let mut step = Step::new(run, at, transition)?;
        let tasks = fold::fold(std::mem::take(&mut step.tasks));
        // A run that is not there yet has no tasks.
        let tasks = tasks.filter(|tasks| !step.creates() || !tasks.iter().any(Folded::wants_lease));
        let Some(tasks) = tasks else {
            return Err(self.lease_lost(run, at).await?);
        };
        let questions = asking::fold(std::mem::take(&mut step.questions));
        let (reply, answer) = oneshot::channel();
        let closed = || CommitError::Store(StoreError::failed(DOING, "the store was closed"));
        let job = Job { step, token: token(), tasks, questions, reply };
        self.queue.send(job).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// A transition that cannot have its lease is stale as well if the run moved.
    async fn lease_lost(&self, run: &RunId, at: Revision) -> Result<CommitError, StoreError> {
        let found = wait::find(&self.shared.pool, run).await?;
        let current = found.map_or(Revision(0), |found| found.revision);
        Ok(if current == at { CommitError::LeaseLost } else { CommitError::Stale { current } })
    }
}

/// A number that no other request has.
pub(crate) fn token() -> i64 {
    let (_, random) = Uuid::now_v7().as_u64_pair();
    i64::from_ne_bytes(random.to_ne_bytes())
}

/// What all committers share.
pub(crate) struct Shared {
    /// The connections that only write transitions, one for each committer.
    pub(crate) pool: Pool,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) wakes: Arc<Wakes>,
}

async fn work(jobs: Arc<Mutex<mpsc::Receiver<Job>>>, shared: Arc<Shared>) {
    let mut taken = Vec::with_capacity(BATCH_MAX);
    loop {
        // The committer that holds the lock waits for work; the others wait for the lock.
        if jobs.lock().await.recv_many(&mut taken, BATCH_MAX).await == 0 {
            return;
        }
        // The caller of a transition that was given up before it began does not learn its outcome, so it is not written.
        taken.retain(|job| !job.reply.is_closed());
        while !taken.is_empty() {
            let rest = after_round(&mut taken);
            shared.round(std::mem::replace(&mut taken, rest)).await;
        }
    }
}

/// Leaves those that fit into one statement, and returns the others: a run moves once per statement.
fn after_round(jobs: &mut Vec<Job>) -> Vec<Job> {
    if jobs.len() == 1 {
        return Vec::new();
    }
    let (mut runs, mut bytes) = (HashSet::with_capacity(jobs.len()), 0);
    let later = jobs.extract_if(.., |job| {
        let first = bytes == 0;
        bytes += job.step.bytes;
        !runs.insert(job.step.run.clone()) || (bytes > BATCH_BYTES_MAX && !first)
    });
    let later = later.collect();
    // Every process that writes to the same runs locks them in the same order.
    jobs.sort_unstable_by(|one, other| one.step.run.as_str().cmp(other.step.run.as_str()));
    later
}

impl Shared {
    /// Writes these and answers. What fails together is tried one by one.
    async fn round(&self, jobs: Vec<Job>) {
        let verdicts = match self.send(&jobs).await {
            Ok(verdicts) => verdicts,
            Err(error) => {
                let is_unsure = recovery(&error) == Recovery::Reconnect;
                tracing::debug!(transitions = jobs.len(), is_unsure, "a commit failed and is tried again");
                return self.one_by_one(jobs, is_unsure).await;
            }
        };
        let moved = jobs.iter().zip(&verdicts).filter_map(|(job, verdict)| match verdict {
            Verdict::Moved { run_no } => Some(job.moved(*run_no)),
            Verdict::LeaseLost | Verdict::Stale => None,
        });
        self.wakes.moved(moved);
        for (job, verdict) in jobs.into_iter().zip(verdicts) {
            let answer = match verdict {
                Verdict::Moved { .. } => Ok(job.step.next),
                Verdict::LeaseLost => Err(CommitError::LeaseLost),
                Verdict::Stale => self.stale(&job).await,
            };
            // The caller may not be there any more to hear it.
            let _ = job.reply.send(answer);
        }
    }

    /// Writes each through whatever happens to the connection, and answers. All of them wait together for a database
    /// that is away, not one after the other.
    async fn one_by_one(&self, jobs: Vec<Job>, is_unsure: bool) {
        let mut retry = self.pool.retry();
        for job in jobs {
            let written = self.alone(&job, is_unsure, &mut retry).await;
            let answer = written.map(|run_no| {
                self.wakes.moved(std::iter::once(job.moved(run_no)));
                job.step.next
            });
            let _ = job.reply.send(answer);
        }
    }

    async fn alone(&self, job: &Job, is_unsure: bool, retry: &mut Retry) -> Result<i64, CommitError> {
        if !retry.begin(is_unsure) {
            return Err(CommitError::Store(store_error(DOING, &timed_out())));
        }
        loop {
            let error = match self.attempt(job, retry.is_unsure).await {
                Ok(outcome) => return outcome,
                Err(error) => error,
            };
            if !retry.again(&error).await {
                return Err(CommitError::Store(store_error(DOING, &error)));
            }
        }
    }

    /// One attempt. When it is not known whether the attempt before took effect, looks first.
    async fn attempt(&self, job: &Job, is_unsure: bool) -> Result<Result<i64, CommitError>, sqlx::Error> {
        if is_unsure {
            match self.look(job).await? {
                Seen::Ours { run_no } => return Ok(Ok(run_no)),
                Seen::At(revision) if revision == job.step.at => {}
                Seen::At(current) => return Ok(Err(CommitError::Stale { current })),
            }
        }
        let verdicts = self.send(std::slice::from_ref(job)).await?;
        Ok(match verdicts.first() {
            Some(Verdict::Moved { run_no }) => Ok(*run_no),
            Some(Verdict::LeaseLost) => Err(CommitError::LeaseLost),
            // The attempt before may have arrived after we looked.
            Some(Verdict::Stale) | None => match self.look(job).await? {
                Seen::Ours { run_no } => Ok(run_no),
                Seen::At(revision) => Err(job.refused_at(revision)),
            },
        })
    }

    /// Where the run is that is not where the transition wants it.
    async fn stale(&self, job: &Job) -> Result<Revision, CommitError> {
        match self.pool.retrying("read the run", || self.look(job)).await? {
            Seen::At(revision) => Err(job.refused_at(revision)),
            Seen::Ours { .. } => Ok(job.step.next),
        }
    }

    async fn look(&self, job: &Job) -> Result<Seen, sqlx::Error> {
        self.pool.with(async |connection| batch::look(connection, job).await).await
    }

    /// Sends what belongs into one statement.
    async fn send(&self, jobs: &[Job]) -> Result<Vec<Verdict>, sqlx::Error> {
        let now = self.clock.given_us();
        self.pool.with(async |connection| batch::send(connection, jobs, now).await).await
    }
}
