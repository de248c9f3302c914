//! A process is stopped with SIGSTOP beyond its lease. Another one takes over, a person who sees no effect lets the call run,
//! and then the first process goes on.

use std::time::Duration;

use rustix::process::Signal;

use super::case::{Case, Found, Process};
use super::party::{Does, Orders};
use crate::agents::LEASE;
use crate::ledger::{Fact, Point};

/// How long a process stays where it is to be stopped.
const DWELL: Duration = Duration::from_millis(250);
/// The longest time after which a process is stopped that does not wait for it, in milliseconds.
const RANDOM_MS: u64 = 60;

pub(super) async fn fight(mut case: Case) -> anyhow::Result<Found> {
    match case.dice.below(4) {
        0 | 1 => driver_at_its_intent(&case).await?,
        2 => driver_anywhere(&mut case).await?,
        _ => worker_at_its_lease(&case).await?,
    }
    case.judge().await
}

async fn driver_at_its_intent(case: &Case) -> anyhow::Result<()> {
    let orders = Orders::new(Does::Start, "note_never").dwelling(Point::AfterIntent, DWELL);
    let mut process = case.spawn(orders).await?;
    case.field.parked(&process.name, Point::AfterIntent).await;
    stop(case, &process)?;
    let kept = case.keep();
    case.see_through().await?;
    go_on(case, &process)?;
    process.ended().await?;
    drop(kept);
    Ok(())
}

async fn driver_anywhere(case: &mut Case) -> anyhow::Result<()> {
    let wait = Duration::from_millis(case.dice.below(RANDOM_MS));
    let mut process = case.spawn(Orders::new(Does::Start, "note_never")).await?;
    tokio::time::sleep(wait).await;
    stop(case, &process)?;
    let kept = case.keep();
    // Whatever it had begun is looked at once its lease has lapsed.
    tokio::time::sleep(2 * LEASE).await;
    let found = case.runner.result(&case.run()).await;
    if let Ok(result) = found.as_ref()
        && super::case::is_in_doubt(result)
    {
        case.answer_doubt(result).await?;
    }
    go_on(case, &process)?;
    process.ended().await?;
    case.see_through().await?;
    drop(kept);
    Ok(())
}

async fn worker_at_its_lease(case: &Case) -> anyhow::Result<()> {
    case.start("work_never").await?;
    let orders = Orders::new(Does::Work, "work_never").dwelling(Point::AfterIntent, DWELL);
    let process = case.spawn(orders).await?;
    case.field.parked(&process.name, Point::AfterIntent).await;
    stop(case, &process)?;
    let kept = (case.keep(), case.work());
    case.see_through().await?;
    go_on(case, &process)?;
    // Long enough that it would have begun.
    tokio::time::sleep(2 * DWELL).await;
    drop(kept);
    Ok(())
}

fn stop(case: &Case, process: &Process) -> anyhow::Result<()> {
    process.signal(Signal::STOP)?;
    Ok(case.field.bench.write(&Fact::Stopped { process: process.name.clone() })?)
}

fn go_on(case: &Case, process: &Process) -> anyhow::Result<()> {
    case.field.bench.write(&Fact::Continued { process: process.name.clone() })?;
    process.signal(Signal::CONT)
}
