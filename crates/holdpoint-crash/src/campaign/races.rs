//! A worker completes a task at the moment at which its lease lapses. What was acknowledged must be in the run.

use std::sync::Arc;
use std::time::Duration;

use holdpoint::{TaskHolder, ToolResult};
use holdpoint_core::ToolName;
use holdpoint_store::LeaseRequest;

use super::case::{Case, Found};
use crate::check;

/// The lease of the task.
const LEASE_MS: u64 = 150;
/// How far from the end of the lease the result may come, in milliseconds.
const AROUND_MS: u64 = 40;

pub(super) async fn fight(mut case: Case) -> anyhow::Result<Found> {
    case.start("work_never").await?;
    let kept = case.keep();
    let request = LeaseRequest {
        worker: "hand".into(),
        tools: vec![(case.name.as_str().into(), ToolName::new("work_never"))],
        tenant: None,
        limit: 1,
        lease_ms: LEASE_MS,
    };
    let leased = case.runner.queue().lease(&request).await?.remove(0);
    let holder = TaskHolder::of(&leased, &Arc::from("hand"));
    let wait = case.dice.between(LEASE_MS - AROUND_MS / 2, LEASE_MS + AROUND_MS);
    tokio::time::sleep(Duration::from_millis(wait)).await;
    let text = format!("result of {}", case.name);
    let completed = case.runner.queue().complete(&holder, ToolResult::success(text.clone())).await;
    case.see_through_with(&text).await?;
    drop(kept);
    let mut found = case.judge().await?;
    match completed {
        Ok(()) => {
            found.acknowledged += 1;
            if !check::has_result(&case.field.store, &case.run(), &text).await? {
                found.violations.push(format!("{}: an acknowledged result is nowhere", case.name));
            }
        }
        Err(_) => found.rejected += 1,
    }
    Ok(found)
}
