//! The audit log of all runs: heads of chains, seals over them, and tombstones of runs that were pruned.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{RunId, Timestamp};
use holdpoint_store::audit::pack_sealed;
use holdpoint_store::rows::{audit_page, corrupt, limit, scope_key, signed, tenant_key};
use holdpoint_store::{
    AuditLog, AuditRow, AuditScope, AuditedRun, Cursor, DUE_LIMIT_MAX, List, Page, Scope, Seal, SealedRun, StoreError,
    Tombstone, Trace, Unsealed,
};
use sqlx::SqliteConnection;

use crate::batch::Batch;
use crate::columns::{Row, row};
use crate::fault::store_error;
use crate::json_rows::JsonRows;
use crate::request::Request;
use crate::{Readers, SqliteStore};

pub(crate) const AUDIT: &str = "SELECT l.last_seq, l.at, l.audit, l.link FROM runs r JOIN log l ON l.run_no = r.run_no \
     WHERE r.run_id = $1 AND ($2 IS NULL OR r.tenant = $2) AND l.audit IS NOT NULL ORDER BY l.last_seq";
pub(crate) const ANY_TO_SEAL: &str = "SELECT EXISTS (SELECT 1 FROM runs INDEXED BY runs_to_seal \
     WHERE tenant = $1 AND audit_revision > sealed_revision) AS found";
pub(crate) const TO_SEAL: &str = "SELECT run_no, run_id, audit_revision, audit_link FROM runs INDEXED BY runs_to_seal \
     WHERE tenant = $1 AND audit_revision > sealed_revision ORDER BY run_no LIMIT $2";
pub(crate) const LAST_SEAL: &str = "SELECT number, link FROM seals WHERE tenant = $1 ORDER BY number DESC LIMIT 1";
pub(crate) const ADD_SEAL: &str = "INSERT INTO seals (tenant, number, at, link, runs) VALUES ($1, $2, $3, $4, $5)";
pub(crate) const SEAL_RUNS: &str = "UPDATE runs SET sealed_revision = audit_revision, seal_no = $1 \
     WHERE run_no IN (SELECT value FROM json_each($2))";
pub(crate) const SEALS: &str =
    "SELECT tenant, number, at, link, runs FROM seals WHERE tenant = $1 AND number > $2 ORDER BY number LIMIT $3";
/// Goes on after row `$2` of run `$1`. A run without rows gives one row of nothing.
macro_rules! audit_after {
    ($runs:literal, $which:literal) => {
        concat!(
            "SELECT r.run_no, l.last_seq, l.audit_no, l.at, l.link, l.audit FROM ",
            $runs,
            " LEFT JOIN log l INDEXED BY log_by_run ON l.run_no = r.run_no AND l.audit IS NOT NULL \
             AND l.last_seq > CASE WHEN r.run_no = $1 THEN $2 ELSE 0 END WHERE r.run_no >= $1",
            $which,
            " ORDER BY r.run_no, l.last_seq LIMIT $3"
        )
    };
}
pub(crate) const AUDIT_AFTER: &str = audit_after!("runs r", "");
/// In the order of creation, so that a page goes on where the one before ended.
pub(crate) const AUDIT_OF_TENANT: &str = audit_after!("runs r NOT INDEXED", " AND r.tenant = $4");
pub(crate) const AUDIT_OF_RUN: &str = audit_after!("runs r", " AND r.run_id = $4");
/// The runs of a page, apart from its rows: what is in each of a million rows is copied a million times.
pub(crate) const AUDITED_RUNS: &str = "SELECT run_no, run_id, tenant, audit_revision, audit_rows, audit_link, \
     sealed_revision, seal_no FROM runs WHERE run_no IN (SELECT value FROM json_each($1))";
/// From one tenant to the next, so that it takes as long as there are such tenants.
pub(crate) const UNSEALED: &str = "WITH RECURSIVE moved (tenant) AS (\
     SELECT min(tenant) FROM runs INDEXED BY runs_to_seal WHERE audit_revision > sealed_revision UNION ALL \
     SELECT (SELECT min(r.tenant) FROM runs r INDEXED BY runs_to_seal \
     WHERE r.audit_revision > r.sealed_revision AND r.tenant > m.tenant) \
     FROM moved m WHERE m.tenant IS NOT NULL) \
     SELECT m.tenant, (SELECT s.at FROM seals s WHERE s.tenant = m.tenant ORDER BY s.number DESC LIMIT 1) AS at \
     FROM moved m WHERE m.tenant IS NOT NULL";
/// Runs and tombstones in one statement, so that no run is pruned in between. A tombstone has no `run_no`.
pub(crate) const TRACES: &str = "SELECT j.key AS position, r.run_no, l.link, r.sealed_revision, r.seal_no, NULL AS tenant, \
     NULL AS run_id, NULL AS revision, NULL AS seal, NULL AS at FROM json_each($1) j \
     CROSS JOIN runs r ON r.tenant = $3 AND r.run_id = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     LEFT JOIN log l ON l.run_no = r.run_no AND l.last_seq = j.value->>2 AND l.audit IS NOT NULL \
     UNION ALL SELECT j.key, NULL, t.link, NULL, NULL, t.tenant, t.run_id, t.revision, t.seal, t.at FROM json_each($1) j \
     CROSS JOIN tombstones t ON t.tenant = $3 AND t.run_id = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT)";
pub(crate) const TOMBSTONES: &str = "SELECT tenant, run_id, revision, link, seal, at FROM tombstones \
     WHERE tenant = $1 AND run_id IN (SELECT DISTINCT run_id FROM tombstones \
     WHERE tenant = $1 AND run_id > $2 ORDER BY run_id LIMIT $3) ORDER BY run_id, at, link";
/// From one tenant to the next, so that it takes as long as there are tenants.
pub(crate) const TENANTS: &str = "WITH RECURSIVE tenants (tenant) AS (\
     SELECT min(tenant) FROM (SELECT min(tenant) AS tenant FROM runs UNION ALL SELECT min(tenant) FROM seals \
     UNION ALL SELECT min(tenant) FROM tombstones) UNION ALL \
     SELECT (SELECT min(tenant) FROM (SELECT min(r.tenant) AS tenant FROM runs r WHERE r.tenant > t.tenant \
     UNION ALL SELECT min(s.tenant) FROM seals s WHERE s.tenant > t.tenant \
     UNION ALL SELECT min(b.tenant) FROM tombstones b WHERE b.tenant > t.tenant)) \
     FROM tenants t WHERE t.tenant IS NOT NULL) SELECT tenant FROM tenants WHERE tenant IS NOT NULL";

/// Seals what moved. No other process writes meanwhile.
pub(crate) async fn seal(
    connection: &mut SqliteConnection,
    tenant: Option<&str>,
    now: Timestamp,
) -> Result<Option<Seal>, sqlx::Error> {
    let unreadable = |error: StoreError| sqlx::Error::Decode(Box::new(error));
    let key = tenant_key(tenant);
    let mut look = Batch::default();
    look.add("BEGIN IMMEDIATE");
    let last = look.add(LAST_SEAL).bind(key.as_str()).number();
    let moved = look.add(TO_SEAL).bind(key.as_str()).bind(limit(DUE_LIMIT_MAX)).number();
    let mut given = look.run(connection).await?;
    let before = given.take(last).first().map(|row| Ok((row.number("number")?, row.link("link")?))).transpose();
    let before = before.map_err(unreadable)?;
    let rows = given.take(moved);
    let runs = rows.iter().map(Row::sealed_run).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;

    let mut batch = Batch::default();
    let sealed = (!runs.is_empty()).then(|| Seal::after(before, tenant, now, runs));
    if let Some(seal) = &sealed {
        let add = batch.add(ADD_SEAL).bind(key).bind(signed(seal.number)).bind(now.0);
        add.bind(seal.link.0.as_slice()).bind(pack_sealed(&seal.runs));
        batch.add(SEAL_RUNS).bind(signed(seal.number)).bind(run_numbers(&rows).map_err(unreadable)?);
    }
    batch.add("COMMIT");
    batch.run(connection).await?;
    Ok(sealed)
}

/// The runs that the rows are of, each once, as JSON.
fn run_numbers(rows: &[Row]) -> Result<String, StoreError> {
    let numbers = rows.iter().map(|row| row.int("run_no")).collect::<Result<BTreeSet<i64>, _>>()?;
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    Ok(format!("[{}]", numbers.join(",")))
}

#[async_trait]
impl AuditLog for SqliteStore {
    async fn rows(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        let read = sqlx::query(AUDIT).bind(run.as_str()).bind(scope_key(scope));
        self.readers.rows("read the audit log of the run", read).await?.iter().map(Row::audit_row).collect()
    }

    async fn rows_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        most: usize,
    ) -> Result<Page<AuditedRun>, StoreError> {
        let [run_no, seq] = List::AuditRows.position(after, [0, 0])?;
        let most = most.clamp(1, DUE_LIMIT_MAX);
        let (sql, which) = match scope {
            AuditScope::All => (AUDIT_AFTER, None),
            AuditScope::Tenant(tenant) => (AUDIT_OF_TENANT, Some(tenant_key(tenant.as_deref()))),
            AuditScope::Run(run) => (AUDIT_OF_RUN, Some(run.as_str().to_owned())),
        };
        let read = sqlx::query(sql).bind(run_no).bind(seq).bind(signed(most));
        let read = if let Some(which) = which { read.bind(which) } else { read };
        let failed = |error| store_error("read the audit log", error);
        // Both in one transaction, so that the page is as it was at one moment.
        let mut moment = self.readers.0.begin().await.map_err(failed)?;
        let rows: Vec<Row> = read.fetch_all(&mut *moment).await.map_err(failed)?.into_iter().map(row).collect();
        let runs = sqlx::query(AUDITED_RUNS).bind(run_numbers(&rows)?).fetch_all(&mut *moment).await.map_err(failed)?;
        moment.commit().await.map_err(failed)?;
        let runs = runs.into_iter().map(row).map(|row| Ok((row.int("run_no")?, row.audited_run()?)));
        let mut runs = runs.collect::<Result<HashMap<i64, AuditedRun>, StoreError>>()?;
        audit_page(&rows, most, |run_no, _| runs.remove(&run_no).ok_or_else(|| corrupt("a run is missing")))
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        if !self.readers.exists(sqlx::query(ANY_TO_SEAL).bind(tenant_key(tenant))).await? {
            return Ok(None);
        }
        self.ask(|answer| Request::Seal(tenant.map(Into::into), answer)).await
    }

    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        let rows = self.readers.rows("look for what is to be sealed", sqlx::query(UNSEALED)).await?;
        rows.iter().map(Row::unsealed).collect()
    }

    async fn seals(&self, tenant: Option<&str>, after: u64, most: usize) -> Result<Vec<Seal>, StoreError> {
        let read = sqlx::query(SEALS).bind(tenant_key(tenant)).bind(signed(after)).bind(limit(most));
        self.readers.rows("read seals", read).await?.iter().map(Row::seal).collect()
    }

    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        let mut asked = JsonRows::default();
        for SealedRun { run, revision, .. } in sealed {
            asked.row().text(run.as_str()).int(revision.0).end();
        }
        let read = Readers::search(TRACES, asked.into_values()).bind(tenant_key(tenant));
        let rows = self.readers.rows("look for sealed runs", read).await?;
        let mut traces = vec![Trace::default(); sealed.len()];
        rows.iter().try_for_each(|row| row.add_to_trace(&mut traces))?;
        Ok(traces)
    }

    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        most: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let read = sqlx::query(TOMBSTONES).bind(tenant_key(tenant)).bind(after.map_or("", RunId::as_str));
        let rows = self.readers.rows("read the tombstones of pruned runs", read.bind(limit(most))).await?;
        rows.iter().map(Row::tombstone).collect()
    }

    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        self.readers.rows("name the tenants", sqlx::query(TENANTS)).await?.iter().map(Row::tenant).collect()
    }
}
