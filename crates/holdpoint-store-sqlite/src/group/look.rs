//! Begins a group: takes the lock and looks up what its writes are about.

use std::sync::Arc;

use holdpoint_core::{CallKey, Revision, RunId};
use holdpoint_store::rows::corrupt;
use holdpoint_store::{Clock, StoreError};
use sqlx::SqliteConnection;

use super::{Chain, Group, RunChange, RunNow, SessionNow};
use crate::batch::Batch;
use crate::columns::Row;
use crate::json_rows::JsonRows;
use crate::request::{About, Write};

const LOCK: &str = "BEGIN IMMEDIATE";
pub(crate) const LAST_NUMBERS: &str = "SELECT (SELECT ifnull(max(run_no), 0) FROM runs) AS run_no, \
     (SELECT ifnull(max(task_no), 0) FROM tasks) AS task_no, (SELECT last FROM tickets WHERE only = 1) AS ticket";
pub(crate) const LOOK_RUNS: &str = "SELECT j.key AS position, r.run_no, r.revision, r.status, r.agent, r.tenant, r.owner, \
     r.lease_until, r.lease_ms, r.audit_revision, r.audit_rows, r.audit_link \
     FROM json_each($1) j CROSS JOIN runs r ON r.run_id = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT)";
pub(crate) const LOOK_TASKS: &str = concat!(
    "SELECT j.key AS position, ",
    holdpoint_store::task_columns!(),
    " FROM json_each($1) j CROSS JOIN runs r ON r.run_id = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     CROSS JOIN tasks t ON t.run_no = r.run_no AND t.turn = j.value->>2 AND t.call_index = j.value->>3"
);
pub(crate) const LOOK_SESSIONS: &str = "SELECT j.key AS position, \
     EXISTS (SELECT 1 FROM runs a WHERE a.tenant = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     AND a.session = CAST(substr($2, j.value->>2, j.value->>3) AS TEXT) AND a.alone = 1) AS is_taken, \
     (SELECT r.run_id FROM runs r WHERE r.tenant = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     AND r.session = CAST(substr($2, j.value->>2, j.value->>3) AS TEXT) ORDER BY r.run_no DESC LIMIT 1) AS last_run \
     FROM json_each($1) j";

impl Group {
    /// A group that is about these writes and has not looked yet.
    pub(crate) fn of(writes: &[Box<dyn Write>], clock: &dyn Clock) -> Self {
        let mut group = Self::new(clock);
        for About { runs, tasks, session, .. } in writes.iter().map(|write| write.about()) {
            group.runs.extend(runs.iter().map(|run| (run.clone(), None)));
            group.tasks.extend(tasks.iter().map(|key| (key.clone(), Default::default())));
            group.sessions.extend(session.iter().map(|session| (session.clone(), SessionNow::default())));
        }
        group
    }

    /// Looks up what it is about. No other process writes until the group ends.
    pub(crate) async fn look(&mut self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let mut batch = Batch::default();
        batch.add(LOCK);
        let numbers = batch.add(LAST_NUMBERS).number();
        let runs = batch.add_rows(LOOK_RUNS, JsonRows::of_texts(self.runs.keys().map(RunId::as_str)));
        let mut keys = JsonRows::default();
        for CallKey { run, turn, index } in self.tasks.keys() {
            keys.row().text(run.as_str()).int(turn.0).int(index.0).end();
        }
        let tasks = batch.add_rows(LOOK_TASKS, keys);
        let mut keys = JsonRows::default();
        self.sessions.keys().for_each(|(tenant, session)| keys.row().text(tenant).text(session).end());
        let sessions = batch.add_rows(LOOK_SESSIONS, keys);
        let mut given = batch.run(connection).await?;
        let mut rows = |statement: Option<_>| statement.map(|statement| given.take(statement)).unwrap_or_default();
        self.set_numbers(&rows(Some(numbers)))
            .and_then(|()| rows(runs).iter().try_for_each(|row| self.set_run(row)))
            .and_then(|()| rows(tasks).iter().try_for_each(|row| self.set_task(row)))
            .and_then(|()| rows(sessions).iter().try_for_each(|row| self.set_session(row)))
            .map_err(|error| sqlx::Error::Decode(Box::new(error)))
    }

    fn set_numbers(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        let row = rows.first().ok_or_else(|| corrupt("the counters are missing"))?;
        (self.last_run, self.last_task, self.last_ticket) =
            (row.int("run_no")?, row.int("task_no")?, row.int("ticket")?);
        Ok(())
    }

    fn set_run(&mut self, row: &Row) -> Result<(), StoreError> {
        let Some((_, run)) = self.runs.get_index_mut(row.number("position")?) else { return Ok(()) };
        *run = Some(RunNow {
            run_no: row.int("run_no")?,
            revision: Revision(row.number("revision")?),
            status: row.status()?,
            agent: row.text("agent")?,
            tenant: row.tenant()?,
            owner: row.text_or_null("owner")?,
            lease_until: row.moment("lease_until")?,
            lease_ms: row.number("lease_ms")?,
            chain: Chain {
                revision: Revision(row.number("audit_revision")?),
                rows: row.number("audit_rows")?,
                link: row.link("audit_link")?,
            },
            change: RunChange::Nothing,
        });
        Ok(())
    }

    fn set_task(&mut self, row: &Row) -> Result<(), StoreError> {
        let Some((_, task)) = self.tasks.get_index_mut(row.number("position")?) else { return Ok(()) };
        task.stored = Some(row.int("task_no")?);
        task.head = Some(row.task()?);
        Ok(())
    }

    fn set_session(&mut self, row: &Row) -> Result<(), StoreError> {
        let Some((_, session)) = self.sessions.get_index_mut(row.number("position")?) else { return Ok(()) };
        session.is_taken = row.int("is_taken")? == 1;
        session.last = row.text_or_null("last_run")?.map(|run: Arc<str>| RunId::new(run));
        Ok(())
    }
}
