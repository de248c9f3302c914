//! Values of columns, and back.

use std::sync::Arc;

use holdpoint_core::{
    Attempt, CallIndex, CallKey, ContinuationId, PauseNumber, Repeat, Revision, RunId, Status, Timestamp, ToolName,
    Turn,
};
use holdpoint_store::{Fence, Head, Link, StoreError, TaskHead, TaskState, packed};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::fault::{corrupt, store_error};

pub(crate) const WAITING: i64 = 0;
pub(crate) const LEASED: i64 = 1;
pub(crate) const DELIVERED: i64 = 2;

/// The columns of a [`Head`], for [`Reader::head`].
macro_rules! head_columns {
    () => {
        "run_id, revision, status, agent, tenant, pause, deadline, created_at, updated_at, session"
    };
}
/// The columns of a [`TaskHead`] of `tasks t` and `runs r`, for [`Reader::task`].
macro_rules! task_columns {
    () => {
        "r.run_id, t.turn, t.idx, t.agent, t.tenant, t.tool, t.attempts, t.attempts_max, t.repeat, t.deadline, \
         t.created_at, t.state, t.moment, t.worker, t.fence, t.since, t.lease_ms"
    };
}
pub(crate) use {head_columns, task_columns};

pub(crate) fn status_number(status: Status) -> i64 {
    match status {
        Status::Running => 0,
        Status::AwaitingToolConfirmation => 1,
        Status::AwaitingToolResults => 2,
        Status::Finished => 3,
        Status::Failed => 4,
        Status::Cancelled => 5,
    }
}

fn status(number: i64) -> Option<Status> {
    Status::ALL.into_iter().find(|status| status_number(*status) == number)
}

pub(crate) fn repeat_number(repeat: Repeat) -> i64 {
    match repeat {
        Repeat::Never => 0,
        Repeat::Safe => 1,
        Repeat::WithKey => 2,
    }
}

fn repeat(number: i64) -> Option<Repeat> {
    Repeat::ALL.into_iter().find(|repeat| repeat_number(*repeat) == number)
}

/// A tenant as the audit log and grants have it: '' for none, `=acme` for tenant `acme`. Sorted as tenants are.
pub(crate) fn tenant_key(tenant: Option<&str>) -> String {
    tenant.map(|tenant| format!("={tenant}")).unwrap_or_default()
}

/// The tenant that a key stands for.
pub(crate) fn tenant_of(key: &str) -> Option<Arc<str>> {
    key.strip_prefix('=').map(Into::into)
}

/// No run ever has so many records; whoever asks for more asks for nothing.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A limit that was clamped before.
pub(crate) fn signed_len(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A single value, compressed when it is long.
pub(crate) fn pack_one(body: Vec<u8>) -> Vec<u8> {
    packed::pack(&[body])
}

pub(crate) fn unpack_one(bytes: &[u8]) -> Result<Arc<[u8]>, StoreError> {
    packed::unpack(bytes)?.into_iter().next().ok_or_else(|| corrupt("a value is missing"))
}

/// Reads the columns of a row one after another.
pub(crate) struct Reader<'a> {
    row: &'a SqliteRow,
    next: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(row: &'a SqliteRow) -> Self {
        Self { row, next: 0 }
    }

    pub(crate) fn int(&mut self) -> Result<i64, StoreError> {
        self.value()
    }

    pub(crate) fn int_or_null(&mut self) -> Result<Option<i64>, StoreError> {
        self.value()
    }

    pub(crate) fn small(&mut self) -> Result<u32, StoreError> {
        u32::try_from(self.int()?).map_err(|_| corrupt("a number is out of range"))
    }

    pub(crate) fn big(&mut self) -> Result<u64, StoreError> {
        u64::try_from(self.int()?).map_err(|_| corrupt("a number is out of range"))
    }

    pub(crate) fn moment(&mut self) -> Result<Timestamp, StoreError> {
        Ok(Timestamp(self.int()?))
    }

    pub(crate) fn text(&mut self) -> Result<Arc<str>, StoreError> {
        Ok(self.value::<&str>()?.into())
    }

    pub(crate) fn text_or_null(&mut self) -> Result<Option<Arc<str>>, StoreError> {
        Ok(self.value::<Option<&str>>()?.map(Into::into))
    }

    /// What [`tenant_key`] made.
    pub(crate) fn tenant(&mut self) -> Result<Option<Arc<str>>, StoreError> {
        Ok(tenant_of(self.value()?))
    }

    pub(crate) fn link(&mut self) -> Result<Link, StoreError> {
        Ok(Link::stored(self.value::<Option<&[u8]>>()?.unwrap_or_default()))
    }

    /// Leaves columns out.
    pub(crate) fn skip(&mut self, columns: usize) {
        self.next += columns;
    }

    pub(crate) fn bytes_or_null(&mut self) -> Result<Option<&'a [u8]>, StoreError> {
        self.value()
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], StoreError> {
        self.value()
    }

    pub(crate) fn status(&mut self) -> Result<Status, StoreError> {
        status(self.int()?).ok_or_else(|| corrupt("a status is unknown"))
    }

    /// What [`head_columns!`] names.
    pub(crate) fn head(&mut self) -> Result<Head, StoreError> {
        let run = RunId::new(self.text()?);
        let revision = Revision(self.big()?);
        let status = self.status()?;
        let agent = self.text()?;
        let tenant = self.text_or_null()?;
        let pause = self.int_or_null()?.map(u32::try_from).transpose();
        let pause = pause.map_err(|_| corrupt("a number is out of range"))?;
        Ok(Head {
            continuation: pause.map(|pause| ContinuationId { run: run.clone(), pause: PauseNumber(pause) }),
            run,
            revision,
            status,
            agent: (!agent.is_empty()).then_some(agent),
            tenant,
            deadline: self.int_or_null()?.map(Timestamp),
            created_at: self.moment()?,
            updated_at: self.moment()?,
            session: self.text_or_null()?,
        })
    }

    /// What [`task_columns!`] names.
    pub(crate) fn task(&mut self) -> Result<TaskHead, StoreError> {
        Ok(TaskHead {
            key: CallKey { run: RunId::new(self.text()?), turn: Turn(self.small()?), index: CallIndex(self.small()?) },
            agent: self.text()?,
            tenant: self.text_or_null()?,
            tool: ToolName::new(self.text()?),
            attempts: Attempt(self.small()?),
            attempts_max: Attempt(self.small()?),
            repeat: repeat(self.int()?).ok_or_else(|| corrupt("a way to repeat is unknown"))?,
            deadline: self.int_or_null()?.map(Timestamp),
            created_at: self.moment()?,
            state: self.task_state()?,
        })
    }

    fn task_state(&mut self) -> Result<TaskState, StoreError> {
        let (state, moment) = (self.int()?, self.moment()?);
        let (worker, fence, since) = (self.text_or_null()?, self.int_or_null()?, self.int_or_null()?);
        let lease_ms = self.int_or_null()?.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0);
        if state == WAITING {
            return Ok(TaskState::Waiting { available_at: moment });
        }
        let (Some(worker), Some(fence), Some(since)) = (worker, fence, since.map(Timestamp)) else {
            return Err(corrupt("a lease has no holder"));
        };
        let fence = Fence(u64::try_from(fence).map_err(|_| corrupt("a number is out of range"))?);
        match state {
            LEASED => Ok(TaskState::Leased { worker, fence, since, until: moment, lease_ms }),
            DELIVERED => Ok(TaskState::Delivered { worker, fence, since }),
            // What this program wrote is one of the three.
            _ => Err(corrupt("the state of a task is unknown")),
        }
    }

    fn value<T: sqlx::Decode<'a, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>>(&mut self) -> Result<T, StoreError> {
        let index = self.next;
        self.next += 1;
        self.row.try_get(index).map_err(|error| store_error("read what is stored", error))
    }
}
