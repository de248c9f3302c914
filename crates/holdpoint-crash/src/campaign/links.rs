//! The answer to the commit of an intent, or to a lease, comes late, or the link is cut after it and restored later.

use std::time::Duration;

use super::case::{Case, Found};
use super::party::{Does, Orders};
use super::proxy::{Mode, Proxy};
use crate::agents::LEASE;
use crate::ledger::Point;
use crate::link::Link;

/// How long a process waits before it sends the request whose answer does not come.
const DWELL: Duration = Duration::from_millis(120);

pub(super) async fn fight(mut case: Case) -> anyhow::Result<Found> {
    let link = if case.dice.chance(500) { Link::Hold } else { Link::Cut };
    // Sometimes the link is back before the lease lapses.
    let lease_ms = u64::try_from(LEASE.as_millis())?;
    let time = Duration::from_millis(case.dice.between(lease_ms / 2, 3 * lease_ms));
    let is_worker = case.dice.chance(300);
    let kept = (case.keep(), is_worker.then(|| case.work()));
    match (is_worker, case.field.url.starts_with("postgres")) {
        (true, _) => worker(&case, link, time).await?,
        (false, true) => driver_behind_proxy(&case, link, time).await?,
        (false, false) => driver(&case, link, time).await?,
    }
    drop(kept);
    case.judge().await
}

async fn driver(case: &Case, link: Link, time: Duration) -> anyhow::Result<()> {
    let orders = Orders { link: Some((link, time)), ..Orders::new(Does::Start, "note_never") };
    let mut process = case.spawn(orders).await?;
    case.see_through().await?;
    process.ended().await
}

async fn driver_behind_proxy(case: &Case, link: Link, time: Duration) -> anyhow::Result<()> {
    let proxy = Proxy::open(&case.field.url).await?;
    let orders = Orders { store: Some(proxy.url.clone()), warm: true, ..Orders::new(Does::Start, "note_never") };
    let mut process = case.spawn(orders.dwelling(Point::InModel, DWELL)).await?;
    case.field.parked(&process.name, Point::InModel).await;
    proxy.set(Mode::HoldAnswers);
    let has_intent = case.until(|result| result.run().calls().iter().any(|call| call.attempts.0 > 0));
    // A request that needs more than one answer, to prepare its statement for instance, does not get through.
    if tokio::time::timeout(2 * LEASE, has_intent).await.is_err() {
        proxy.set(Mode::Open);
    }
    if link == Link::Cut {
        proxy.set(Mode::Cut);
    }
    tokio::time::sleep(time).await;
    let (seen, restored) = tokio::join!(case.see_through(), async {
        tokio::time::sleep(time / 2).await;
        proxy.set(Mode::Open);
    });
    seen?;
    let () = restored;
    process.ended().await
}

/// A worker that hears late of its lease, or never.
async fn worker(case: &Case, link: Link, time: Duration) -> anyhow::Result<()> {
    case.start("work_never").await?;
    let orders = Orders { link: Some((link, time)), ..Orders::new(Does::Work, "work_never") };
    let _process = case.spawn(orders).await?;
    case.see_through().await?;
    tokio::time::sleep(time + DWELL).await;
    Ok(())
}
