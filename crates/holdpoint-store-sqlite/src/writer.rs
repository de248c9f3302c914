//! The task that writes: takes everything that waits, writes it as one transaction, and answers after its commit.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use holdpoint_core::RunId;
use holdpoint_store::{Clock, Notifier, Seal};
use sqlx::{ConnectOptions, Connection, Executor, SqliteConnection};
use tokio::sync::{Notify, mpsc};

use crate::audit_log;
use crate::batch::{Batch, Given};
use crate::fault::GroupFailure;
use crate::group::Group;
use crate::options::Options;
use crate::request::{Answer, Order, Request, Write};

/// How many requests may wait before callers have to wait to hand theirs in.
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
    pub(crate) notifier: Arc<Notifier<RunId>>,
    pub(crate) queue: mpsc::Receiver<Request>,
    /// Told when the store is to be closed.
    pub(crate) ending: Arc<Notify>,
}

impl Writer {
    /// Works until the store is dropped or closed and every request is answered.
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
                    // Requests that are in the queue are still done; no more can be handed in.
                    () = self.ending.notified() => {
                        self.queue.close();
                        continue;
                    }
                }
            }
            while waiting.len() < GROUP_MAX
                && let Ok(request) = self.queue.try_recv()
            {
                waiting.push_back(request);
            }
            match waiting.pop_front() {
                Some(Request::Write(first)) => self.write(next_group(first, &mut waiting)).await,
                Some(Request::Seal(tenant, answer)) => self.seal(tenant.as_deref(), answer).await,
                Some(Request::ForeignVersion(answer)) => self.tell_version(answer).await,
                None => {}
            }
            // Callers that were answered may have the next request ready at once: it is cheaper together.
            tokio::task::yield_now().await;
        }
        if let Some(connection) = self.connection.take() {
            // No caller is left to hear of a failure, and everything acknowledged is durable.
            _ = connection.close().await;
        }
    }

    async fn write(&mut self, mut writes: Vec<Box<dyn Write>>) {
        let written = match self.try_write(&mut writes).await {
            Ok(written) => Ok(written),
            Err(error) => Err(self.undo(error).await),
        };
        match written {
            Ok((group, mut given)) => {
                writes.into_iter().for_each(|write| write.answer(Ok(&mut given)));
                group.moved.iter().for_each(|(run, revision)| self.notifier.moved(run, *revision));
                self.notifier.notify(group.topics);
            }
            Err(failure) => writes.into_iter().for_each(|write| write.answer(Err(&failure))),
        }
    }

    async fn try_write(&mut self, writes: &mut [Box<dyn Write>]) -> Result<(Group, Given), sqlx::Error> {
        let mut group = Group::of(writes, &*self.clock);
        let connection = self.connection().await?;
        group.look(connection).await?;
        let (mut batch, ticket) = (Batch::default(), group.last_ticket);
        for write in writes.iter_mut().filter(|write| write.order() == Order::InTurn) {
            write.apply(&mut group, &mut batch);
        }
        group.write(&mut batch, ticket);
        for write in writes.iter_mut().filter(|write| write.order() == Order::AtTheEnd) {
            write.apply(&mut group, &mut batch);
        }
        batch.add(COMMIT);
        let given = batch.run(connection).await?;
        Ok((group, given))
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
        // A caller that stopped waiting finds the seal in the file.
        _ = answer.send(sealed);
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
            // Some failures undo the transaction by themselves. A connection that fails otherwise is not used again; closing
            // it undoes what is open.
            let is_whole = match connection.execute("ROLLBACK").await {
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

    async fn tell_version(&mut self, answer: Answer<i64>) {
        let version = match self.connection().await {
            Ok(connection) => sqlx::query_scalar(FOREIGN_VERSION).fetch_one(connection).await,
            Err(error) => Err(error),
        };
        _ = answer.send(version.map_err(|error| GroupFailure::new(error).store_error("write")));
    }
}

/// As many writes as go together with the first.
fn next_group(first: Box<dyn Write>, waiting: &mut VecDeque<Request>) -> Vec<Box<dyn Write>> {
    let mut bytes = first.about().bytes;
    let mut group = vec![first];
    while group.len() < GROUP_MAX
        && let Some(Request::Write(next)) = waiting.front()
    {
        bytes += next.about().bytes;
        if bytes > GROUP_BYTES_MAX {
            break;
        }
        if let Some(Request::Write(next)) = waiting.pop_front() {
            group.push(next);
        }
    }
    group
}
