//! Who does tasks.

use axum::Json;
use holdpoint_api::{WorkerList, WorkerView, moment};

use super::Problems;
use crate::auth::Right;
use crate::params::Ask;
use crate::refusal::Answer;

/// List the workers that asked for tasks in the last day, the last seen first.
#[utoipa::path(
    get, path = "/v1/workers", tag = "tasks", operation_id = "list_workers",
    responses((status = 200, description = "The workers", body = WorkerList), Problems),
)]
pub(super) async fn list(ask: Ask) -> Answer<Json<WorkerList>> {
    ask.caller.need(Right::ReadTasks)?;
    let rows = ask.app.store.state.workers(&ask.caller.scope).await?;
    let workers = rows.into_iter().map(|row| WorkerView {
        name: row.name.to_string(),
        tools: row.tools.iter().map(|tool| tool.as_str().to_owned()).collect(),
        seen_at: moment(row.seen_at),
        leases: row.leases,
    });
    Ok(Json(WorkerList { workers: workers.collect() }))
}
