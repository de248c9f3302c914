//! The statements of a commit and their values.

use holdpoint_store::{GrantOpening, OwnerId};
use sqlx::Row;
use sqlx::postgres::{PgConnection, PgRow};

use super::{Folded, Job, Seen, asking, head_columns};
use crate::pool::Statement;
use crate::row::repeat_number;

const ONE_MOVE: &str = include_str!("one_move.sql");
const ONE_CREATE: &str = include_str!("one_create.sql");
const MANY: &str = include_str!("many.sql");
const MANY_WITH_TASKS: &str = include_str!("many_with_tasks.sql");
const LOOK: &str = "select run_no, revision, last_commit from holdpoint_runs where run_id = $1";

/// For those who look at their plans.
#[cfg(all(test, feature = "testing"))]
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

/// Writes these transitions, each or none of it, and says which were written.
pub(super) async fn send(
    connection: &mut PgConnection,
    jobs: &[Job],
    now: Option<i64>,
) -> Result<Vec<Verdict>, sqlx::Error> {
    let with_tasks = jobs.iter().any(Job::has_more);
    if let ([job], false) = (jobs, with_tasks) {
        let row = one(job, now).fetch_optional(connection).await?;
        let run_no = row.map(|row| row.try_get(0)).transpose()?;
        return Ok(vec![run_no.map_or(Verdict::Stale, |run_no| Verdict::Moved { run_no })]);
    }
    let statement = if with_tasks {
        let statement = runs(sqlx::query(MANY_WITH_TASKS), jobs).bind(now);
        let statement = asking::bind(grants(links(openings(changes(statement, jobs), jobs), jobs), jobs), jobs);
        statement.bind(each(jobs, Job::last_run))
    } else {
        links(runs(sqlx::query(MANY), jobs).bind(now), jobs).bind(each(jobs, Job::last_run))
    };
    let mut verdicts = vec![Verdict::Stale; jobs.len()];
    for row in statement.fetch_all(connection).await? {
        judge(&row, &mut verdicts)?;
    }
    Ok(verdicts)
}

/// Where the run is, and whether this transition brought it there.
pub(super) async fn look(connection: &mut PgConnection, job: &Job) -> Result<Seen, sqlx::Error> {
    let Some(row) = sqlx::query(LOOK).bind(job.run.as_str()).fetch_optional(connection).await? else {
        return Ok(Seen::At(0));
    };
    let (revision, last): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
    if revision == job.next && last == job.token {
        Ok(Seen::Ours { run_no: row.try_get(0)? })
    } else {
        Ok(Seen::At(revision))
    }
}

fn judge(row: &PgRow, verdicts: &mut [Verdict]) -> Result<(), sqlx::Error> {
    let place: i64 = row.try_get(0)?;
    let run_no: Option<i64> = row.try_get(1)?;
    if let Some(verdict) = usize::try_from(place).ok().and_then(|place| verdicts.get_mut(place)) {
        *verdict = run_no.map_or(Verdict::LeaseLost, |run_no| Verdict::Moved { run_no });
    }
    Ok(())
}

fn one(job: &Job, now: Option<i64>) -> Statement<'_> {
    let head = head_columns(&job.head);
    let statement = sqlx::query(if job.at == 0 { ONE_CREATE } else { ONE_MOVE })
        .bind(job.run.as_str())
        .bind(job.at)
        .bind(job.next)
        .bind(head.status)
        .bind(head.agent)
        .bind(head.tenant)
        .bind(head.pause)
        .bind(head.deadline)
        .bind(job.owner.as_ref().map(OwnerId::as_str))
        .bind(job.lease_us)
        .bind(job.moved_at)
        .bind(job.token)
        .bind(&*job.body)
        .bind(job.audit.as_deref())
        .bind(now);
    if job.at != 0 {
        return statement;
    }
    statement
        .bind(job.created_link.map(|link| link.0))
        .bind(job.head.session.as_deref())
        .bind(job.slot.as_deref())
        .bind(job.last_run())
}

fn each<'j, T>(jobs: &'j [Job], column: impl Fn(&'j Job) -> T) -> Vec<T> {
    jobs.iter().map(column).collect()
}

/// The columns of the runs, one value for each transition.
fn runs<'j>(statement: Statement<'j>, jobs: &'j [Job]) -> Statement<'j> {
    statement
        .bind((0..).take(jobs.len()).collect::<Vec<i64>>())
        .bind(each(jobs, |job| job.run.as_str()))
        .bind(each(jobs, |job| job.at))
        .bind(each(jobs, |job| job.next))
        .bind(each(jobs, |job| head_columns(&job.head).status))
        .bind(each(jobs, |job| head_columns(&job.head).agent))
        .bind(each(jobs, |job| head_columns(&job.head).tenant))
        .bind(each(jobs, |job| head_columns(&job.head).pause))
        .bind(each(jobs, |job| head_columns(&job.head).deadline))
        .bind(each(jobs, |job| job.owner.as_ref().map(OwnerId::as_str)))
        .bind(each(jobs, |job| job.lease_us))
        .bind(each(jobs, |job| job.moved_at))
        .bind(each(jobs, |job| job.token))
        .bind(each(jobs, |job| &*job.body))
        .bind(each(jobs, |job| job.audit.as_deref()))
}

/// The chains and sessions of runs that are created. Those of others the database knows.
fn links<'j>(statement: Statement<'j>, jobs: &'j [Job]) -> Statement<'j> {
    statement
        .bind(each(jobs, |job| job.created_link.map(|link| link.0)))
        .bind(each(jobs, |job| job.head.session.as_deref()))
        .bind(each(jobs, |job| job.slot.as_deref()))
}

/// The tasks of all transitions, each with the place of its transition.
fn tasks(jobs: &[Job]) -> impl Iterator<Item = (i64, &Folded)> {
    let jobs = (0..).zip(jobs);
    jobs.flat_map(|(place, job)| job.tasks.iter().map(move |task| (place, task)))
}

/// The guards of tasks that are closed, and whether nothing comes in their place.
fn changes<'j>(statement: Statement<'j>, jobs: &'j [Job]) -> Statement<'j> {
    let closed: Vec<_> = tasks(jobs).filter(|(_, task)| task.guard.is_some() || task.opening.is_none()).collect();
    statement
        .bind(closed.iter().map(|(place, _)| *place).collect::<Vec<i64>>())
        .bind(closed.iter().map(|(_, task)| i64::from(task.turn.0)).collect::<Vec<_>>())
        .bind(closed.iter().map(|(_, task)| i64::from(task.index.0)).collect::<Vec<_>>())
        .bind(closed.iter().map(|(_, task)| task.guard_columns().0).collect::<Vec<_>>())
        .bind(closed.iter().map(|(_, task)| task.guard_columns().1).collect::<Vec<_>>())
        .bind(closed.iter().map(|(_, task)| task.opening.is_none()).collect::<Vec<_>>())
}

/// The tasks that are opened.
fn openings<'j>(statement: Statement<'j>, jobs: &'j [Job]) -> Statement<'j> {
    let opened: Vec<_> = tasks(jobs).filter_map(|(place, task)| Some((place, task.opening.as_deref()?))).collect();
    statement
        .bind(opened.iter().map(|(place, _)| *place).collect::<Vec<i64>>())
        .bind(opened.iter().map(|(_, task)| i64::from(task.turn.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| i64::from(task.index.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| task.tool.as_str()).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| i64::from(task.attempts.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| i64::from(task.attempts_max.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| repeat_number(task.repeat)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| task.deadline.map(|deadline| deadline.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, task)| &*task.body).collect::<Vec<_>>())
}

/// The grants of all transitions, each with the place of its transition.
fn grants<'j>(statement: Statement<'j>, jobs: &'j [Job]) -> Statement<'j> {
    let jobs = (0..).zip(jobs);
    let made: Vec<(i64, &GrantOpening)> =
        jobs.flat_map(|(place, job)| job.grants.iter().map(move |grant| (place, grant))).collect();
    statement
        .bind(made.iter().map(|(place, _)| *place).collect::<Vec<i64>>())
        .bind(made.iter().map(|(_, grant)| &*grant.id).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, grant)| grant.tool.as_str()).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, grant)| grant.until.map(|until| until.0)).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, grant)| &*grant.body).collect::<Vec<_>>())
}
