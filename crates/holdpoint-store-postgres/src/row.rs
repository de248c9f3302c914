//! Values as the database keeps them, and back.

use std::sync::Arc;

use holdpoint_core::{
    Attempt, CallIndex, CallKey, ContinuationId, PauseNumber, Repeat, Revision, RunId, Status, Timestamp, ToolName,
    Turn,
};
use holdpoint_store::{Fence, Head, Link, StoreError, TaskHead, TaskState};
use sqlx::postgres::{PgRow, Postgres};
use sqlx::{Decode, Row, Type};

use crate::pool::corrupt;

/// The columns of a run's head, in the order in which [`head`] reads them.
pub(crate) const HEAD: &str = "r.run_id, r.revision, r.status, r.agent, r.tenant, r.pause, r.deadline, r.created_at, r.updated_at, \
    r.session";
/// The columns of a task, in the order in which [`task`] reads them.
pub(crate) const TASK: &str = "r.run_id, t.turn, t.place, t.agent, t.tenant, t.tool, t.attempts, t.attempts_max, \
    t.repeat, t.deadline, t.created_at, t.state, t.ready_at, t.fence, t.worker, t.since, t.lease_us";
/// Where the columns after those of a task begin.
pub(crate) const AFTER_TASK: usize = 17;

/// A number that is not negative. Those above what the database can hold are never reached.
pub(crate) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(crate) fn milliseconds(ms: u64, max: u64) -> i64 {
    number(ms.min(max)).saturating_mul(1_000)
}

pub(crate) fn status_number(status: Status) -> i16 {
    match status {
        Status::Running => 0,
        Status::AwaitingToolConfirmation => 1,
        Status::AwaitingToolResults => 2,
        Status::Finished => 3,
        Status::Failed => 4,
        Status::Cancelled => 5,
    }
}

pub(crate) fn repeat_number(repeat: Repeat) -> i16 {
    match repeat {
        Repeat::Never => 0,
        Repeat::Safe => 1,
        Repeat::WithKey => 2,
    }
}

/// One column of a row.
pub(crate) fn column<'r, T>(row: &'r PgRow, index: usize) -> Result<T, StoreError>
where
    T: Decode<'r, Postgres> + Type<Postgres>,
{
    row.try_get(index).map_err(|_| corrupt("a column is not what it must be"))
}

pub(crate) fn run_ids(rows: &[PgRow]) -> Result<Vec<RunId>, StoreError> {
    rows.iter().map(|row| Ok(RunId::new(column::<&str>(row, 0)?))).collect()
}

pub(crate) fn unsigned(value: i64) -> Result<u64, StoreError> {
    u64::try_from(value).map_err(|_| corrupt("a number is negative"))
}

pub(crate) fn small(value: i64) -> Result<u32, StoreError> {
    u32::try_from(value).map_err(|_| corrupt("a number is out of its range"))
}

pub(crate) fn text(row: &PgRow, index: usize) -> Result<Option<Arc<str>>, StoreError> {
    Ok(column::<Option<&str>>(row, index)?.map(Into::into))
}

pub(crate) fn moment(row: &PgRow, index: usize) -> Result<Option<Timestamp>, StoreError> {
    Ok(column::<Option<i64>>(row, index)?.map(Timestamp))
}

/// A tenant as the audit log and grants have it: '' for none, `=acme` for tenant `acme`. Sorted as tenants are.
pub(crate) fn tenant_key(tenant: Option<&str>) -> String {
    tenant.map(|tenant| format!("={tenant}")).unwrap_or_default()
}

/// The tenant of a column that [`tenant_key`] made.
pub(crate) fn tenant(row: &PgRow, index: usize) -> Result<Option<Arc<str>>, StoreError> {
    Ok(column::<&str>(row, index)?.strip_prefix('=').map(Into::into))
}

pub(crate) fn link(row: &PgRow, index: usize) -> Result<Link, StoreError> {
    Ok(Link::stored(column::<Option<&[u8]>>(row, index)?.unwrap_or_default()))
}

/// Reads [`HEAD`].
pub(crate) fn head(row: &PgRow) -> Result<Head, StoreError> {
    let run = RunId::new(column::<&str>(row, 0)?);
    let status = column::<i16>(row, 2)?;
    let status = Status::ALL.into_iter().find(|known| status_number(*known) == status);
    let agent = column::<&str>(row, 3)?;
    let pause = column::<Option<i64>>(row, 5)?.map(small).transpose()?;
    Ok(Head {
        revision: Revision(unsigned(column(row, 1)?)?),
        status: status.ok_or_else(|| corrupt("a status is unknown"))?,
        agent: (!agent.is_empty()).then(|| agent.into()),
        tenant: text(row, 4)?,
        continuation: pause.map(|pause| ContinuationId { run: run.clone(), pause: PauseNumber(pause) }),
        deadline: moment(row, 6)?,
        created_at: Timestamp(column(row, 7)?),
        updated_at: Timestamp(column(row, 8)?),
        session: text(row, 9)?,
        run,
    })
}

/// Reads [`TASK`].
pub(crate) fn task(row: &PgRow) -> Result<TaskHead, StoreError> {
    let place = CallKey {
        run: RunId::new(column::<&str>(row, 0)?),
        turn: Turn(small(column(row, 1)?)?),
        index: CallIndex(small(column(row, 2)?)?),
    };
    let repeat = column::<i16>(row, 8)?;
    let repeat = Repeat::ALL.into_iter().find(|known| repeat_number(*known) == repeat);
    Ok(TaskHead {
        key: place,
        agent: column::<&str>(row, 3)?.into(),
        tenant: text(row, 4)?,
        tool: ToolName::new(column::<&str>(row, 5)?),
        attempts: Attempt(small(column(row, 6)?)?),
        attempts_max: Attempt(small(column(row, 7)?)?),
        repeat: repeat.ok_or_else(|| corrupt("a kind of repeat is unknown"))?,
        deadline: moment(row, 9)?,
        created_at: Timestamp(column(row, 10)?),
        state: state(row)?,
    })
}

fn state(row: &PgRow) -> Result<TaskState, StoreError> {
    let ready_at = Timestamp(column(row, 12)?);
    let fence = Fence(unsigned(column(row, 13)?)?);
    let worker = || text(row, 14)?.ok_or_else(|| corrupt("a lease has no worker"));
    let since = || moment(row, 15)?.ok_or_else(|| corrupt("a lease has no beginning"));
    match column::<i16>(row, 11)? {
        0 => Ok(TaskState::Waiting { available_at: ready_at }),
        1 => {
            let lease_ms = unsigned(column::<Option<i64>>(row, 16)?.unwrap_or(0))? / 1_000;
            Ok(TaskState::Leased { worker: worker()?, fence, since: since()?, until: ready_at, lease_ms })
        }
        2 => Ok(TaskState::Delivered { worker: worker()?, fence, since: since()? }),
        _ => Err(corrupt("a state of a task is unknown")),
    }
}
