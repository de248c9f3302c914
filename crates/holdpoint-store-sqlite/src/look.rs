//! The first half of a group: takes the lock and looks up everything that the requests are about.

use std::sync::Arc;

use holdpoint_core::{Attempt, CallKey, Revision, RunId, Timestamp};
use holdpoint_store::{Clock, Fence, Link, StoreError, TaskChange};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use crate::batch::{Batch, Values};
use crate::columns::{DELIVERED, LEASED, Reader, WAITING};
use crate::fault::corrupt;
use crate::group::{Chain, Group, RunChange, RunNow, TaskNow, TaskStage};
use crate::request::Request;
use crate::rows::Rows;
use crate::sessions::{LOOK_LASTS, LOOK_SLOTS};

const LOCK: &str = "BEGIN IMMEDIATE";
pub(crate) const LAST_NUMBERS: &str = "SELECT (SELECT ifnull(max(run_no), 0) FROM runs), \
     (SELECT ifnull(max(task_no), 0) FROM tasks), (SELECT last FROM tickets WHERE only = 1)";
pub(crate) const LOOK_RUNS: &str = "SELECT j.key, r.run_no, r.revision, r.status, r.agent, r.tenant, r.owner, r.lease_until, r.lease_ms, \
     r.audit_tenant, r.audit_revision, r.audit_rows, r.audit_link \
     FROM json_each($1) j CROSS JOIN runs r ON r.run_id = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT)";
pub(crate) const LOOK_TASKS: &str = "SELECT j.key, t.task_no, t.state, t.moment, t.lease_ms, t.attempts, t.deadline, t.fence \
     FROM json_each($1) j CROSS JOIN runs r ON r.run_id = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     CROSS JOIN tasks t ON t.run_no = r.run_no AND t.turn = j.value->>2 AND t.idx = j.value->>3";

/// What the requests are about, as it is now. Nobody else writes until the group ends.
pub(crate) async fn look(
    connection: &mut SqliteConnection,
    requests: &[Request],
    clock: &dyn Clock,
) -> Result<Group, sqlx::Error> {
    let mut group = Group::new(clock);
    requests.iter().for_each(|request| ask(&mut group, request));
    let mut batch = Batch::new();
    batch.add(LOCK, Values::none());
    let numbers = batch.add(LAST_NUMBERS, Values::none());
    let mut runs = None;
    if !group.runs.is_empty() {
        let names = Rows::of_texts(group.runs.iter().map(|(run, _)| run.as_str()));
        runs = Some(batch.add(LOOK_RUNS, Values::rows(names)));
    }
    let mut tasks = None;
    if !group.tasks.is_empty() {
        let mut keys = Rows::new();
        for (CallKey { run, turn, index }, _) in group.tasks.iter() {
            keys.row().text(run.as_str()).int(turn.0.into()).int(index.0.into()).end();
        }
        tasks = Some(batch.add(LOOK_TASKS, Values::rows(keys)));
    }
    let slots =
        Rows::of_texts(requests.iter().filter_map(Request::slot).collect::<Vec<_>>().iter().map(String::as_str));
    let slots = (!slots.is_empty()).then(|| batch.add(LOOK_SLOTS, Values::rows(slots)));
    let continued: Vec<(Arc<str>, String)> = requests.iter().filter_map(Request::continues).collect();
    let mut lasts = None;
    if !continued.is_empty() {
        let mut keys = Rows::new();
        continued.iter().for_each(|(session, tenant)| keys.row().text(session).text(tenant).end());
        lasts = Some(batch.add(LOOK_LASTS, Values::rows(keys)));
    }
    let mut given = batch.run(connection).await?;
    let found = given.take(numbers).iter().try_for_each(|row| set_numbers(&mut group, row));
    let found = found.and_then(|()| {
        let rows = runs.map(|runs| given.take(runs)).unwrap_or_default();
        rows.iter().try_for_each(|row| set_run(&mut group, row))
    });
    let found = found.and_then(|()| {
        let rows = tasks.map(|tasks| given.take(tasks)).unwrap_or_default();
        rows.iter().try_for_each(|row| set_task(&mut group, row))
    });
    let found = found.and_then(|()| {
        let rows = slots.map(|slots| given.take(slots)).unwrap_or_default();
        group.slots =
            rows.iter().map(|row| Ok(Reader::new(row).text()?.to_string())).collect::<Result<_, StoreError>>()?;
        Ok(())
    });
    let found = found.and_then(|()| {
        let rows = lasts.map(|lasts| given.take(lasts)).unwrap_or_default();
        rows.iter().try_for_each(|row| set_last(&mut group, row, &continued))
    });
    found.map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    Ok(group)
}

fn ask(group: &mut Group, request: &Request) {
    match request {
        Request::Commit(step, _) => {
            group.ask_run(&step.run);
            // A run that is about to be created has no tasks.
            if step.at == Revision(0) {
                return;
            }
            for change in &step.tasks {
                let (turn, index) = match change {
                    TaskChange::Open(opening) => (opening.turn, opening.index),
                    TaskChange::Close { turn, index, .. } => (*turn, *index),
                };
                group.ask_task(&CallKey { run: step.run.clone(), turn, index });
            }
        }
        Request::Renew(run, ..) => group.ask_run(run),
        Request::Heartbeat(leases, ..) => leases.iter().for_each(|lease| group.ask_task(&lease.key)),
        Request::Deliver(lease, ..) | Request::Release(lease, ..) => group.ask_task(&lease.key),
        Request::Claim(..)
        | Request::Lease(..)
        | Request::Prune(..)
        | Request::Seal(..)
        | Request::RevokeGrant(..)
        | Request::EndLease(..)
        | Request::Desk(..)
        | Request::ForeignVersion(_) => {}
    }
}

fn set_numbers(group: &mut Group, row: &SqliteRow) -> Result<(), StoreError> {
    let mut reader = Reader::new(row);
    group.last_run = reader.int()?;
    group.last_task = reader.int()?;
    group.last_ticket = reader.int()?;
    Ok(())
}

fn set_last(group: &mut Group, row: &SqliteRow, asked: &[(Arc<str>, String)]) -> Result<(), StoreError> {
    let mut reader = Reader::new(row);
    let key = asked.get(reader.small()? as usize).ok_or_else(|| corrupt("a session was not asked for"))?;
    group.lasts.insert(key.clone(), reader.text_or_null()?.map(|run| RunId::new(&*run)));
    Ok(())
}

fn set_run(group: &mut Group, row: &SqliteRow) -> Result<(), StoreError> {
    let mut reader = Reader::new(row);
    let place = reader.small()? as usize;
    let run = group.runs.at_mut(place).ok_or_else(|| corrupt("a run was not asked for"))?;
    *run = Some(RunNow {
        run_no: reader.int()?,
        revision: Revision(reader.big()?),
        status: reader.status()?,
        agent: reader.text()?,
        tenant: reader.text_or_null()?,
        owner: reader.text_or_null()?,
        lease_until: reader.moment()?,
        lease_ms: reader.big()?,
        chain: Chain {
            tenant: reader.text()?,
            revision: Revision(reader.big()?),
            rows: reader.big()?,
            link: Link::stored(reader.bytes()?),
        },
        change: RunChange::Nothing,
        session: None,
        slot: None,
    });
    Ok(())
}

fn set_task(group: &mut Group, row: &SqliteRow) -> Result<(), StoreError> {
    let mut reader = Reader::new(row);
    let place = reader.small()? as usize;
    let task = group.tasks.at_mut(place).ok_or_else(|| corrupt("a task was not asked for"))?;
    task.stored = Some(reader.int()?);
    let state = reader.int()?;
    let moment = reader.moment()?;
    let lease_ms = reader.int_or_null()?.and_then(|ms| u64::try_from(ms).ok());
    let attempts = Attempt(reader.small()?);
    let deadline = reader.int_or_null()?.map(Timestamp);
    let fence = reader.int_or_null()?.and_then(|fence| u64::try_from(fence).ok()).map(Fence);
    let state = match (state, fence) {
        (WAITING, _) => TaskStage::Waiting,
        (LEASED, Some(fence)) => TaskStage::Leased(fence),
        (DELIVERED, Some(fence)) => TaskStage::Delivered(fence, None),
        // What this program wrote is one of the three.
        _ => return Err(corrupt("the state of a task is unknown")),
    };
    task.now = Some(TaskNow { state, moment, lease_ms, attempts, deadline, opened: None, is_changed: false });
    Ok(())
}
