//! Transitions: one statement each, or one for all that wait.
//!
//! A few connections do nothing else. A transition that finds one of them free goes at once. What comes while all of
//! them are busy waits, and the first that is free again takes everything that waits as one statement.

mod asking;
mod batch;
mod fold;

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{Revision, RunId, Status};
use holdpoint_store::{
    CommitError, GrantOpening, HeadUpdate, LEASE_MS_MAX, Link, OwnerId, QuestionChange, Scope, SessionUse, StoreError,
    Transition, first_link, next_link, packed,
};
use sqlx::postgres::PgConnection;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;
use uuid::Uuid;

use crate::clock::StoreClock;
use crate::fault::{Recovery, recovery, store_error, timed_out};
use crate::pool::{CONFLICT_TRIES_MAX, Patience, Pool, STATEMENT_LIMIT};
use crate::row::{milliseconds, number, status_number};
use crate::run_log::read_head;
use crate::sessions::slot;
use crate::wait::{Moved, Wakes};
use asking::Asked;
use batch::Verdict;
#[cfg(all(test, feature = "testing"))]
pub(crate) use batch::statements;
use fold::Folded;

/// How many transitions wait before those who bring more have to wait to hand them over.
const QUEUE_MAX: usize = 1_024;
/// The most transitions of one statement.
const BATCH_MAX: usize = 128;
/// Transitions are not put together beyond this.
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

const DOING: &str = "write the run";

/// A transition on its way into the database.
struct Job {
    run: RunId,
    at: i64,
    next: i64,
    head: HeadUpdate,
    owner: Option<OwnerId>,
    lease_us: Option<i64>,
    moved_at: i64,
    /// Tells this commit from all others, so that it is recognised when its answer was lost.
    token: i64,
    body: Vec<u8>,
    audit: Option<Vec<u8>>,
    /// The audit chain after it, if it creates the run.
    created_link: Option<Link>,
    tasks: Vec<Folded>,
    grants: Vec<GrantOpening>,
    questions: Vec<Asked>,
    /// What it holds while it is not over, if it creates a run that is alone in its session.
    slot: Option<String>,
    session_use: SessionUse,
    reply: oneshot::Sender<Result<Revision, CommitError>>,
}

impl Job {
    fn bytes(&self) -> usize {
        let openings: usize =
            self.tasks.iter().filter_map(|task| task.opening.as_ref()).map(|task| task.body.len()).sum();
        let grants: usize = self.grants.iter().map(|grant| grant.body.len()).sum();
        let questions: usize = self.questions.iter().map(Asked::bytes).sum();
        self.body.len() + self.audit.as_ref().map_or(0, Vec::len) + openings + grants + questions
    }

    /// Whether it writes more than the run and its log.
    fn has_more(&self) -> bool {
        !self.tasks.is_empty() || !self.grants.is_empty() || !self.questions.is_empty()
    }

    /// Why it was not written, by where the run is.
    fn refused_at(&self, revision: i64) -> CommitError {
        // Nobody created the run, and yet it could not be created: somebody is alone in its session.
        if self.slot.is_some() && revision == self.at { CommitError::SessionBusy } else { stale(revision) }
    }

    /// What the last run of its session must be, if that matters: a name, or nothing for none.
    fn last_run(&self) -> Option<&str> {
        let wanted = self.session_use.after().filter(|_| self.slot.is_some())?;
        Some(wanted.map(RunId::as_str).unwrap_or_default())
    }

    fn revision(&self) -> Revision {
        Revision(u64::try_from(self.next).unwrap_or(0))
    }

    /// What others may wait for.
    fn moved(&self, run_no: i64) -> Moved {
        let paused = match self.head.status {
            Status::AwaitingToolConfirmation | Status::AwaitingToolResults => true,
            Status::Running => self.owner.is_none(),
            Status::Finished | Status::Failed | Status::Cancelled => false,
        };
        let tasks = self.tasks.iter().any(|task| task.opening.is_some());
        Moved { run_no, revision: self.next, tasks, runs: paused, questions: !self.questions.is_empty() }
    }
}

/// Where transitions are handed in.
pub(crate) struct Commits {
    queue: mpsc::Sender<Job>,
    shared: Arc<Shared>,
}

impl Commits {
    /// Starts so many committers. They end when this is dropped and what was handed in is done.
    pub(crate) fn start(committers: u32, shared: Shared) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let (jobs, shared) = (Arc::new(Mutex::new(jobs)), Arc::new(shared));
        for _ in 0..committers.max(1) {
            tokio::spawn(work(Arc::clone(&jobs), Committer { shared: Arc::clone(&shared), connection: None }));
        }
        Self { queue, shared }
    }

    pub(crate) async fn commit(&self, run: &RunId, at: Revision, step: Transition) -> Result<Revision, CommitError> {
        step.check(run).map_err(CommitError::Invalid)?;
        let (reply, answer) = oneshot::channel();
        let Some(job) = job(run, at, step, reply) else {
            return Err(self.lease_lost(run, at).await?);
        };
        let closed = || CommitError::Store(StoreError::failed(DOING, "the store was closed"));
        self.queue.send(job).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// A transition that cannot have its lease is stale as well if the run moved.
    async fn lease_lost(&self, run: &RunId, at: Revision) -> Result<CommitError, StoreError> {
        let head = read_head(&self.shared.pool, &Scope::All, run).await?;
        let current = head.map_or(Revision(0), |head| head.revision);
        Ok(if current == at { CommitError::LeaseLost } else { CommitError::Stale { current } })
    }
}

type Reply = oneshot::Sender<Result<Revision, CommitError>>;

/// Nothing when it closes a task under a lease that nobody can have.
fn job(run: &RunId, at: Revision, step: Transition, reply: Reply) -> Option<Job> {
    let Transition { records, head, at: moved_at, hold, tasks, audit, grants, questions, session_use } = step;
    let tasks = if tasks.is_empty() { Vec::new() } else { fold::fold(tasks)? };
    if at.0 == 0 && tasks.iter().any(Folded::wants_lease) {
        // A run that is not there yet has no tasks.
        return None;
    }
    let next = Revision(at.0.saturating_add(records.len() as u64));
    let created_link = (at.0 == 0).then(|| {
        let first = first_link(run, head.tenant.as_deref());
        audit.as_deref().map_or(first, |body| next_link(first, next, moved_at, body))
    });
    let alone = at.0 == 0 && session_use.is_alone();
    let slot = head.session.as_deref().filter(|_| alone).map(|session| slot(head.tenant.as_deref(), session));
    let at = number(at.0);
    let lease_us = hold.as_ref().map(|hold| milliseconds(hold.lease_ms, LEASE_MS_MAX));
    Some(Job {
        run: run.clone(),
        at,
        next: number(next.0),
        head,
        owner: hold.map(|hold| hold.owner),
        lease_us,
        moved_at: moved_at.0,
        token: token(),
        body: packed::pack(&records),
        audit,
        created_link,
        tasks,
        grants,
        questions: asking::fold(questions.into_iter().map(packed_body).collect()),
        slot,
        session_use,
        reply,
    })
}

/// What is long is compressed, as records are.
fn packed_body(change: QuestionChange) -> QuestionChange {
    match change {
        QuestionChange::Open(mut opening) => {
            opening.body = packed::pack(&[std::mem::take(&mut opening.body)]);
            QuestionChange::Open(opening)
        }
        close @ QuestionChange::Close { .. } => close,
    }
}

/// A number that nobody else draws.
pub(crate) fn token() -> i64 {
    let (_, random) = Uuid::now_v7().as_u64_pair();
    i64::from_ne_bytes(random.to_ne_bytes())
}

/// What all committers share.
pub(crate) struct Shared {
    pub(crate) pool: Arc<Pool>,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) wakes: Arc<Wakes>,
}

/// One connection that writes transitions.
struct Committer {
    shared: Arc<Shared>,
    connection: Option<PgConnection>,
}

async fn work(jobs: Arc<Mutex<mpsc::Receiver<Job>>>, mut committer: Committer) {
    let mut taken = Vec::with_capacity(BATCH_MAX);
    loop {
        // Whoever holds the lock waits for work; the others wait for the lock.
        if jobs.lock().await.recv_many(&mut taken, BATCH_MAX).await == 0 {
            return;
        }
        // Nobody knows what became of what was given up before it began; so nothing becomes of it.
        taken.retain(|job| !job.reply.is_closed());
        while !taken.is_empty() {
            let rest = after_round(&mut taken);
            committer.round(std::mem::replace(&mut taken, rest)).await;
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
        bytes += job.bytes();
        !runs.insert(job.run.clone()) || (bytes > BATCH_BYTES_MAX && !first)
    });
    let later = later.collect();
    // Whoever else writes to the same runs locks them in the same order.
    jobs.sort_unstable_by(|one, other| one.run.as_str().cmp(other.run.as_str()));
    later
}

impl Committer {
    /// Writes these and answers. What fails together is tried one by one.
    async fn round(&mut self, jobs: Vec<Job>) {
        let verdicts = match self.send(&jobs).await {
            Ok(verdicts) => verdicts,
            Err(error) => {
                let unsure = recovery(&error) == Recovery::Reconnect;
                tracing::debug!(transitions = jobs.len(), unsure, "a commit failed and is tried again");
                return self.one_by_one(jobs, unsure).await;
            }
        };
        let moved = jobs.iter().zip(&verdicts).filter_map(|(job, verdict)| match verdict {
            Verdict::Moved { run_no } => Some(job.moved(*run_no)),
            Verdict::LeaseLost | Verdict::Stale => None,
        });
        self.shared.wakes.moved(moved);
        for (job, verdict) in jobs.into_iter().zip(verdicts) {
            let answer = match verdict {
                Verdict::Moved { .. } => Ok(job.revision()),
                Verdict::LeaseLost => Err(CommitError::LeaseLost),
                Verdict::Stale => self.stale(&job).await,
            };
            // Nobody may be there any more to hear it.
            let _ = job.reply.send(answer);
        }
    }

    /// Writes each through whatever happens to the connection, and answers. All of them wait together for a database
    /// that is away, not one after the other.
    async fn one_by_one(&mut self, jobs: Vec<Job>, unsure: bool) {
        let mut patience = self.shared.pool.patience();
        for job in jobs {
            let outcome = self.alone(&job, unsure, &mut patience).await;
            let answer = outcome.map(|run_no| {
                self.shared.wakes.moved(std::iter::once(job.moved(run_no)));
                job.revision()
            });
            let _ = job.reply.send(answer);
        }
    }

    async fn alone(&mut self, job: &Job, mut unsure: bool, patience: &mut Patience) -> Result<i64, CommitError> {
        let mut conflicts = 0;
        if patience.ended_in_vain() {
            return Err(CommitError::Store(store_error(DOING, &timed_out())));
        }
        loop {
            match self.step_alone(job, unsure).await {
                Ok(Step::Written { run_no }) => return Ok(run_no),
                Ok(Step::Refused(error)) => return Err(error),
                Err(error) => match recovery(&error) {
                    Recovery::Reconnect if patience.pause().await => unsure = true,
                    Recovery::Again if conflicts < CONFLICT_TRIES_MAX => conflicts += 1,
                    Recovery::Reconnect | Recovery::Again | Recovery::GiveUp => {
                        return Err(CommitError::Store(store_error(DOING, &error)));
                    }
                },
            }
        }
    }

    /// One attempt. When it is not known what became of the attempt before, looks first.
    async fn step_alone(&mut self, job: &Job, unsure: bool) -> Result<Step, sqlx::Error> {
        if unsure {
            match self.look(job).await? {
                Seen::Ours { run_no } => return Ok(Step::Written { run_no }),
                Seen::At(revision) if revision == job.at => {}
                Seen::At(revision) => return Ok(Step::Refused(stale(revision))),
            }
        }
        let verdicts = self.send(std::slice::from_ref(job)).await?;
        match verdicts.first() {
            Some(Verdict::Moved { run_no }) => Ok(Step::Written { run_no: *run_no }),
            Some(Verdict::LeaseLost) => Ok(Step::Refused(CommitError::LeaseLost)),
            // The attempt before may have arrived after we looked.
            Some(Verdict::Stale) | None => Ok(match self.look(job).await? {
                Seen::Ours { run_no } => Step::Written { run_no },
                Seen::At(revision) => Step::Refused(job.refused_at(revision)),
            }),
        }
    }

    /// Where the run is that is not where the transition wants it.
    async fn stale(&mut self, job: &Job) -> Result<Revision, CommitError> {
        let mut patience: Option<Patience> = None;
        loop {
            match self.look(job).await {
                Ok(Seen::At(revision)) => return Err(job.refused_at(revision)),
                Ok(Seen::Ours { .. }) => return Ok(job.revision()),
                Err(error) => {
                    let patience = patience.get_or_insert_with(|| self.shared.pool.patience());
                    if recovery(&error) == Recovery::GiveUp || !patience.pause().await {
                        return Err(CommitError::Store(store_error("read the run", &error)));
                    }
                }
            }
        }
    }

    async fn look(&mut self, job: &Job) -> Result<Seen, sqlx::Error> {
        let mut connection = self.connection().await?;
        let seen =
            timeout(STATEMENT_LIMIT, batch::look(&mut connection, job)).await.unwrap_or_else(|_| Err(timed_out()));
        self.put_back(connection, seen.as_ref().err());
        seen
    }

    /// Sends what belongs into one statement.
    async fn send(&mut self, jobs: &[Job]) -> Result<Vec<Verdict>, sqlx::Error> {
        let mut connection = self.connection().await?;
        let now = self.shared.clock.given_us();
        let sent = timeout(STATEMENT_LIMIT, batch::send(&mut connection, jobs, now)).await;
        let sent = sent.unwrap_or_else(|_| Err(timed_out()));
        self.put_back(connection, sent.as_ref().err());
        sent
    }

    async fn connection(&mut self) -> Result<PgConnection, sqlx::Error> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self.shared.pool.connect().await,
        }
    }

    fn put_back(&mut self, connection: PgConnection, error: Option<&sqlx::Error>) {
        if error.is_none_or(|error| recovery(error) != Recovery::Reconnect) {
            self.connection = Some(connection);
        }
    }
}

enum Step {
    Written { run_no: i64 },
    Refused(CommitError),
}

/// Where a run is, and whether the transition in question brought it there.
enum Seen {
    Ours { run_no: i64 },
    At(i64),
}

fn stale(revision: i64) -> CommitError {
    CommitError::Stale { current: Revision(u64::try_from(revision).unwrap_or(0)) }
}

/// The columns of a head that every statement writes.
fn head_columns(head: &HeadUpdate) -> HeadColumns<'_> {
    HeadColumns {
        status: status_number(head.status),
        agent: head.agent.as_deref().unwrap_or_default(),
        tenant: head.tenant.as_deref(),
        pause: head.continuation.as_ref().map(|continuation| i64::from(continuation.pause.0)),
        deadline: head.deadline.map(|deadline| deadline.0),
    }
}

struct HeadColumns<'h> {
    status: i16,
    agent: &'h str,
    tenant: Option<&'h str>,
    pause: Option<i64>,
    deadline: Option<i64>,
}
