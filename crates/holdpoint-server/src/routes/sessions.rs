//! Conversations over several runs.

use axum::Json;
use holdpoint_api::{PageQuery, SessionPage, SessionView, moment};
use holdpoint_store::SessionFilter;

use super::Problems;
use crate::auth::Right;
use crate::params::{Ask, Params};
use crate::refusal::Answer;

const LIST: &str = "sessions";

/// List conversations, that of the last created run first.
#[utoipa::path(
    get, path = "/v1/sessions", tag = "insight", operation_id = "list_sessions", params(PageQuery),
    responses((status = 200, description = "One page", body = SessionPage), Problems),
)]
pub(super) async fn list(ask: Ask, Params(query): Params<PageQuery>) -> Answer<Json<SessionPage>> {
    let Ask { app, caller, .. } = &ask;
    caller.need(Right::Read)?;
    let (cursor, limit) = app.page(caller, LIST, &query)?;
    let page = app.store.runs.sessions(&SessionFilter { tenant: caller.tenant(), cursor, limit }).await?;
    let next = app.next_page(caller, LIST, page.next.as_ref());
    let sessions = page.items.into_iter().map(|row| SessionView {
        id: row.id.to_string(),
        runs: row.runs,
        updated_at: moment(row.updated_at),
    });
    Ok(Json(SessionPage { sessions: sessions.collect(), next }))
}
