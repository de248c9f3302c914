//! Standing approvals.

use axum::Json;
use holdpoint::ListedGrant;
use holdpoint_api::{GrantPage, ListedGrantView, PageQuery};
use holdpoint_codec::view::{GrantView, Moment};
use holdpoint_core::Timestamp;
use holdpoint_store::GrantFilter;
use http::StatusCode;

use super::Problems;
use crate::auth::Right;
use crate::params::{Ask, Id, Params};
use crate::refusal::{Answer, Refusal};

const LIST: &str = "grants";

/// List grants, the newest first; those that were taken back or are over, too.
#[utoipa::path(
    get, path = "/v1/grants", tag = "insight", operation_id = "list_grants", params(PageQuery),
    responses((status = 200, description = "One page", body = GrantPage), Problems),
)]
pub(super) async fn list(ask: Ask, Params(query): Params<PageQuery>) -> Answer<Json<GrantPage>> {
    let Ask { app, caller, .. } = &ask;
    caller.need(Right::ReadApprovals)?;
    let (cursor, limit) = app.page(caller, LIST, &query)?;
    let filter = GrantFilter { tenant: caller.tenant(), tool: None, cursor, limit };
    let page = app.reader()?.grants(&filter).await?;
    let now = app.store.runs.now();
    let next = app.next_page(caller, LIST, page.next.as_ref());
    let grants = page.grants.iter().map(|listed| shown(listed, now)).collect();
    Ok(Json(GrantPage { grants, next }))
}

fn shown(listed: &ListedGrant, now: Timestamp) -> ListedGrantView {
    ListedGrantView {
        grant: GrantView::of(&listed.grant),
        valid: listed.is_valid(now),
        revoked_by: listed.revoked.as_ref().map(|(by, _)| by.to_string()),
        revoked_at: listed.revoked.as_ref().map(|(_, at)| Moment(*at)),
    }
}

/// Take a grant back. It counts no more; what it let run before stays as it is.
#[utoipa::path(
    delete, path = "/v1/grants/{id}", tag = "insight", operation_id = "revoke_grant", params(("id" = String, Path)),
    responses((status = 204, description = "It counts no more"), Problems),
)]
pub(super) async fn revoke(ask: Ask, id: Id) -> Answer<StatusCode> {
    ask.caller.need(Right::Approve)?;
    let id = id.grant()?;
    let row =
        ask.app.store.grants.find(&ask.caller.scope, id.as_str()).await?.ok_or_else(|| Refusal::not_found("grant"))?;
    let reader = ask.app.reader()?.clone();
    let actor = ask.caller.actor();
    // Taken back twice is taken back.
    let revoking = async move { reader.revoke_grant(row.tenant.as_deref(), &id, &actor).await };
    ask.app.driving.see_through(revoking).await?;
    Ok(StatusCode::NO_CONTENT)
}
