//! Requests to the writer: what a caller wants to be written, and where its answer goes.

use std::sync::Arc;

use holdpoint_core::{CallKey, RunId};
use holdpoint_store::{Seal, StoreError};
use tokio::sync::oneshot;

use crate::batch::{Batch, Given};
use crate::fault::GroupFailure;
use crate::group::{Group, SessionKey};

/// Where an answer goes. A caller that stopped waiting is not told.
pub(crate) type Answer<T, E = StoreError> = oneshot::Sender<Result<T, E>>;

/// One request.
pub(crate) enum Request {
    /// Goes into a group with others.
    Write(Box<dyn Write>),
    /// Seals what moved of a tenant's runs. Goes alone.
    Seal(Option<Arc<str>>, Answer<Option<Seal>>),
    /// Asks for a number that changes when another process writes to the file. Nothing is written for it.
    ForeignVersion(Answer<i64>),
}

/// What a write needs to see before it can be decided.
#[derive(Default)]
pub(crate) struct About {
    pub(crate) runs: Vec<RunId>,
    pub(crate) tasks: Vec<CallKey>,
    pub(crate) session: Option<SessionKey>,
    /// About how much memory it takes to write it.
    pub(crate) bytes: usize,
}

/// When a write of a group is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// In turn, from what the group looked up and from what those before it did.
    InTurn,
    /// After all of those, by statements of its own that see what they wrote. All writes of a group came at the same time, so
    /// that any order is a right one.
    AtTheEnd,
}

/// A write of a group.
pub(crate) trait Write: Send {
    fn about(&self) -> &About;

    fn order(&self) -> Order;

    /// Decides it, or adds its statements.
    fn apply(&mut self, group: &mut Group, batch: &mut Batch);

    /// Answers the caller, once the group is durable or has failed.
    fn answer(self: Box<Self>, written: Result<&mut Given, &GroupFailure>);
}

/// Makes the answer from what the statements of the batch returned.
pub(crate) type Read<T, E = StoreError> = Box<dyn FnOnce(&mut Given) -> Result<T, E> + Send>;

/// Decides a write, or adds its statements.
pub(crate) type Apply<T, E> = Box<dyn FnOnce(&mut Group, &mut Batch) -> Read<T, E> + Send>;

/// A write with its answer.
pub(crate) struct Pending<T, E> {
    pub(crate) about: About,
    pub(crate) order: Order,
    /// What the store is doing, for errors.
    pub(crate) doing: &'static str,
    pub(crate) apply: Option<Apply<T, E>>,
    /// There once it was applied.
    pub(crate) read: Option<Read<T, E>>,
    pub(crate) answer: Answer<T, E>,
}

impl<T: Send, E: From<StoreError> + Send> Write for Pending<T, E> {
    fn about(&self) -> &About {
        &self.about
    }

    fn order(&self) -> Order {
        self.order
    }

    fn apply(&mut self, group: &mut Group, batch: &mut Batch) {
        self.read = self.apply.take().map(|apply| apply(group, batch));
    }

    fn answer(self: Box<Self>, written: Result<&mut Given, &GroupFailure>) {
        let Self { doing, read, answer, .. } = *self;
        match (written, read) {
            (Ok(given), Some(read)) => _ = answer.send(read(given)),
            (Err(failure), _) => _ = answer.send(Err(failure.store_error(doing).into())),
            // A group that was written was applied before.
            (Ok(_), None) => {}
        }
    }
}
