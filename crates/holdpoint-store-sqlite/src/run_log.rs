//! Reading. It never waits for the writer, and sees what was committed before it began.

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{CallKey, Revision, RunId, Status, Timestamp};
use holdpoint_store::{
    Agents, AuditRow, DUE_LIMIT_MAX, DeliveredTask, Head, List, Page, Record, RunFilter, Scope, StoreError, TaskFilter,
    TaskHead, TaskStage, packed, page_size,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite, SqlitePool};

use crate::batch::Values;
use crate::columns::{
    self, Reader, head_columns, signed, signed_len, status_number, task_columns, tenant_key, unpack_one,
};
use crate::fault::{corrupt, store_error};
use crate::rows::Rows;
use crate::run_leases::read_runs;

pub(crate) const HEAD: &str =
    concat!("SELECT ", head_columns!(), " FROM runs WHERE run_id = $1 AND ($2 IS NULL OR tenant = $2)");
pub(crate) const REVISIONS: &str = "SELECT r.run_id, r.revision FROM json_each($1) j \
     CROSS JOIN runs r ON r.run_id = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT)";
pub(crate) const REVISION: &str = "SELECT revision FROM runs WHERE run_id = $1";
pub(crate) const LOAD: &str = "SELECT l.first_seq, l.last_seq, l.at, l.body FROM runs r \
     LEFT JOIN log l ON l.run_no = r.run_no AND l.last_seq > $2 WHERE r.run_id = $1 \
     AND ($3 IS NULL OR r.tenant = $3) ORDER BY l.last_seq";
pub(crate) const AUDIT: &str = "SELECT l.last_seq, l.at, l.audit, l.link FROM runs r JOIN log l ON l.run_no = r.run_no \
     WHERE r.run_id = $1 AND ($2 IS NULL OR r.audit_tenant = $2) AND l.audit IS NOT NULL ORDER BY l.last_seq";
pub(crate) const DUE: &str = "SELECT r.run_id FROM json_each($1) j CROSS JOIN runs r WHERE r.run_no IN (\
     SELECT d.run_no FROM runs d INDEXED BY runs_due \
     WHERE d.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) AND d.deadline <= $3 \
     ORDER BY d.deadline, d.run_no LIMIT $4) ORDER BY r.deadline, r.run_no LIMIT $4";
pub(crate) const LAPSED: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM json_each($1) j CROSS JOIN tasks t CROSS JOIN runs r ON r.run_no = t.run_no WHERE t.task_no IN (\
     SELECT l.task_no FROM tasks l INDEXED BY tasks_leased WHERE l.state = 1 \
     AND l.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) AND l.moment <= $3 \
     ORDER BY l.moment, l.task_no LIMIT $4) ORDER BY t.moment, t.task_no LIMIT $4"
);
pub(crate) const ARRIVALS: &str = "SELECT DISTINCT r.run_id FROM json_each($1) j \
     CROSS JOIN tasks t INDEXED BY tasks_delivered CROSS JOIN runs r ON r.run_no = t.run_no WHERE t.state = 2 \
     AND t.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) AND r.status IN (1, 2) LIMIT $3";
pub(crate) const DELIVERED: &str = concat!(
    "SELECT ",
    task_columns!(),
    ", t.result FROM runs r JOIN tasks t ON t.run_no = r.run_no \
     WHERE r.run_id = $1 AND t.state = 2 ORDER BY t.delivery"
);
pub(crate) const TASK: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM runs r JOIN tasks t ON t.run_no = r.run_no WHERE r.run_id = $1 AND t.turn = $2 AND t.idx = $3 \
     AND ($4 IS NULL OR t.tenant = $4)"
);

/// Reads from the file, each time with a connection that nobody else uses meanwhile.
#[derive(Clone)]
pub(crate) struct Readers(pub(crate) SqlitePool);

impl Readers {
    pub(crate) async fn all(
        &self,
        sql: &'static str,
        values: Values,
        doing: &'static str,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let failed = |error| store_error(doing, error);
        let values = values.into_arguments().map_err(failed)?;
        sqlx::query_with(sql, values).fetch_all(&self.0).await.map_err(failed)
    }

    pub(crate) async fn list_rows(
        &self,
        mut query: QueryBuilder<Sqlite>,
        doing: &'static str,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        query.build().fetch_all(&self.0).await.map_err(|error| store_error(doing, error))
    }

    pub(crate) async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        let values = Values::none().text(run.as_str()).text_or_null(scope.tenant());
        let rows = self.all(HEAD, values, "read the run").await?;
        rows.first().map(|row| Reader::new(row).head()).transpose()
    }

    pub(crate) async fn revision(&self, run: &RunId) -> Result<Revision, StoreError> {
        let rows = self.all(REVISION, Values::none().text(run.as_str()), "read the run").await?;
        let row = rows.first().ok_or_else(|| StoreError::NotFound { run: run.clone() })?;
        Ok(Revision(Reader::new(row).big()?))
    }

    /// Where these runs are, those that are there.
    pub(crate) async fn revisions(&self, runs: &[RunId]) -> Result<Vec<(RunId, Revision)>, StoreError> {
        let wanted = Rows::of_texts(runs.iter().map(RunId::as_str));
        let rows = self.all(REVISIONS, Values::rows(wanted), "read the runs").await?;
        let read = |row| {
            let mut reader = Reader::new(row);
            Ok((RunId::new(reader.text()?), Revision(reader.big()?)))
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let values = Values::none().text(run.as_str()).int(signed(after.0)).text_or_null(scope.tenant());
        let rows = self.all(LOAD, values, "read the records of the run").await?;
        if rows.is_empty() {
            return Err(StoreError::NotFound { run: run.clone() });
        }
        let mut records = Vec::new();
        for row in &rows {
            read_records(row, &mut records)?;
        }
        records.retain(|record| record.seq > after);
        Ok(records)
    }

    pub(crate) async fn audit(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        let tenant = scope.tenant().map(|tenant| tenant_key(Some(tenant)));
        let values = Values::none().text(run.as_str()).text_or_null(tenant.as_deref());
        let rows = self.all(AUDIT, values, "read the audit log of the run").await?;
        let read = |row| {
            let mut reader = Reader::new(row);
            let (revision, at) = (Revision(reader.big()?), reader.moment()?);
            Ok(AuditRow { revision, at, body: reader.bytes()?.into(), link: reader.link()? })
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        let rows = self.list_rows(list_query(filter)?, "list runs").await?;
        let read = |row| {
            let mut reader = Reader::new(row);
            Ok(([reader.int()?], reader.head()?))
        };
        Page::collect(List::Runs, page_size(filter.limit), rows.iter().map(read))
    }

    pub(crate) async fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError> {
        let limit = signed_len(limit.min(DUE_LIMIT_MAX));
        let values = Values::rows(agent_rows(agents)).int(at.0).int(limit);
        read_runs(&self.all(DUE, values, "find runs that are due").await?)
    }

    pub(crate) async fn arrivals(&self, agents: &Agents, limit: usize) -> Result<Vec<RunId>, StoreError> {
        let limit = signed_len(limit.min(DUE_LIMIT_MAX));
        let values = Values::rows(agent_rows(agents)).int(limit);
        read_runs(&self.all(ARRIVALS, values, "find runs with results").await?)
    }

    pub(crate) async fn lapsed(
        &self,
        agents: &Agents,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<TaskHead>, StoreError> {
        let limit = signed_len(limit.min(DUE_LIMIT_MAX));
        let values = Values::rows(agent_rows(agents)).int(now.0).int(limit);
        let rows = self.all(LAPSED, values, "find leases that lapsed").await?;
        rows.iter().map(|row| Reader::new(row).task()).collect()
    }

    pub(crate) async fn delivered(&self, run: &RunId) -> Result<Vec<DeliveredTask>, StoreError> {
        let rows = self.all(DELIVERED, Values::none().text(run.as_str()), "read the results of tasks").await?;
        let read = |row| {
            let mut reader = Reader::new(row);
            Ok(DeliveredTask { task: reader.task()?, result: unpack_one(reader.bytes()?)? })
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn task(&self, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
        let values = Values::none().text(key.run.as_str()).int(key.turn.0.into()).int(key.index.0.into());
        let rows = self.all(TASK, values.text_or_null(scope.tenant()), "read the task").await?;
        rows.first().map(|row| Reader::new(row).task()).transpose()
    }

    pub(crate) async fn tasks(&self, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
        let rows = self.list_rows(tasks_query(filter)?, "list tasks").await?;
        let read = |row| {
            let mut reader = Reader::new(row);
            Ok(([reader.int()?], reader.task()?))
        };
        Page::collect(List::Tasks, page_size(filter.limit), rows.iter().map(read))
    }
}

/// A statement that says yes or no.
pub(crate) async fn exists(readers: &Readers, sql: &'static str, values: Values) -> Result<bool, StoreError> {
    let rows = readers.all(sql, values, "look for work").await?;
    let found = rows.first().map(|row| Reader::new(row).int()).transpose()?;
    Ok(found == Some(1))
}

/// Each agent once, so that nothing is found twice.
pub(crate) fn agent_rows(agents: &Agents) -> Rows {
    let mut seen = HashSet::new();
    Rows::of_texts(agents.iter().filter(|agent| seen.insert(Arc::clone(agent))).map(|agent| &**agent))
}

/// A run whose records are all known gives one row of nothing.
fn read_records(row: &SqliteRow, records: &mut Vec<Record>) -> Result<(), StoreError> {
    let mut reader = Reader::new(row);
    let Some(first) = reader.int_or_null()? else { return Ok(()) };
    let (last, at) = (reader.int()?, reader.moment()?);
    let bodies = packed::unpack(reader.bytes()?)?;
    if signed_len(bodies.len()) != last - first + 1 {
        return Err(corrupt("a transition has another number of records than it should"));
    }
    let numbers = first.unsigned_abs()..;
    records.extend(bodies.into_iter().zip(numbers).map(|(body, seq)| Record { seq: Revision(seq), at, body }));
    Ok(())
}

/// One more than the page has, to know whether there is a next one.
pub(crate) fn list_query(filter: &RunFilter) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let [from] = List::Runs.position(filter.cursor.as_ref(), [i64::MAX])?;
    let mut query = QueryBuilder::new(concat!("SELECT run_no, ", head_columns!(), " FROM runs WHERE run_no <= "));
    query.push_bind(from);
    if let Some(status) = filter.status {
        // Written out, so that SQLite sees which index is good for it.
        query.push(format_args!(" AND status = {}", status_number(status)));
        match status {
            Status::AwaitingToolConfirmation | Status::AwaitingToolResults => _ = query.push(" AND status IN (1, 2)"),
            Status::Running | Status::Finished | Status::Failed | Status::Cancelled => {}
        }
    }
    if let Some(agent) = &filter.agent {
        query.push(" AND agent = ").push_bind(agent.to_string());
    }
    if let Some(tenant) = &filter.tenant {
        query.push(" AND tenant = ").push_bind(tenant.to_string());
    }
    if let Some(session) = &filter.session {
        query.push(" AND session = ").push_bind(session.to_string());
    }
    query.push(" ORDER BY run_no DESC LIMIT ").push_bind(signed_len(page_size(filter.limit) + 1));
    Ok(query)
}

pub(crate) fn tasks_query(filter: &TaskFilter) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let [from] = List::Tasks.position(filter.cursor.as_ref(), [0])?;
    let mut query = QueryBuilder::new(concat!(
        "SELECT t.task_no, ",
        task_columns!(),
        " FROM tasks t CROSS JOIN runs r ON r.run_no = t.run_no WHERE t.task_no >= "
    ));
    query.push_bind(from);
    if let Some(tenant) = &filter.tenant {
        query.push(" AND t.tenant = ").push_bind(tenant.to_string());
    }
    if let Some(tool) = &filter.tool {
        query.push(" AND t.tool = ").push_bind(tool.as_str().to_owned());
    }
    if let Some(stage) = filter.stage {
        query.push(format_args!(" AND t.state = {}", stage_number(stage)));
    }
    query.push(" ORDER BY t.task_no LIMIT ").push_bind(signed_len(page_size(filter.limit) + 1));
    Ok(query)
}

fn stage_number(stage: TaskStage) -> i64 {
    match stage {
        TaskStage::Waiting => columns::WAITING,
        TaskStage::Leased => columns::LEASED,
        TaskStage::Delivered => columns::DELIVERED,
    }
}
