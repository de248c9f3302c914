//! Who decided what, and whether that is as it was written.

use axum::Json;
use holdpoint::RunId;
use holdpoint_api::{AuditEntry, AuditFinding, AuditPage, AuditVerdict, PageQuery};
use holdpoint_codec::audit::decode;
use holdpoint_codec::view::Moment;
use holdpoint_store::audit::{Verified, VerifyRequest, verify as verify_log};
use holdpoint_store::{AuditScope, Cursor};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::auth::{Caller, Right};
use crate::params::{Ask, Params, names};
use crate::refusal::Answer;

const LIST: &str = "audit";
const LIST_OF_RUN: &str = "audit of a run";
const ROWS_DEFAULT: usize = 50;

/// Which part of the audit log.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    /// Only that of this run.
    run: Option<String>,
    #[serde(flatten)]
    #[param(ignore)]
    page: PageQuery,
}

fn scope_of(caller: &Caller) -> AuditScope {
    caller.tenant().map_or(AuditScope::All, |tenant| AuditScope::Tenant(Some(tenant)))
}

/// Read the audit log, run by run.
#[utoipa::path(
    get, path = "/v1/audit", tag = "insight", operation_id = "read_audit", params(AuditQuery, PageQuery),
    responses((status = 200, description = "One page", body = AuditPage), Problems),
)]
pub(super) async fn list(ask: Ask, Params(query): Params<AuditQuery>) -> Answer<Json<AuditPage>> {
    let Ask { app, caller, .. } = &ask;
    caller.need(Right::Administer)?;
    if let Some(run) = names("run", query.run)? {
        return of_run(&ask, &RunId::new(run), &query.page).await;
    }
    let (cursor, limit) = app.page(caller, LIST, &query.page)?;
    let limit = limit.unwrap_or(ROWS_DEFAULT).min(holdpoint_store::LIST_LIMIT_MAX);
    let page = app.store.audit.rows_after(&scope_of(caller), cursor.as_ref(), limit).await?;
    let next = app.next_page(caller, LIST, page.next.as_ref());
    let rows = page.items.iter().flat_map(|run| run.rows.iter().map(|(_, row)| entry(&run.head.run, row)));
    Ok(Json(AuditPage { entries: rows.collect(), next }))
}

/// The part of one run, by revision.
async fn of_run(ask: &Ask, run: &RunId, page: &PageQuery) -> Answer<Json<AuditPage>> {
    let Ask { app, caller, .. } = ask;
    let (cursor, limit) = app.page(caller, LIST_OF_RUN, page)?;
    let after = cursor.as_ref().and_then(|cursor| cursor.as_str().parse().ok()).unwrap_or_default();
    let rows = app.store.audit.rows(&caller.scope, run).await?;
    let mut rows = rows.iter().filter(|row| row.revision.0 > after).peekable();
    let limit = limit.unwrap_or(ROWS_DEFAULT).min(holdpoint_store::LIST_LIMIT_MAX);
    let entries: Vec<AuditEntry> = rows.by_ref().take(limit).map(|row| entry(run, row)).collect();
    let last = entries.last().filter(|_| rows.peek().is_some());
    let next = last.map(|entry| Cursor::new(entry.revision.to_string()));
    let next = app.next_page(caller, LIST_OF_RUN, next.as_ref());
    Ok(Json(AuditPage { entries, next }))
}

fn entry(run: &RunId, row: &holdpoint_store::AuditRow) -> AuditEntry {
    AuditEntry {
        run_id: run.as_str().to_owned(),
        revision: row.revision.0,
        at: Moment(row.at),
        link: row.link.to_string(),
        decisions: decode(&row.body).ok().map(|audit| audit.entries),
    }
}

/// Check that the audit log is as it was written: every row, every chain, every seal.
#[utoipa::path(
    get, path = "/v1/audit/verify", tag = "insight", operation_id = "verify_audit",
    responses((status = 200, description = "What was found", body = AuditVerdict), Problems),
)]
pub(super) async fn verify(ask: Ask) -> Answer<Json<AuditVerdict>> {
    ask.caller.need(Right::Administer)?;
    // Reading a whole log is work: one at a time.
    let _turn = ask.app.verifying.lock().await;
    let request = VerifyRequest { scope: scope_of(&ask.caller), ..VerifyRequest::default() };
    let mut nobody: fn(&Verified) = |_| {};
    let verified = verify_log(&ask.app.store, &request, &mut nobody).await?;
    Ok(Json(AuditVerdict {
        ok: verified.is_whole(),
        runs: verified.runs,
        rows: verified.rows,
        seals: verified.seals,
        findings: verified.findings.iter().map(|finding| AuditFinding { problem: finding.to_string() }).collect(),
    }))
}
