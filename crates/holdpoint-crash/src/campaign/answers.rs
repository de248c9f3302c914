//! A person lets a call run, its process is killed, and the call is in doubt. Meanwhile the same answer comes again and again,
//! and another person answers the first question late.

use std::time::Duration;

use rustix::process::Signal;

use super::case::{Case, Found};
use super::party::{Does, Orders};
use crate::check;
use crate::ledger::{Fact, Point};

/// How long a process stays where it is to be killed.
const DWELL: Duration = Duration::from_millis(400);
/// How often late answers come.
const EVERY_MS: (u64, u64) = (3, 40);

pub(super) async fn fight(mut case: Case) -> anyhow::Result<Found> {
    let paused = case.start("ask_never").await?;
    let Some(question) = paused.pending_confirmations().into_iter().next() else {
        return Ok(Found::violation(format!("{}: nobody was asked", case.name)));
    };
    let point = if case.dice.chance(500) { Point::AfterIntent } else { Point::WithinEffect };
    let orders = Orders { digest: Some(question.digest), ..Orders::new(Does::Answer, "ask_never") };
    let process = case.spawn(orders.dwelling(point, DWELL)).await?;
    let kept = case.keep();
    let mut dice = case.dice.clone();
    // From then on the question is answered.
    case.field.parked(&process.name, point).await;
    let late = async {
        let mut rejected = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(dice.between(EVERY_MS.0, EVERY_MS.1))).await;
            let who = if dice.chance(500) { "late" } else { "ana" };
            let is_accepted = case.allow(&paused, who, question.id.clone(), question.digest).await;
            rejected += u64::from(!is_accepted);
            if case.is_over().await? {
                return anyhow::Ok(rejected);
            }
        }
    };
    let through = async {
        tokio::time::sleep(DWELL / 4).await;
        process.signal(Signal::KILL)?;
        case.field.bench.write(&Fact::Killed { process: process.name.clone() })?;
        case.see_through().await
    };
    let (rejected, through) = tokio::join!(late, through);
    through?;
    drop(kept);
    let mut found = case.judge().await?;
    found.rejected += rejected?;
    let stray = check::doubts_answered_by(&case.field.store, &case.run(), question.digest).await?;
    if stray > 0 {
        found.violations.push(format!("{}: an answer to the first question counted for the doubt", case.name));
    }
    Ok(found)
}
