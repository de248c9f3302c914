//! The statements of a commit and their values.

use holdpoint_core::Revision;
use holdpoint_store::rows::{repeat_number, signed, status_number, tenant_key};
use holdpoint_store::{GrantOpening, Hold, StoreError};
use sqlx::postgres::PgConnection;

use super::{Folded, Job, asking};
use crate::columns::{Row, row};
use crate::pool::Statement;

const ONE_MOVE: &str = include_str!("one_move.sql");
const ONE_CREATE: &str = include_str!("one_create.sql");
const MANY: &str = include_str!("many.sql");
const MANY_WITH_TASKS: &str = include_str!("many_with_tasks.sql");
const LOOK: &str = "select run_no, revision, last_commit from holdpoint_runs where run_id = $1";

/// For tests that look at their plans.
#[cfg(all(test, feature = "server-tests"))]
pub(crate) fn statements() -> [&'static str; 3] {
    [ONE_MOVE, MANY, MANY_WITH_TASKS]
}

/// What became of a transition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    Moved { run_no: i64 },
    LeaseLost,
    Stale,
}

/// Where a run is, and whether the transition in question brought it there.
pub(super) enum Seen {
    Ours { run_no: i64 },
    At(Revision),
}

/// Writes each of these transitions or none of it, and returns which were written.
pub(super) async fn send(
    connection: &mut PgConnection,
    jobs: &[Job],
    now: Option<i64>,
) -> Result<Vec<Verdict>, sqlx::Error> {
    let with_tasks = jobs.iter().any(Job::has_more);
    if let ([job], false) = (jobs, with_tasks) {
        let found = one(job, now).fetch_optional(connection).await?.map(row);
        let run_no = found.map(|row| row.int("run_no")).transpose().map_err(unreadable)?;
        return Ok(vec![run_no.map_or(Verdict::Stale, |run_no| Verdict::Moved { run_no })]);
    }
    let statement = if with_tasks {
        let statement = runs(sqlx::query(MANY_WITH_TASKS), jobs).bind(now);
        asking::bind(grants(openings(changes(statement, jobs), jobs), jobs), jobs)
    } else {
        runs(sqlx::query(MANY), jobs).bind(now)
    };
    let mut verdicts = vec![Verdict::Stale; jobs.len()];
    for found in statement.fetch_all(connection).await? {
        judge(&row(found), &mut verdicts).map_err(unreadable)?;
    }
    Ok(verdicts)
}

/// Where the run is, and whether this transition brought it there.
pub(super) async fn look(connection: &mut PgConnection, job: &Job) -> Result<Seen, sqlx::Error> {
    let found = sqlx::query(LOOK).bind(job.step.run.as_str()).fetch_optional(connection).await?;
    let seen = |row: Row| {
        let revision = Revision(row.number("revision")?);
        if revision == job.step.next && row.int("last_commit")? == job.token {
            return Ok(Seen::Ours { run_no: row.int("run_no")? });
        }
        Ok(Seen::At(revision))
    };
    found.map_or(Ok(Seen::At(Revision(0))), |found| seen(row(found)).map_err(unreadable))
}

fn judge(row: &Row, verdicts: &mut [Verdict]) -> Result<(), StoreError> {
    let run_no = row.int_or_null("run_no")?;
    if let Some(verdict) = verdicts.get_mut(row.number::<usize>("n")?) {
        *verdict = run_no.map_or(Verdict::LeaseLost, |run_no| Verdict::Moved { run_no });
    }
    Ok(())
}

fn unreadable(error: StoreError) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}

/// The values of a job that every statement writes.
impl Job {
    fn status(&self) -> i16 {
        status_number(self.step.head.status)
    }

    fn pause(&self) -> Option<i64> {
        self.step.head.continuation.as_ref().map(|continuation| i64::from(continuation.pause.0))
    }

    fn deadline(&self) -> Option<i64> {
        self.step.head.deadline.map(|deadline| deadline.0)
    }

    fn owner(&self) -> Option<&str> {
        self.step.hold.as_ref().map(|hold| hold.owner.as_str())
    }

    fn lease_ms(&self) -> i64 {
        self.step.hold.as_ref().map_or(0, |hold: &Hold| signed(hold.length_ms()))
    }

    fn agent(&self) -> &str {
        self.step.head.agent.as_deref().unwrap_or_default()
    }

    fn tenant(&self) -> String {
        tenant_key(self.step.head.tenant.as_deref())
    }

    /// The audit chain after it, if it creates the run. Of other runs the database knows it.
    fn created_link(&self) -> Option<[u8; 32]> {
        self.step.creates().then(|| self.step.link_after(None).0)
    }
}

fn one(job: &Job, now: Option<i64>) -> Statement<'_> {
    let statement = sqlx::query(if job.step.creates() { ONE_CREATE } else { ONE_MOVE })
        .bind(job.step.run.as_str())
        .bind(signed(job.step.at.0))
        .bind(signed(job.step.next.0))
        .bind(job.status())
        .bind(job.pause())
        .bind(job.deadline())
        .bind(job.owner())
        .bind(job.lease_ms())
        .bind(job.step.moment.0)
        .bind(job.token)
        .bind(&*job.step.body)
        .bind(job.step.audit.as_deref())
        .bind(now);
    if !job.step.creates() {
        return statement;
    }
    statement
        .bind(job.agent())
        .bind(job.tenant())
        .bind(job.created_link())
        .bind(job.step.head.session.as_deref())
        .bind(job.is_alone())
        .bind(job.last_run())
}

fn each<'j, T>(jobs: &'j [Job], column: impl Fn(&'j Job) -> T) -> Vec<T> {
    jobs.iter().map(column).collect()
}

/// The columns of the runs, one value for each transition.
fn runs<'j>(statement: Statement<'j>, jobs: &'j [Job]) -> Statement<'j> {
    statement
        .bind((0..).take(jobs.len()).collect::<Vec<i64>>())
        .bind(each(jobs, |job| job.step.run.as_str()))
        .bind(each(jobs, |job| signed(job.step.at.0)))
        .bind(each(jobs, |job| signed(job.step.next.0)))
        .bind(each(jobs, Job::status))
        .bind(each(jobs, Job::pause))
        .bind(each(jobs, Job::deadline))
        .bind(each(jobs, Job::owner))
        .bind(each(jobs, Job::lease_ms))
        .bind(each(jobs, |job| job.step.moment.0))
        .bind(each(jobs, |job| job.token))
        .bind(each(jobs, |job| &*job.step.body))
        .bind(each(jobs, |job| job.step.audit.as_deref()))
        .bind(each(jobs, Job::agent))
        .bind(each(jobs, Job::tenant))
        .bind(each(jobs, Job::created_link))
        .bind(each(jobs, |job| job.step.head.session.as_deref()))
        .bind(each(jobs, Job::is_alone))
        .bind(each(jobs, Job::last_run))
}

/// What the jobs bring of one kind, each with the position of its job.
pub(super) fn all<'j, T>(jobs: &'j [Job], of: impl Fn(&'j Job) -> &'j [T]) -> Vec<(i64, &'j T)> {
    let jobs = (0..).zip(jobs);
    jobs.flat_map(|(position, job)| of(job).iter().map(move |item| (position, item))).collect()
}

/// The guards of tasks that are closed, and whether no task comes in their place.
fn changes<'j>(statement: Statement<'j>, jobs: &'j [Job]) -> Statement<'j> {
    let mut closed = all(jobs, |job| &job.tasks);
    closed.retain(|(_, task)| task.guard.is_some() || task.opening.is_none());
    statement
        .bind(closed.iter().map(|(position, _)| *position).collect::<Vec<_>>())
        .bind(closed.iter().map(|(_, task)| i64::from(task.turn.0)).collect::<Vec<_>>())
        .bind(closed.iter().map(|(_, task)| i64::from(task.index.0)).collect::<Vec<_>>())
        .bind(closed.iter().map(|(_, task)| task.guard_columns().0).collect::<Vec<_>>())
        .bind(closed.iter().map(|(_, task)| task.guard_columns().1).collect::<Vec<_>>())
        .bind(closed.iter().map(|(_, task)| task.opening.is_none()).collect::<Vec<_>>())
}

/// The tasks that are opened.
fn openings<'j>(statement: Statement<'j>, jobs: &'j [Job]) -> Statement<'j> {
    let tasks: Vec<(i64, &Folded)> = all(jobs, |job| &job.tasks);
    let opened: Vec<_> =
        tasks.iter().filter_map(|(position, task)| Some((*position, task.opening.as_deref()?))).collect();
    statement
        .bind(opened.iter().map(|(position, _)| *position).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| i64::from(task.turn.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| i64::from(task.index.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| task.tool.as_str()).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| i64::from(task.attempts.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| i64::from(task.attempts_max.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| repeat_number(task.repeat)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| task.deadline.map(|deadline| deadline.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| &*task.body).collect::<Vec<_>>())
}

/// The grants of all transitions.
fn grants<'j>(statement: Statement<'j>, jobs: &'j [Job]) -> Statement<'j> {
    let made: Vec<(i64, &GrantOpening)> = all(jobs, |job| &job.step.grants);
    statement
        .bind(made.iter().map(|(position, _)| *position).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, grant)| &*grant.id).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, grant)| grant.tool.as_str()).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, grant)| grant.until.map(|until| until.0)).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, grant)| &*grant.body).collect::<Vec<_>>())
}
