//! The statements that write what a group decided.

use holdpoint_core::Timestamp;
use holdpoint_store::rows::{repeat_number, signed, stage_number, status_number, tenant_key};
use holdpoint_store::{TaskHead, TaskState, is_over};

use super::{Group, Moved, Opened, RunChange, RunNow, TaskNow};
use crate::batch::Batch;
use crate::grants::OPEN_GRANTS;
use crate::json_rows::{JsonRow, JsonRows};

/// Begins with the columns of [`MOVE_RUNS`].
const CREATE_RUNS: &str = "INSERT INTO runs (run_no, revision, status, pause, deadline, updated_at, owner, lease_until, \
     lease_ms, audit_revision, audit_rows, audit_link, run_id, agent, tenant, created_at, session, alone) \
     SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, \
     CAST(substr($2, value->>6, value->>7) AS TEXT), value->>8, value->>9, value->>10, value->>11, \
     substr($2, value->>12, value->>13), CAST(substr($2, value->>14, value->>15) AS TEXT), \
     CAST(substr($2, value->>16, value->>17) AS TEXT), CAST(substr($2, value->>18, value->>19) AS TEXT), value->>20, \
     CAST(substr($2, value->>21, value->>22) AS TEXT), value->>23 FROM json_each($1)";
const MOVE_RUNS: &str = "UPDATE runs SET revision = j.value->>1, status = j.value->>2, pause = j.value->>3, \
     deadline = j.value->>4, updated_at = j.value->>5, owner = CAST(substr($2, j.value->>6, j.value->>7) AS TEXT), \
     lease_until = j.value->>8, lease_ms = j.value->>9, audit_revision = j.value->>10, audit_rows = j.value->>11, \
     audit_link = substr($2, j.value->>12, j.value->>13), alone = iif(j.value->>2 >= 3, 0, alone) \
     FROM json_each($1) j WHERE runs.run_no = j.value->>0";
const RENEW_RUNS: &str = "UPDATE runs SET owner = CAST(substr($2, j.value->>1, j.value->>2) AS TEXT), \
     lease_until = j.value->>3, lease_ms = j.value->>4 FROM json_each($1) j WHERE runs.run_no = j.value->>0";
const APPEND: &str = "INSERT INTO log (run_no, last_seq, at, audit, body, audit_no, link) \
     SELECT value->>0, value->>1, value->>2, substr($2, value->>3, value->>4), substr($2, value->>5, value->>6), \
     value->>7, substr($2, value->>8, value->>9) FROM json_each($1)";
const OPEN_TASKS: &str = "INSERT INTO tasks (task_no, run_no, turn, call_index, agent, tenant, tool, attempts, \
     attempts_max, repeat, deadline, created_at, state, ready_at, body) \
     SELECT value->>0, value->>1, value->>2, value->>3, CAST(substr($2, value->>4, value->>5) AS TEXT), \
     CAST(substr($2, value->>6, value->>7) AS TEXT), CAST(substr($2, value->>8, value->>9) AS TEXT), value->>10, \
     value->>11, value->>12, value->>13, value->>14, 0, value->>15, substr($2, value->>16, value->>17) FROM json_each($1)";
const CHANGE_TASKS: &str = "UPDATE tasks SET state = j.value->>1, ready_at = j.value->>2, lease_ms = j.value->>3, \
     attempts = j.value->>4, delivery = j.value->>5, result = substr($2, j.value->>6, j.value->>7) \
     FROM json_each($1) j WHERE tasks.task_no = j.value->>0";
const CLOSE_TASKS: &str = "DELETE FROM tasks WHERE task_no IN (SELECT value->>0 FROM json_each($1))";
const KEEP_TICKET: &str = "UPDATE tickets SET last = $1 WHERE only = 1";

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 8] =
    [CREATE_RUNS, MOVE_RUNS, RENEW_RUNS, APPEND, OPEN_TASKS, CHANGE_TASKS, CLOSE_TASKS, KEEP_TICKET];

impl Group {
    /// Adds the statements that write what was decided. What takes a ticket afterwards keeps it by itself.
    pub(crate) fn write(&mut self, batch: &mut Batch, ticket_before: i64) {
        self.write_runs(batch);
        batch.add_rows(APPEND, std::mem::take(&mut self.log));
        batch.add_rows(OPEN_GRANTS, std::mem::take(&mut self.grants));
        std::mem::take(&mut self.approvals).write(batch);
        self.write_tasks(batch);
        if self.last_ticket != ticket_before {
            batch.add(KEEP_TICKET).bind(self.last_ticket);
        }
    }

    fn write_runs(&self, batch: &mut Batch) {
        let (mut created, mut moves, mut renewed) = (JsonRows::default(), JsonRows::default(), JsonRows::default());
        for (id, run) in &self.runs {
            let Some(run) = run else { continue };
            match &run.change {
                RunChange::Nothing => {}
                RunChange::Renewed => {
                    let row = renewed.row().int(run.run_no).text_or_null(run.owner.as_deref());
                    row.int(run.lease_until.0).int(run.lease_ms).end();
                }
                RunChange::Moved(moved) => moved_row(&mut moves, run, moved).end(),
                RunChange::Created { at, session, is_alone, moved } => moved_row(&mut created, run, moved)
                    .text(id.as_str())
                    .text(&run.agent)
                    .text(&tenant_key(run.tenant.as_deref()))
                    .int(at.0)
                    .text_or_null(session.as_deref())
                    .int(*is_alone && !is_over(run.status))
                    .end(),
            }
        }
        batch.add_rows(CREATE_RUNS, created);
        batch.add_rows(MOVE_RUNS, moves);
        batch.add_rows(RENEW_RUNS, renewed);
    }

    fn write_tasks(&self, batch: &mut Batch) {
        let (mut closed, mut opened, mut changed) = (JsonRows::default(), JsonRows::default(), JsonRows::default());
        for TaskNow { stored, head, opened: new, result, is_changed } in self.tasks.values() {
            match (stored, head) {
                (Some(stored), None) => closed.row().int(*stored).end(),
                (Some(stored), Some(_)) if new.is_some() => closed.row().int(*stored).end(),
                (Some(stored), Some(head)) if *is_changed => {
                    let (ready_at, lease_ms) = match head.state {
                        TaskState::Waiting { available_at } => (available_at, None),
                        TaskState::Leased { until, lease_ms, .. } => (until, Some(signed(lease_ms))),
                        TaskState::Delivered { .. } => (self.lease_now, None),
                    };
                    let row = changed.row().int(*stored).int(stage_number(head.state.stage())).int(ready_at.0);
                    let row = row.int_or_null(lease_ms).int(head.attempts.0);
                    let row = row.int_or_null(result.as_ref().map(|(delivery, _)| *delivery));
                    row.bytes_or_null(result.as_ref().map(|(_, bytes)| bytes.as_slice())).end();
                }
                (Some(_) | None, _) => {}
            }
            if let (Some(head), Some(new)) = (head, new) {
                open_row(&mut opened, head, new, self.lease_now);
            }
        }
        // A task that is replaced goes before the new one comes.
        batch.add_rows(CLOSE_TASKS, closed);
        batch.add_rows(OPEN_TASKS, opened);
        batch.add_rows(CHANGE_TASKS, changed);
    }
}

fn moved_row<'a>(rows: &'a mut JsonRows, run: &RunNow, moved: &Moved) -> JsonRow<'a> {
    rows.row()
        .int(run.run_no)
        .int(run.revision.0)
        .int(status_number(run.status))
        .int_or_null(moved.pause.map(Into::into))
        .int_or_null(moved.deadline.map(|deadline| deadline.0))
        .int(moved.updated_at.0)
        .text_or_null(run.owner.as_deref())
        .int(run.lease_until.0)
        .int(run.lease_ms)
        .int(run.chain.revision.0)
        .int(run.chain.rows)
        .bytes(&run.chain.link.0)
}

fn open_row(rows: &mut JsonRows, head: &TaskHead, new: &Opened, available_at: Timestamp) {
    rows.row()
        .int(new.task_no)
        .int(new.run_no)
        .int(head.key.turn.0)
        .int(head.key.index.0)
        .text(&head.agent)
        .text(&tenant_key(head.tenant.as_deref()))
        .text(head.tool.as_str())
        .int(head.attempts.0)
        .int(head.attempts_max.0)
        .int(repeat_number(head.repeat))
        .int_or_null(head.deadline.map(|deadline| deadline.0))
        .int(head.created_at.0)
        .int(available_at.0)
        .bytes(&new.body)
        .end();
}
