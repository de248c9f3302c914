//! Commits: decides which of a group are accepted, and writes them.

use std::sync::Arc;

use holdpoint_core::{CallKey, Revision, Status, Timestamp};
use holdpoint_store::{CommitError, HeadUpdate, LEASE_MS_MAX, TaskChange, TaskOpening, first_link, is_over, next_link};

use crate::approvals;
use crate::batch::{Batch, Values};
use crate::columns::{DELIVERED, LEASED, WAITING, repeat_number, signed, status_number, tenant_key};
use crate::grants::{OPEN_GRANTS, open_grants};
use crate::group::{Chain, Group, Moved, Opened, RunChange, RunNow, TaskNow, TaskStage};
use crate::request::Step;
use crate::rows::Rows;

pub(crate) const CREATE_RUNS: &str = "INSERT INTO runs (run_no, run_id, revision, status, agent, tenant, pause, deadline, \
     created_at, updated_at, owner, lease_until, lease_ms, audit_tenant, audit_revision, audit_rows, audit_link, \
     session, session_slot) SELECT value->>0, CAST(substr($2, value->>1, value->>2) AS TEXT), value->>3, value->>4, \
     CAST(substr($2, value->>5, value->>6) AS TEXT), CAST(substr($2, value->>7, value->>8) AS TEXT), value->>9, \
     value->>10, value->>11, value->>12, CAST(substr($2, value->>13, value->>14) AS TEXT), value->>15, value->>16, \
     CAST(substr($2, value->>17, value->>18) AS TEXT), value->>19, value->>20, substr($2, value->>21, value->>22), \
     CAST(substr($2, value->>23, value->>24) AS TEXT), CAST(substr($2, value->>25, value->>26) AS TEXT) FROM json_each($1)";
pub(crate) const MOVE_RUNS: &str = "UPDATE runs SET revision = j.value->>1, status = j.value->>2, pause = j.value->>3, \
     deadline = j.value->>4, updated_at = j.value->>5, owner = CAST(substr($2, j.value->>6, j.value->>7) AS TEXT), \
     lease_until = j.value->>8, lease_ms = j.value->>9, audit_revision = j.value->>10, audit_rows = j.value->>11, \
     audit_link = substr($2, j.value->>12, j.value->>13), \
     session_slot = iif(j.value->>2 >= 3, NULL, session_slot) FROM json_each($1) j WHERE runs.run_no = j.value->>0";
pub(crate) const RENEW_RUNS: &str = "UPDATE runs SET owner = CAST(substr($2, j.value->>1, j.value->>2) AS TEXT), \
     lease_until = j.value->>3, lease_ms = j.value->>4 FROM json_each($1) j WHERE runs.run_no = j.value->>0";
pub(crate) const APPEND: &str = "INSERT INTO log (run_no, last_seq, first_seq, at, audit, body, audit_no, link) \
     SELECT value->>0, value->>1, value->>2, value->>3, substr($2, value->>4, value->>5), \
     substr($2, value->>6, value->>7), value->>8, substr($2, value->>9, value->>10) FROM json_each($1)";
pub(crate) const OPEN_TASKS: &str = "INSERT INTO tasks (task_no, run_no, turn, idx, agent, tenant, tool, attempts, \
     attempts_max, repeat, deadline, created_at, state, moment, body) \
     SELECT value->>0, value->>1, value->>2, value->>3, CAST(substr($2, value->>4, value->>5) AS TEXT), \
     CAST(substr($2, value->>6, value->>7) AS TEXT), CAST(substr($2, value->>8, value->>9) AS TEXT), value->>10, \
     value->>11, value->>12, value->>13, value->>14, 0, value->>15, substr($2, value->>16, value->>17) FROM json_each($1)";
pub(crate) const CHANGE_TASKS: &str = "UPDATE tasks SET state = j.value->>1, moment = j.value->>2, lease_ms = j.value->>3, \
     attempts = j.value->>4, delivery = j.value->>5, result = substr($2, j.value->>6, j.value->>7) \
     FROM json_each($1) j WHERE tasks.task_no = j.value->>0";
pub(crate) const CLOSE_TASKS: &str = "DELETE FROM tasks WHERE task_no IN (SELECT value->>0 FROM json_each($1))";

/// What a group adds and nobody in it looks at.
pub(crate) struct Written {
    log: Rows,
    grants: Rows,
    questions: approvals::Written,
}

impl Written {
    pub(crate) fn new() -> Self {
        Self { log: Rows::new(), grants: Rows::new(), questions: approvals::Written::default() }
    }
}

/// Decides one transition. What is accepted is on the group and in the log afterwards; what is not changed nothing.
pub(crate) fn decide(group: &mut Group, written: &mut Written, step: Step) -> Result<Revision, CommitError> {
    let current = group.run(&step.run).map_or(Revision(0), |run| run.revision);
    if current != step.at {
        return Err(CommitError::Stale { current });
    }
    check_guards(group, &step)?;
    check_last(group, &step)?;
    let slot = step.slot();
    if let Some(slot) = &slot
        && !group.slots.insert(slot.clone())
    {
        return Err(CommitError::SessionBusy);
    }
    let revision = Revision(step.at.0 + step.records);
    let (run_no, chain) = move_run(group, (&step, slot), revision);
    let chain = step.audit.is_some().then_some(chain);
    written
        .log
        .row()
        .int(run_no)
        .int(signed(revision.0))
        .int(signed(step.at.0 + 1))
        .int(step.moment.0)
        .bytes_or_null(step.audit.as_deref())
        .bytes(&step.body)
        .int_or_null(chain.as_ref().map(|chain| signed(chain.rows)))
        .bytes_or_null(chain.as_ref().map(|chain| chain.link.0.as_slice()))
        .end();
    let (agent, tenant) =
        group.run(&step.run).map(|run| (Arc::clone(&run.agent), run.tenant.clone())).unwrap_or_default();
    // What it adds belongs to whom the run belongs to.
    let step = Step { head: HeadUpdate { agent: Some(agent), tenant, ..step.head }, ..step };
    open_grants(&mut written.grants, &step);
    written.questions.add(run_no, &step, &mut group.last_ticket);
    change_tasks(group, step, run_no);
    Ok(revision)
}

fn check_guards(group: &Group, step: &Step) -> Result<(), CommitError> {
    let holds = |change: &TaskChange| match change {
        TaskChange::Open(_) => true,
        TaskChange::Close { turn, index, guard } => {
            let task = group.task(&CallKey { run: step.run.clone(), turn: *turn, index: *index });
            guard.holds(task.map(TaskNow::guarded), group.lease_now)
        }
    };
    if step.tasks.iter().all(holds) { Ok(()) } else { Err(CommitError::LeaseLost) }
}

/// The chain after a transition.
fn next_chain(run: Option<&RunNow>, step: &Step, revision: Revision) -> Chain {
    let tenant = step.head.tenant.as_deref();
    let chain = run.map(|run| run.chain.clone()).unwrap_or_else(|| Chain {
        tenant: tenant_key(tenant).into(),
        revision: Revision(0),
        rows: 0,
        link: first_link(&step.run, tenant),
    });
    match &step.audit {
        Some(body) => {
            Chain { revision, rows: chain.rows + 1, link: next_link(chain.link, revision, step.moment, body), ..chain }
        }
        None => chain,
    }
}

/// Whether the session of a run that is to be created is as far as its author knows.
fn check_last(group: &mut Group, step: &Step) -> Result<(), CommitError> {
    let (Revision(0), Some(session)) = (step.at, &step.head.session) else { return Ok(()) };
    if group.lasts.is_empty() {
        return Ok(());
    }
    let key = (Arc::clone(session), tenant_key(step.head.tenant.as_deref()));
    let Some(last) = group.lasts.get_mut(&key) else { return Ok(()) };
    match step.session_use.after() {
        Some(wanted) if last.as_ref() != wanted => Err(CommitError::SessionBusy),
        Some(_) | None => {
            // What comes after it in the group finds it.
            *last = Some(step.run.clone());
            Ok(())
        }
    }
}

fn move_run(group: &mut Group, (step, slot): (&Step, Option<String>), revision: Revision) -> (i64, Chain) {
    let hold = step.hold.as_ref().filter(|_| step.head.status == Status::Running);
    let lease_ms = hold.map_or(0, |hold| hold.lease_ms.min(LEASE_MS_MAX));
    let lease_until = group.lease_now.plus_ms(lease_ms);
    let owner = hold.map(|hold| hold.owner.as_str().into());
    let moved = Moved {
        pause: step.head.continuation.as_ref().map(|continuation| continuation.pause.0),
        deadline: step.head.deadline,
        updated_at: step.moment,
    };
    let run = group.runs.entry(&step.run, || None);
    let change = match run {
        None => {
            group.last_run += 1;
            RunChange::Created { at: step.moment, moved }
        }
        Some(RunNow { change: RunChange::Created { at, .. }, .. }) => RunChange::Created { at: *at, moved },
        Some(_) => RunChange::Moved(moved),
    };
    let run_no = run.as_ref().map_or(group.last_run, |run| run.run_no);
    let status = step.head.status;
    let chain = next_chain(run.as_ref(), step, revision);
    let after = chain.clone();
    let (session, slot) = match run {
        Some(run) => (run.session.take(), run.slot.take()),
        None => (step.head.session.clone(), slot),
    };
    let (agent, tenant) = match run {
        Some(run) => (Arc::clone(&run.agent), run.tenant.clone()),
        None => (step.head.agent.clone().unwrap_or_default(), step.head.tenant.clone()),
    };
    *run = Some(RunNow {
        run_no,
        revision,
        status,
        agent,
        tenant,
        owner,
        lease_until,
        lease_ms,
        chain,
        change,
        session,
        slot,
    });
    (run_no, after)
}

fn change_tasks(group: &mut Group, step: Step, run_no: i64) {
    let Step { run, tasks, head, moment, .. } = step;
    for change in tasks {
        match change {
            TaskChange::Close { turn, index, .. } => {
                if let Some(task) = group.tasks.get_mut(&CallKey { run: run.clone(), turn, index }) {
                    task.now = None;
                }
            }
            TaskChange::Open(opening) => {
                group.last_task += 1;
                let key = CallKey { run: run.clone(), turn: opening.turn, index: opening.index };
                let (agent, tenant) = (head.agent.clone().unwrap_or_default(), head.tenant.clone());
                let (attempts, deadline) = (opening.attempts, opening.deadline);
                let opened = Opened { task_no: group.last_task, run_no, agent, tenant, at: moment, opening };
                group.tasks.entry(&key, Default::default).now = Some(TaskNow {
                    state: TaskStage::Waiting,
                    moment: group.now,
                    lease_ms: None,
                    attempts,
                    deadline,
                    opened: Some(opened),
                    is_changed: false,
                });
            }
        }
    }
}

/// Adds statements that write what is on the group and in the log.
pub(crate) fn write(batch: &mut Batch, group: &Group, written: Written) {
    write_runs(batch, group);
    add(batch, APPEND, written.log);
    add(batch, OPEN_GRANTS, written.grants);
    written.questions.write(batch);
    write_tasks(batch, group);
}

fn write_runs(batch: &mut Batch, group: &Group) {
    let (mut created, mut moves) = (Rows::new(), Rows::new());
    let mut renewed = Rows::new();
    for (id, run) in group.runs.iter() {
        let Some(run) = run else { continue };
        let (owner, tenant) = (run.owner.as_deref(), run.tenant.as_deref());
        match run.change {
            RunChange::Nothing => continue,
            RunChange::Renewed => {
                renewed
                    .row()
                    .int(run.run_no)
                    .text_or_null(owner)
                    .int(run.lease_until.0)
                    .int(signed(run.lease_ms))
                    .end();
            }
            RunChange::Moved(moved) => moves
                .row()
                .int(run.run_no)
                .int(signed(run.revision.0))
                .int(status_number(run.status))
                .int_or_null(moved.pause.map(Into::into))
                .int_or_null(moved.deadline.map(|deadline| deadline.0))
                .int(moved.updated_at.0)
                .text_or_null(owner)
                .int(run.lease_until.0)
                .int(signed(run.lease_ms))
                .int(signed(run.chain.revision.0))
                .int(signed(run.chain.rows))
                .bytes(&run.chain.link.0)
                .end(),
            RunChange::Created { at, moved } => created
                .row()
                .int(run.run_no)
                .text(id.as_str())
                .int(signed(run.revision.0))
                .int(status_number(run.status))
                .text(&run.agent)
                .text_or_null(tenant)
                .int_or_null(moved.pause.map(Into::into))
                .int_or_null(moved.deadline.map(|deadline| deadline.0))
                .int(at.0)
                .int(moved.updated_at.0)
                .text_or_null(owner)
                .int(run.lease_until.0)
                .int(signed(run.lease_ms))
                .text(&run.chain.tenant)
                .int(signed(run.chain.revision.0))
                .int(signed(run.chain.rows))
                .bytes(&run.chain.link.0)
                .text_or_null(run.session.as_deref())
                .text_or_null(run.slot.as_deref().filter(|_| !is_over(run.status)))
                .end(),
        }
    }
    add(batch, CREATE_RUNS, created);
    add(batch, MOVE_RUNS, moves);
    add(batch, RENEW_RUNS, renewed);
}

fn write_tasks(batch: &mut Batch, group: &Group) {
    let (mut closed, mut opened, mut changed) = (Rows::new(), Rows::new(), Rows::new());
    for (_, task) in group.tasks.iter() {
        let is_new = task.now.as_ref().is_none_or(|task| task.opened.is_some());
        match (task.stored, &task.now) {
            (Some(stored), _) if is_new => closed.row().int(stored).end(),
            (Some(stored), Some(now)) if now.is_changed => change_row(&mut changed, stored, now),
            (Some(_) | None, _) => {}
        }
        if let Some(TaskNow { opened: Some(new), .. }) = &task.now {
            open_row(&mut opened, new, group.now);
        }
    }
    // A task that is replaced goes before the new one comes.
    add(batch, CLOSE_TASKS, closed);
    add(batch, OPEN_TASKS, opened);
    add(batch, CHANGE_TASKS, changed);
}

fn open_row(rows: &mut Rows, new: &Opened, available_at: Timestamp) {
    let Opened { task_no, run_no, agent, tenant, at, opening } = new;
    let TaskOpening { turn, index, tool, attempts, attempts_max, repeat, deadline, body } = &**opening;
    rows.row()
        .int(*task_no)
        .int(*run_no)
        .int(turn.0.into())
        .int(index.0.into())
        .text(agent)
        .text_or_null(tenant.as_deref())
        .text(tool.as_str())
        .int(attempts.0.into())
        .int(attempts_max.0.into())
        .int(repeat_number(*repeat))
        .int_or_null(deadline.map(|deadline| deadline.0))
        .int(at.0)
        .int(available_at.0)
        .bytes(body)
        .end();
}

fn change_row(rows: &mut Rows, task_no: i64, task: &TaskNow) {
    let (state, result) = match &task.state {
        TaskStage::Waiting => (WAITING, None),
        TaskStage::Leased(_) => (LEASED, None),
        TaskStage::Delivered(_, result) => (DELIVERED, result.as_ref()),
    };
    rows.row()
        .int(task_no)
        .int(state)
        .int(task.moment.0)
        .int_or_null(task.lease_ms.map(signed))
        .int(task.attempts.0.into())
        .int_or_null(result.map(|(delivery, _)| *delivery))
        .bytes_or_null(result.map(|(_, bytes)| bytes.as_slice()))
        .end();
}

fn add(batch: &mut Batch, sql: &str, rows: Rows) {
    if !rows.is_empty() {
        batch.add(sql, Values::rows(rows));
    }
}
