//! Rows of a SQL database as the types of this crate. Every database names its columns alike, so that a row is read in one
//! place; the macros list the columns that each reader needs.

mod values;

use std::fmt::Display;
use std::sync::Arc;

use holdpoint_core::{
    Attempt, CallIndex, CallKey, ContinuationId, Digest, Fence, PauseNumber, Repeat, Revision, RunId, Status,
    Timestamp, ToolName, Turn,
};

use crate::audit::unpack_sealed;
use crate::{
    AuditRow, AuditedRun, GrantRow, Head, LeaseOf, Link, List, OverlongLease, Page, QuestionKind, QuestionRow,
    QuestionSeq, QuestionStatus, Record, Reserved, Revoked, Seal, SealedRun, SessionRow, StoreError, StoreFault,
    StoreTally, TaskHead, TaskStage, TaskState, Tombstone, Trace, Unsealed, WorkerRow, packed, page_size,
};

pub use values::{
    before, distinct, kind_number, limit, pack_tools, question_status_number, repeat_number, scope_key, signed,
    stage_number, status_number, tenant_key,
};

/// The columns of [`Row::head`], of `runs r`.
#[doc(hidden)]
#[macro_export]
macro_rules! head_columns {
    () => {
        "r.run_no, r.run_id, r.revision, r.status, r.agent, r.tenant, r.pause, r.deadline, r.created_at, r.updated_at, \
         r.session"
    };
}

/// The columns of [`Row::task`], of `tasks t` and `runs r`.
#[doc(hidden)]
#[macro_export]
macro_rules! task_columns {
    () => {
        "t.task_no, r.run_id, t.turn, t.call_index, t.agent, t.tenant, t.tool, t.attempts, t.attempts_max, t.repeat, \
         t.deadline, t.created_at, t.state, t.ready_at, t.worker, t.fence, t.since, t.lease_ms"
    };
}

/// The columns of [`Row::question`], of `questions q` and `runs r`.
#[doc(hidden)]
#[macro_export]
macro_rules! question_columns {
    () => {
        "r.run_id, q.turn, q.call_index, q.agent, q.tenant, q.tool, q.kind, q.status, q.deadline, q.due, q.asked_at, \
         q.changed_at, q.asked_no, q.seq, q.body, q.note"
    };
}

/// The columns of [`Row::grant`].
#[doc(hidden)]
#[macro_export]
macro_rules! grant_columns {
    () => {
        "grant_no, grant_id, tenant, tool, until, created_at, revoked_by, revoked_at, body"
    };
}

/// Reads one row by the names of its columns.
pub trait Columns {
    /// An integer of any width.
    ///
    /// # Errors
    /// When the column is missing or holds something else.
    fn int(&self, column: &str) -> Result<Option<i64>, StoreError>;

    /// A text.
    ///
    /// # Errors
    /// As [`Columns::int`].
    fn text(&self, column: &str) -> Result<Option<&str>, StoreError>;

    /// Bytes.
    ///
    /// # Errors
    /// As [`Columns::int`].
    fn bytes(&self, column: &str) -> Result<Option<&[u8]>, StoreError>;
}

/// A row that a query returned. Every reader fails with [`StoreFault::Corrupt`] on a value that no store writes.
#[derive(Debug)]
pub struct Row<R>(pub R);

#[allow(missing_docs, clippy::missing_errors_doc, reason = "named as the types that they read")]
impl<R: Columns> Row<R> {
    pub fn int_or_null(&self, column: &str) -> Result<Option<i64>, StoreError> {
        self.0.int(column)
    }

    pub fn int(&self, column: &str) -> Result<i64, StoreError> {
        self.0.int(column)?.ok_or_else(|| missing(column))
    }

    /// An integer within the range of `N`.
    pub fn number<N: TryFrom<i64>>(&self, column: &str) -> Result<N, StoreError> {
        N::try_from(self.int(column)?).map_err(|_| corrupt(format!("`{column}` is out of range")))
    }

    pub fn moment(&self, column: &str) -> Result<Timestamp, StoreError> {
        Ok(Timestamp(self.int(column)?))
    }

    pub fn moment_or_null(&self, column: &str) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.0.int(column)?.map(Timestamp))
    }

    pub fn text(&self, column: &str) -> Result<Arc<str>, StoreError> {
        self.text_or_null(column)?.ok_or_else(|| missing(column))
    }

    pub fn text_or_null(&self, column: &str) -> Result<Option<Arc<str>>, StoreError> {
        Ok(self.0.text(column)?.map(Into::into))
    }

    pub fn bytes(&self, column: &str) -> Result<&[u8], StoreError> {
        self.0.bytes(column)?.ok_or_else(|| missing(column))
    }

    pub fn bytes_or_null(&self, column: &str) -> Result<Option<&[u8]>, StoreError> {
        self.0.bytes(column)
    }

    /// A value that [`packed::pack_one`] packed.
    pub fn packed(&self, column: &str) -> Result<Arc<[u8]>, StoreError> {
        packed::unpack_one(self.bytes(column)?)
    }

    /// A link that is missing or damaged is one that nothing leads to, so that a verification finds it.
    pub fn link(&self, column: &str) -> Result<Link, StoreError> {
        Ok(Link::stored(self.0.bytes(column)?.unwrap_or_default()))
    }

    /// What [`tenant_key`] made.
    pub fn tenant(&self) -> Result<Option<Arc<str>>, StoreError> {
        Ok(self.text("tenant")?.strip_prefix('=').map(Into::into))
    }

    pub fn run(&self) -> Result<RunId, StoreError> {
        Ok(RunId::new(self.text("run_id")?))
    }

    pub fn call(&self) -> Result<CallKey, StoreError> {
        let (turn, index) = (Turn(self.number("turn")?), CallIndex(self.number("call_index")?));
        Ok(CallKey { run: self.run()?, turn, index })
    }

    /// The agent of a run; an agent without a name is stored as the empty text.
    fn agent(&self) -> Result<Option<Arc<str>>, StoreError> {
        Ok(Some(self.text("agent")?).filter(|agent| !agent.is_empty()))
    }

    fn tool(&self) -> Result<ToolName, StoreError> {
        Ok(ToolName::new(self.text("tool")?))
    }

    pub fn status(&self) -> Result<Status, StoreError> {
        known(self.int("status")?, Status::ALL, status_number, "status")
    }

    /// Reads [`head_columns!`].
    pub fn head(&self) -> Result<Head, StoreError> {
        let run = self.run()?;
        let pause = self.0.int("pause")?.map(|_| self.number("pause")).transpose()?;
        Ok(Head {
            continuation: pause.map(|pause| ContinuationId { run: run.clone(), pause: PauseNumber(pause) }),
            run,
            revision: Revision(self.number("revision")?),
            status: self.status()?,
            agent: self.agent()?,
            tenant: self.tenant()?,
            deadline: self.moment_or_null("deadline")?,
            session: self.text_or_null("session")?,
            created_at: self.moment("created_at")?,
            updated_at: self.moment("updated_at")?,
        })
    }

    /// Adds the records of one transition that come after `after`. A run that has none gives one row of nulls.
    fn records(&self, after: Revision, records: &mut Vec<Record>) -> Result<(), StoreError> {
        let Some(last) = self.0.int("last_seq")?.map(|_| self.number::<u64>("last_seq")).transpose()? else {
            return Ok(());
        };
        let at = self.moment("at")?;
        let bodies = packed::unpack(self.bytes("body")?)?;
        let before = last.checked_sub(bodies.len() as u64).ok_or_else(|| corrupt("there are too many records"))?;
        if records.last().is_some_and(|record| record.seq.0 != before) {
            return Err(corrupt("records are missing"));
        }
        let numbered = (before + 1..).map(Revision).zip(bodies).filter(|(seq, _)| *seq > after);
        records.extend(numbered.map(|(seq, body)| Record { seq, at, body }));
        Ok(())
    }

    /// Reads [`task_columns!`].
    pub fn task(&self) -> Result<TaskHead, StoreError> {
        Ok(TaskHead {
            key: self.call()?,
            agent: self.text("agent")?,
            tenant: self.tenant()?,
            tool: self.tool()?,
            attempts: Attempt(self.number("attempts")?),
            attempts_max: Attempt(self.number("attempts_max")?),
            repeat: known(self.int("repeat")?, Repeat::ALL, repeat_number, "repeat")?,
            deadline: self.moment_or_null("deadline")?,
            created_at: self.moment("created_at")?,
            state: self.task_state()?,
        })
    }

    fn task_state(&self) -> Result<TaskState, StoreError> {
        let ready_at = self.moment("ready_at")?;
        let holder = || Ok((self.text("worker")?, Fence(self.number("fence")?), self.moment("since")?));
        Ok(match known(self.int("state")?, TaskStage::ALL, stage_number, "state")? {
            TaskStage::Waiting => TaskState::Waiting { available_at: ready_at },
            TaskStage::Leased => {
                let (worker, fence, since) = holder()?;
                TaskState::Leased { worker, fence, since, until: ready_at, lease_ms: self.number("lease_ms")? }
            }
            TaskStage::Delivered => {
                let (worker, fence, since) = holder()?;
                TaskState::Delivered { worker, fence, since }
            }
        })
    }

    /// A lease of a task, or of a run where there is no turn.
    pub fn overlong_lease(&self) -> Result<OverlongLease, StoreError> {
        let of = match self.0.int("turn")? {
            Some(_) => LeaseOf::Task(self.call()?),
            None => LeaseOf::Run(self.run()?),
        };
        Ok(OverlongLease { of, until: self.moment("until")?, lease_ms: self.number("lease_ms")? })
    }

    /// Reads [`question_columns!`].
    pub fn question(&self) -> Result<QuestionRow, StoreError> {
        Ok(QuestionRow {
            key: self.call()?,
            agent: self.text("agent")?,
            tenant: self.tenant()?,
            tool: self.tool()?,
            kind: known(self.int("kind")?, QuestionKind::ALL, kind_number, "kind")?,
            status: known(self.int("status")?, QuestionStatus::ALL, question_status_number, "status")?,
            deadline: self.moment_or_null("deadline")?,
            asked_at: self.moment("asked_at")?,
            changed_at: self.moment("changed_at")?,
            seq: QuestionSeq(self.number("seq")?),
            body: self.packed("body")?,
            note: self.bytes("note")?.into(),
        })
    }

    /// Reads [`grant_columns!`].
    pub fn grant(&self) -> Result<GrantRow, StoreError> {
        let revoked = self.text_or_null("revoked_by")?.zip(self.moment_or_null("revoked_at")?);
        Ok(GrantRow {
            id: self.text("grant_id")?,
            tenant: self.tenant()?,
            tool: self.tool()?,
            until: self.moment_or_null("until")?,
            created_at: self.moment("created_at")?,
            revoked: revoked.map(|(by, at)| Revoked { by, at }),
            body: self.bytes("body")?.into(),
        })
    }

    pub fn session(&self) -> Result<SessionRow, StoreError> {
        Ok(SessionRow {
            id: self.text("session")?,
            tenant: self.tenant()?,
            runs: self.number("runs")?,
            last_run: self.run()?,
            agent: self.agent()?,
            status: self.status()?,
            created_at: self.moment("created_at")?,
            updated_at: self.moment("updated_at")?,
        })
    }

    /// What became of a request that was begun before, with this digest or another.
    pub fn reserved(&self, digest: &Digest) -> Result<Reserved, StoreError> {
        Ok(match self.0.bytes("response")? {
            _ if self.bytes("digest")? != digest.0 => Reserved::Mismatch,
            Some(response) => Reserved::Kept(packed::unpack_one(response)?),
            None => Reserved::InProgress,
        })
    }

    pub fn worker(&self) -> Result<WorkerRow, StoreError> {
        let tools = packed::unpack(self.bytes("tools")?)?.into_iter().map(|name| {
            let name = std::str::from_utf8(&name).map_err(|_| corrupt("`tools` is no text"))?;
            Ok(ToolName::new(name))
        });
        Ok(WorkerRow {
            name: self.text("name")?,
            tenant: self.tenant()?,
            tools: tools.collect::<Result<_, StoreError>>()?,
            since: self.moment("since")?,
            seen_at: self.moment("seen_at")?,
            leases: self.number("leases")?,
        })
    }

    pub fn counts(&self) -> Result<StoreTally, StoreError> {
        Ok(StoreTally {
            runs_running: self.number("runs_running")?,
            runs_awaiting_confirmation: self.number("runs_awaiting_confirmation")?,
            runs_awaiting_results: self.number("runs_awaiting_results")?,
            questions_pending: self.number("questions_pending")?,
            question_oldest: self.moment_or_null("question_oldest")?,
            tasks_waiting: self.number("tasks_waiting")?,
            tasks_leased: self.number("tasks_leased")?,
            tasks_delivered: self.number("tasks_delivered")?,
        })
    }

    pub fn audit_row(&self) -> Result<AuditRow, StoreError> {
        let (revision, at) = (Revision(self.number("last_seq")?), self.moment("at")?);
        Ok(AuditRow { revision, at, body: self.bytes("audit")?.into(), link: self.link("link")? })
    }

    pub fn sealed_run(&self) -> Result<SealedRun, StoreError> {
        let revision = Revision(self.number("audit_revision")?);
        Ok(SealedRun { run: self.run()?, revision, link: self.link("audit_link")? })
    }

    pub fn audited_run(&self) -> Result<AuditedRun, StoreError> {
        Ok(AuditedRun {
            head: self.sealed_run()?,
            tenant: self.tenant()?,
            count: self.number("audit_rows")?,
            sealed: Revision(self.number("sealed_revision")?),
            seal: self.number("seal_no")?,
            rows: Vec::new(),
        })
    }

    pub fn seal(&self) -> Result<Seal, StoreError> {
        // A seal whose runs cannot be read has none; then its link is wrong, and a verification says so.
        let runs = unpack_sealed(self.bytes("runs")?).unwrap_or_default();
        let (number, at) = (self.number("number")?, self.moment("at")?);
        Ok(Seal { tenant: self.tenant()?, number, at, runs, link: self.link("link")? })
    }

    pub fn unsealed(&self) -> Result<Unsealed, StoreError> {
        Ok(Unsealed { tenant: self.tenant()?, sealed_at: self.moment_or_null("at")? })
    }

    pub fn tombstone(&self) -> Result<Tombstone, StoreError> {
        let (run, revision) = (self.run()?, Revision(self.number("revision")?));
        let run = SealedRun { run, revision, link: self.link("link")? };
        Ok(Tombstone { tenant: self.tenant()?, run, seal: self.number("seal")?, at: self.moment("at")? })
    }

    /// Adds a run, or a tombstone where there is no `run_no`, to the trace at its `position`, from 0.
    pub fn add_to_trace(&self, traces: &mut [Trace]) -> Result<(), StoreError> {
        let Some(trace) = traces.get_mut(self.number::<usize>("position")?) else { return Ok(()) };
        if self.0.int("run_no")?.is_none() {
            trace.tombstones.push(self.tombstone()?);
            return Ok(());
        }
        trace.is_there = true;
        trace.link = self.0.bytes("link")?.map(Link::stored);
        (trace.sealed, trace.seal) = (Revision(self.number("sealed_revision")?), self.number("seal_no")?);
        Ok(())
    }
}

/// The records of a run after `after`. Without any row there is no such run.
///
/// # Errors
/// [`StoreError::NotFound`], or as [`Row`].
pub fn records<R: Columns>(rows: &[Row<R>], run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
    if rows.is_empty() {
        return Err(StoreError::NotFound { run: run.clone() });
    }
    let mut records = Vec::new();
    rows.iter().try_for_each(|row| row.records(after, &mut records))?;
    Ok(records)
}

/// The names of runs.
///
/// # Errors
/// As [`Row`].
pub fn run_ids<R: Columns>(rows: &[Row<R>]) -> Result<Vec<RunId>, StoreError> {
    rows.iter().map(Row::run).collect()
}

/// One page of a list, from rows that are sorted by these columns.
///
/// # Errors
/// As [`Row`].
pub fn page<R: Columns, T, const N: usize>(
    list: List,
    limit: Option<usize>,
    rows: &[Row<R>],
    sorted_by: [&str; N],
    read: fn(&Row<R>) -> Result<T, StoreError>,
) -> Result<Page<T>, StoreError> {
    let item = |row: &Row<R>| {
        let mut position = [0; N];
        for (number, column) in position.iter_mut().zip(sorted_by) {
            *number = row.int(column)?;
        }
        Ok((position, read(row)?))
    };
    Page::collect(list, page_size(limit), rows.iter().map(item))
}

/// A page of audit rows, sorted by run. A run without rows gives one row of nulls. `run` gives the run of a row, for the first
/// row of each.
///
/// # Errors
/// As [`Row`].
pub fn audit_page<R: Columns>(
    rows: &[Row<R>],
    limit: usize,
    mut run: impl FnMut(i64, &Row<R>) -> Result<AuditedRun, StoreError>,
) -> Result<Page<AuditedRun>, StoreError> {
    let (mut page, mut current, mut next) = (Page::default(), None, [0, 0]);
    for row in rows {
        let run_no = row.int("run_no")?;
        if current.replace(run_no) != Some(run_no) {
            page.items.push(run(run_no, row)?);
        }
        let Some(revision) = row.int_or_null("last_seq")? else {
            next = [run_no.saturating_add(1), 0];
            continue;
        };
        next = [run_no, revision];
        let position = row.int_or_null("audit_no")?.unwrap_or_default().unsigned_abs();
        if let Some(run) = page.items.last_mut() {
            run.rows.push((position, row.audit_row()?));
        }
    }
    page.next = (rows.len() == limit).then(|| List::AuditRows.cursor(next));
    Ok(page)
}

fn known<T: Copy, const N: usize>(
    stored: i64,
    all: [T; N],
    number: fn(T) -> i16,
    column: &str,
) -> Result<T, StoreError> {
    let found = all.into_iter().find(|value| i64::from(number(*value)) == stored);
    found.ok_or_else(|| corrupt(format!("`{column}` is unknown")))
}

fn missing(column: impl Display) -> StoreError {
    corrupt(format!("`{column}` is missing"))
}

/// A stored value that no store writes.
pub fn corrupt(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::fault(StoreFault::Corrupt, "read what is stored", cause)
}
