//! The one that writes: takes everything that waits, writes it as one transaction, and answers after its commit.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use holdpoint_core::{RunId, Status};
use holdpoint_store::{Clock, LeaseState, Seal, TaskChange, TaskCompletion, Topic};
use sqlx::{ConnectOptions, Connection, Executor, SqliteConnection};
use tokio::sync::{Notify, mpsc};

use crate::batch::{Batch, Values};
use crate::commit::Written;
use crate::fault::GroupFailure;
use crate::group::Group;
use crate::options::Options;
use crate::request::{Answer, Reply, Request, Step};
use crate::wait::Waits;
use crate::{audit_log, commit, grants, look, prune, run_leases, task_queue};

/// How many requests may wait before those who come have to wait outside.
pub(crate) const QUEUE_MAX: usize = 1_024;
/// The most requests of one group.
const GROUP_MAX: usize = 256;
/// A group takes no more requests once it has so many bytes.
const GROUP_BYTES_MAX: usize = 32 * 1024 * 1024;

const FOREIGN_VERSION: &str = "PRAGMA data_version";
const COMMIT: &str = "COMMIT";

/// Owns the connection that writes.
pub(crate) struct Writer {
    pub(crate) connection: Option<SqliteConnection>,
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) waits: Arc<Waits>,
    pub(crate) queue: mpsc::Receiver<Request>,
    /// Told when the store is to be closed.
    pub(crate) ending: Arc<Notify>,
}

/// What is to be heard of after the commit.
#[derive(Default)]
struct News {
    moved: Vec<RunId>,
    tasks: bool,
    runs: bool,
    questions: bool,
}

/// A group that was decided and not yet written.
struct Decided {
    batch: Batch,
    replies: Vec<Reply>,
    news: News,
}

impl Writer {
    /// Works until nobody can ask any more.
    pub(crate) async fn run(mut self) {
        let mut waiting = VecDeque::new();
        loop {
            if waiting.is_empty() {
                tokio::select! {
                    biased;
                    request = self.queue.recv() => match request {
                        Some(request) => waiting.push_back(request),
                        None => break,
                    },
                    // What was asked for before is done, and nobody can ask any more.
                    () = self.ending.notified() => {
                        self.queue.close();
                        continue;
                    }
                }
            }
            self.fill(&mut waiting);
            // A seal goes alone: others may go on as soon as it is written.
            if let Some(Request::Seal(..)) = waiting.front() {
                if let Some(Request::Seal(tenant, answer)) = waiting.pop_front() {
                    self.seal(tenant.as_deref(), answer).await;
                }
                continue;
            }
            let group = next_group(&mut waiting);
            self.handle(group).await;
            // Those who were answered may have the next thing ready at once: it is cheaper together.
            tokio::task::yield_now().await;
        }
        if let Some(connection) = self.connection.take() {
            // Nobody is left who could hear of a failure, and what was acknowledged is durable.
            _ = connection.close().await;
        }
    }

    fn fill(&mut self, waiting: &mut VecDeque<Request>) {
        while waiting.len() < GROUP_MAX
            && let Ok(request) = self.queue.try_recv()
        {
            waiting.push_back(request);
        }
    }

    async fn handle(&mut self, group: Vec<Request>) {
        let is_version = |request: &Request| matches!(request, Request::ForeignVersion(_));
        let (versions, group): (Vec<_>, Vec<_>) = group.into_iter().partition(is_version);
        if !group.is_empty() {
            self.write(group).await;
        }
        for request in versions {
            self.tell_version(request).await;
        }
    }

    async fn write(&mut self, requests: Vec<Request>) {
        let clock = Arc::clone(&self.clock);
        let looked = match self.connection().await {
            Ok(connection) => look::look(connection, &requests, &*clock).await,
            Err(error) => Err(error),
        };
        let group = match looked {
            Ok(group) => group,
            Err(error) => {
                let failure = self.undo(error).await;
                return requests.into_iter().for_each(|request| request.fail(&failure));
            }
        };
        self.finish(decide(group, requests)).await;
    }

    async fn seal(&mut self, tenant: Option<&str>, answer: Answer<Option<Seal>>) {
        let now = self.clock.now();
        let sealed = match self.connection().await {
            Ok(connection) => audit_log::seal(connection, tenant, now).await,
            Err(error) => Err(error),
        };
        let sealed = match sealed {
            Ok(sealed) => Ok(sealed),
            Err(error) => Err(self.undo(error).await.store_error("seal")),
        };
        // Who no longer listens finds the seal in the file.
        _ = answer.send(sealed);
    }

    async fn finish(&mut self, decided: Decided) {
        let Decided { batch, replies, mut news } = decided;
        let written = match self.connection().await {
            Ok(connection) => batch.run(connection).await,
            Err(error) => Err(error),
        };
        match written {
            Ok(mut given) => {
                for reply in replies {
                    news.moved.extend(reply.send(&mut given));
                }
                self.spread(&news);
            }
            Err(error) => {
                let failure = self.undo(error).await;
                replies.into_iter().for_each(|reply| reply.fail(&failure));
            }
        }
    }

    fn spread(&self, news: &News) {
        self.waits.wake_runs(&news.moved);
        if news.tasks {
            self.waits.wake_topic(Topic::Tasks);
        }
        if news.runs {
            self.waits.wake_topic(Topic::Runs);
        }
        if news.questions {
            self.waits.wake_topic(Topic::Questions);
        }
    }

    /// The connection; a new one if the last one broke.
    async fn connection(&mut self) -> Result<&mut SqliteConnection, sqlx::Error> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            // The file is there: a new one in its place would be empty.
            None => self.options.writing(&self.path).create_if_missing(false).connect().await?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Leaves nothing of the group behind.
    async fn undo(&mut self, error: sqlx::Error) -> GroupFailure {
        tracing::warn!(error = %error, "a group of commits failed");
        if let Some(connection) = &mut self.connection {
            let undone = connection.execute("ROLLBACK").await;
            // Some failures undo the transaction by themselves. Anything else than that is a connection not to be used again;
            // closing it undoes what is open.
            let is_whole = match undone {
                Ok(_) => true,
                Err(sqlx::Error::Database(error)) => error.message().contains("no transaction is active"),
                Err(_) => false,
            };
            if !is_whole && let Some(connection) = self.connection.take() {
                _ = connection.close().await;
            }
        }
        GroupFailure::new(error)
    }

    async fn tell_version(&mut self, request: Request) {
        let asked = match self.connection().await {
            Ok(connection) => sqlx::query_scalar::<_, i64>(FOREIGN_VERSION).fetch_one(connection).await,
            Err(error) => Err(error),
        };
        match (asked, request) {
            (Ok(version), Request::ForeignVersion(answer)) => _ = answer.send(Ok(version)),
            (Ok(_), _) => {}
            (Err(error), request) => request.fail(&GroupFailure::new(error)),
        }
    }
}

/// As many as go together: at least one.
fn next_group(waiting: &mut VecDeque<Request>) -> Vec<Request> {
    let mut bytes = 0;
    let fits = |request: &Request| {
        bytes += request.bytes();
        bytes <= GROUP_BYTES_MAX && !matches!(request, Request::Seal(..))
    };
    let count = waiting.iter().take(GROUP_MAX).map(fits).take_while(|fits| *fits).count();
    waiting.drain(..count.max(1)).collect()
}

/// Decides everything in the order in which it came; those who take what is there come last, and see what the others did.
/// Whoever waits in the same group asked at the same time, so any order is a right one.
fn decide(mut group: Group, requests: Vec<Request>) -> Decided {
    let ticket = group.last_ticket;
    let (mut written, mut news) = (Written::new(), News::default());
    let (mut replies, mut takers) = (Vec::with_capacity(requests.len()), Vec::new());
    for request in requests {
        match request {
            Request::Commit(step, answer) => {
                let step_news = News::of(&step);
                let result = commit::decide(&mut group, &mut written, *step);
                if result.is_ok() {
                    news.add(step_news);
                }
                replies.push(Reply::Revision(answer, result));
            }
            Request::Renew(run, hold, answer) => {
                replies.push(Reply::State(answer, run_leases::renew(&mut group, &run, &hold)));
            }
            Request::Heartbeat(held, lease_ms, answer) => {
                let states = held.iter().map(|lease| task_queue::heartbeat(&mut group, lease, lease_ms)).collect();
                replies.push(Reply::States(answer, states));
            }
            Request::Deliver(lease, result, answer) => {
                let completion = task_queue::deliver(&mut group, &lease, result);
                news.runs |= completion == TaskCompletion::Stored;
                replies.push(Reply::Completion(answer, completion));
            }
            Request::Release(lease, how, answer) => {
                let state = task_queue::release(&mut group, &lease, how);
                news.tasks |= state == LeaseState::Held;
                replies.push(Reply::State(answer, state));
            }
            Request::Claim(..)
            | Request::Lease(..)
            | Request::Prune(..)
            | Request::Seal(..)
            | Request::RevokeGrant(..)
            | Request::EndLease(..)
            | Request::Desk(..)
            | Request::ForeignVersion(_) => takers.push(request),
        }
    }
    let mut batch = Batch::new();
    commit::write(&mut batch, &group, written);
    if group.last_ticket != ticket {
        batch.add(task_queue::KEEP_TICKET, Values::none().int(group.last_ticket));
    }
    replies.extend(takers.into_iter().filter_map(|request| take(&mut batch, &mut group, request)));
    batch.add(COMMIT, Values::none());
    Decided { batch, replies, news }
}

/// Adds the statements of somebody who takes what is there.
fn take(batch: &mut Batch, group: &mut Group, request: Request) -> Option<Reply> {
    match request {
        Request::Claim(request, answer) => Some(Reply::Claimed(answer, run_leases::claim(batch, &request, group))),
        Request::Prune(request, answer) => Some(Reply::Pruned(answer, prune::prune(batch, &request, group.now))),
        Request::RevokeGrant(revoking, answer) => {
            Some(Reply::Changed(answer, grants::revoke(batch, &revoking, group.now)))
        }
        Request::EndLease(lease, answer) => {
            Some(Reply::Changed(answer, run_leases::end(batch, &lease, group.lease_now)))
        }
        Request::Desk(write, answer) => Some(Reply::Desk(answer, write.add(batch, group))),
        Request::Lease(request, answer) => {
            let (tasks, leasing) = task_queue::lease(batch, group, &request);
            Some(Reply::Leased(answer, tasks, leasing))
        }
        // These were decided or answered before.
        Request::Commit(..)
        | Request::Renew(..)
        | Request::Heartbeat(..)
        | Request::Deliver(..)
        | Request::Release(..)
        | Request::Seal(..)
        | Request::ForeignVersion(_) => None,
    }
}

impl News {
    fn of(step: &Step) -> Self {
        let tasks = step.tasks.iter().any(|change| matches!(change, TaskChange::Open(_)));
        // A run that is over is nobody's to take.
        let runs = match step.head.status {
            Status::Running => step.hold.is_none(),
            Status::AwaitingToolConfirmation | Status::AwaitingToolResults => true,
            Status::Finished | Status::Failed | Status::Cancelled => false,
        };
        Self { moved: vec![step.run.clone()], tasks, runs, questions: !step.questions.is_empty() }
    }

    fn add(&mut self, other: News) {
        self.moved.extend(other.moved);
        self.tasks |= other.tasks;
        self.runs |= other.runs;
        self.questions |= other.questions;
    }
}
