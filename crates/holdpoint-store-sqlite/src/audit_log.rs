//! The audit log of all runs: heads of chains, seals over them, and what is left of runs that were pruned.

use std::collections::HashMap;
use std::sync::Arc;

use holdpoint_core::{Revision, RunId, Timestamp};
use holdpoint_store::audit::{pack_sealed, unpack_sealed};
use holdpoint_store::{
    AuditRow, AuditScope, AuditedRun, Cursor, DUE_LIMIT_MAX, Link, List, Page, Seal, SealedRun, StoreError, Tombstone,
    Trace, Unsealed,
};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use crate::batch::{Batch, Values};
use crate::columns::{Reader, signed, signed_len, tenant_key};
use crate::fault::store_error;
use crate::rows::Rows;
use crate::run_log::{Readers, exists};

pub(crate) const ANY_TO_SEAL: &str = "SELECT EXISTS (SELECT 1 FROM runs INDEXED BY runs_to_seal \
     WHERE audit_tenant = $1 AND audit_revision > sealed_revision)";
pub(crate) const TO_SEAL: &str = "SELECT run_no, run_id, audit_revision, audit_link FROM runs INDEXED BY runs_to_seal \
     WHERE audit_tenant = $1 AND audit_revision > sealed_revision ORDER BY run_no LIMIT $2";
pub(crate) const LAST_SEAL: &str = "SELECT number, link FROM seals WHERE tenant = $1 ORDER BY number DESC LIMIT 1";
pub(crate) const ADD_SEAL: &str = "INSERT INTO seals (tenant, number, at, link, runs) VALUES ($1, $2, $3, $4, $5)";
pub(crate) const SEAL_RUNS: &str = "UPDATE runs SET sealed_revision = audit_revision, seal_no = $1 \
     WHERE run_no IN (SELECT value FROM json_each($2))";
pub(crate) const SEALS: &str =
    "SELECT tenant, number, at, link, runs FROM seals WHERE tenant = $1 AND number > $2 ORDER BY number LIMIT $3";
pub(crate) const HEADS: &str = "SELECT run_id, audit_revision, audit_link FROM runs INDEXED BY runs_audited \
     WHERE audit_tenant = $1 AND run_id > $2 AND audit_rows > 0 ORDER BY run_id LIMIT $3";
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
pub(crate) const AUDIT_OF_TENANT: &str = audit_after!("runs r NOT INDEXED", " AND r.audit_tenant = $4");
pub(crate) const AUDIT_OF_RUN: &str = audit_after!("runs r", " AND r.run_id = $4");
/// The runs of a page, apart from its rows: what is in each of a million rows is copied a million times.
pub(crate) const AUDITED_RUNS: &str = "SELECT run_no, run_id, audit_tenant, audit_revision, audit_rows, audit_link, \
     sealed_revision, seal_no FROM runs WHERE run_no IN (SELECT value FROM json_each($1))";
/// From one tenant to the next, so that it takes as long as there are such tenants.
pub(crate) const UNSEALED: &str = "WITH RECURSIVE moved (tenant) AS (\
     SELECT min(audit_tenant) FROM runs INDEXED BY runs_to_seal WHERE audit_revision > sealed_revision UNION ALL \
     SELECT (SELECT min(r.audit_tenant) FROM runs r INDEXED BY runs_to_seal \
     WHERE r.audit_revision > r.sealed_revision AND r.audit_tenant > m.tenant) \
     FROM moved m WHERE m.tenant IS NOT NULL) \
     SELECT m.tenant, (SELECT s.at FROM seals s WHERE s.tenant = m.tenant ORDER BY s.number DESC LIMIT 1) \
     FROM moved m WHERE m.tenant IS NOT NULL";
/// Both in one statement, so that no run goes in between.
pub(crate) const TRACES: &str = "SELECT j.key, r.run_no, l.link, r.sealed_revision, r.seal_no, NULL, NULL, NULL, NULL, NULL, NULL \
     FROM json_each($1) j \
     CROSS JOIN runs r ON r.audit_tenant = $3 AND r.run_id = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     LEFT JOIN log l ON l.run_no = r.run_no AND l.last_seq = j.value->>2 AND l.audit IS NOT NULL \
     UNION ALL SELECT j.key, NULL, NULL, NULL, NULL, t.tenant, t.run_id, t.revision, t.link, t.seal, t.at FROM json_each($1) j \
     CROSS JOIN tombstones t ON t.tenant = $3 AND t.run_id = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT)";
pub(crate) const TOMBSTONES: &str = "SELECT tenant, run_id, revision, link, seal, at FROM tombstones \
     WHERE tenant = $1 AND run_id IN (SELECT DISTINCT run_id FROM tombstones \
     WHERE tenant = $1 AND run_id > $2 ORDER BY run_id LIMIT $3) ORDER BY run_id, at, link";
/// From one tenant to the next, so that it takes as long as there are tenants.
pub(crate) const TENANTS: &str = "WITH RECURSIVE tenants (tenant) AS (\
     SELECT min(tenant) FROM (SELECT min(audit_tenant) AS tenant FROM runs UNION ALL SELECT min(tenant) FROM seals \
     UNION ALL SELECT min(tenant) FROM tombstones) UNION ALL \
     SELECT (SELECT min(tenant) FROM (SELECT min(r.audit_tenant) AS tenant FROM runs r WHERE r.audit_tenant > t.tenant \
     UNION ALL SELECT min(s.tenant) FROM seals s WHERE s.tenant > t.tenant \
     UNION ALL SELECT min(b.tenant) FROM tombstones b WHERE b.tenant > t.tenant)) \
     FROM tenants t WHERE t.tenant IS NOT NULL) SELECT tenant FROM tenants WHERE tenant IS NOT NULL";

/// The seal before: its number and its link.
type Before = Option<(u64, Link)>;

/// Seals what moved. Nobody else writes meanwhile.
pub(crate) async fn seal(
    connection: &mut SqliteConnection,
    tenant: Option<&str>,
    now: Timestamp,
) -> Result<Option<Seal>, sqlx::Error> {
    let key = tenant_key(tenant);
    let mut look = Batch::new();
    look.add("BEGIN IMMEDIATE", Values::none());
    let last = look.add(LAST_SEAL, Values::none().text(&key));
    let moved = look.add(TO_SEAL, Values::none().text(&key).int(signed_len(DUE_LIMIT_MAX)));
    let mut given = look.run(connection).await?;
    let unreadable = |error: StoreError| sqlx::Error::Decode(Box::new(error));
    let before = read_last(&given.take(last)).map_err(unreadable)?;
    let moved = read_moved(&given.take(moved)).map_err(unreadable)?;

    let mut batch = Batch::new();
    let mut sealed = None;
    if !moved.is_empty() {
        let numbers: Vec<String> = moved.iter().map(|(run_no, _)| run_no.to_string()).collect();
        let seal = Seal::after(before, tenant, now, moved.into_iter().map(|(_, run)| run).collect());
        let values = Values::none().text(&key).int(signed(seal.number)).int(now.0).bytes(&seal.link.0);
        batch.add(ADD_SEAL, values.bytes(&pack_sealed(&seal.runs)));
        batch.add(SEAL_RUNS, Values::none().int(signed(seal.number)).text(&format!("[{}]", numbers.join(","))));
        sealed = Some(seal);
    }
    batch.add("COMMIT", Values::none());
    batch.run(connection).await?;
    Ok(sealed)
}

fn read_last(rows: &[SqliteRow]) -> Result<Before, StoreError> {
    let read = |row| {
        let mut reader = Reader::new(row);
        Ok((reader.big()?, reader.link()?))
    };
    rows.first().map(read).transpose()
}

/// The runs with their numbers.
fn read_moved(rows: &[SqliteRow]) -> Result<Vec<(i64, SealedRun)>, StoreError> {
    let read = |row| {
        let mut reader = Reader::new(row);
        Ok((reader.int()?, read_sealed(&mut reader)?))
    };
    rows.iter().map(read).collect()
}

fn read_sealed(reader: &mut Reader<'_>) -> Result<SealedRun, StoreError> {
    Ok(SealedRun { run: RunId::new(reader.text()?), revision: Revision(reader.big()?), link: reader.link()? })
}

fn read_tombstone(reader: &mut Reader<'_>) -> Result<Tombstone, StoreError> {
    let tenant = reader.tenant()?;
    Ok(Tombstone { tenant, run: read_sealed(reader)?, seal: reader.big()?, at: reader.moment()? })
}

impl Readers {
    pub(crate) async fn any_to_seal(&self, tenant: Option<&str>) -> Result<bool, StoreError> {
        exists(self, ANY_TO_SEAL, Values::none().text(&tenant_key(tenant))).await
    }

    pub(crate) async fn audit_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<AuditedRun>, StoreError> {
        let [run_no, seq] = List::AuditRows.position(after, [0, 0])?;
        let limit = limit.clamp(1, DUE_LIMIT_MAX);
        let values = Values::none().int(run_no).int(seq).int(signed_len(limit));
        let (sql, values) = match scope {
            AuditScope::All => (AUDIT_AFTER, values),
            AuditScope::Tenant(tenant) => (AUDIT_OF_TENANT, values.text(&tenant_key(tenant.as_deref()))),
            AuditScope::Run(run) => (AUDIT_OF_RUN, values.text(run.as_str())),
        };
        let failed = |error| store_error("read the audit log", error);
        // Both in one transaction, so that the page is as it was at one moment.
        let mut moment = self.0.begin().await.map_err(failed)?;
        let values = values.into_arguments().map_err(failed)?;
        let rows = sqlx::query_with(sql, values).fetch_all(&mut *moment).await.map_err(failed)?;
        let numbers = Values::none().text(&run_numbers(&rows)?).into_arguments().map_err(failed)?;
        let runs = sqlx::query_with(AUDITED_RUNS, numbers).fetch_all(&mut *moment).await.map_err(failed)?;
        moment.commit().await.map_err(failed)?;
        read_page(&rows, &runs, limit)
    }

    pub(crate) async fn audit_heads(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<SealedRun>, StoreError> {
        let values = Values::none().text(&tenant_key(tenant)).text(after.map_or("", RunId::as_str));
        let values = values.int(signed_len(limit.min(DUE_LIMIT_MAX)));
        let rows = self.all(HEADS, values, "read the heads of audit logs").await?;
        rows.iter().map(|row| read_sealed(&mut Reader::new(row))).collect()
    }

    pub(crate) async fn seals(&self, tenant: Option<&str>, after: u64, limit: usize) -> Result<Vec<Seal>, StoreError> {
        let values = Values::none().text(&tenant_key(tenant)).int(signed(after));
        let rows = self.all(SEALS, values.int(signed_len(limit.min(DUE_LIMIT_MAX))), "read seals").await?;
        let read = |row| {
            let mut reader = Reader::new(row);
            let (tenant, number, at) = (reader.tenant()?, reader.big()?, reader.moment()?);
            let link = reader.link()?;
            // Runs that cannot be read are none, and then the link is not right.
            Ok(Seal { tenant, number, at, link, runs: unpack_sealed(reader.bytes()?).unwrap_or_default() })
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        let rows = self.all(UNSEALED, Values::none(), "look for what is to be sealed").await?;
        let read = |row| {
            let mut reader = Reader::new(row);
            Ok(Unsealed { tenant: reader.tenant()?, sealed_at: reader.int_or_null()?.map(Timestamp) })
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        let mut asked = Rows::new();
        for SealedRun { run, revision, .. } in sealed {
            asked.row().text(run.as_str()).int(signed(revision.0)).end();
        }
        let values = Values::rows(asked).text(&tenant_key(tenant));
        let mut traces = vec![Trace::default(); sealed.len()];
        for row in &self.all(TRACES, values, "look for sealed runs").await? {
            read_trace(row, &mut traces)?;
        }
        Ok(traces)
    }

    pub(crate) async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let values = Values::none().text(&tenant_key(tenant)).text(after.map_or("", RunId::as_str));
        let values = values.int(signed_len(limit.min(DUE_LIMIT_MAX)));
        let rows = self.all(TOMBSTONES, values, "read what is left of pruned runs").await?;
        rows.iter().map(|row| read_tombstone(&mut Reader::new(row))).collect()
    }

    pub(crate) async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        let rows = self.all(TENANTS, Values::none(), "name the tenants").await?;
        rows.iter().map(|row| Reader::new(row).tenant()).collect()
    }
}

/// The runs that the rows are of, each once, as JSON.
fn run_numbers(rows: &[SqliteRow]) -> Result<String, StoreError> {
    let mut numbers = rows.iter().map(|row| Reader::new(row).int()).collect::<Result<Vec<i64>, _>>()?;
    numbers.dedup();
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    Ok(format!("[{}]", numbers.join(",")))
}

fn read_page(rows: &[SqliteRow], runs: &[SqliteRow], limit: usize) -> Result<Page<AuditedRun>, StoreError> {
    let mut audited = runs.iter().map(read_run).collect::<Result<HashMap<i64, AuditedRun>, _>>()?;
    let (mut page, mut next) = (Page::default(), [0, 0]);
    for row in rows {
        let mut reader = Reader::new(row);
        let run_no = reader.int()?;
        page.items.extend(audited.remove(&run_no));
        let Some(revision) = reader.int_or_null()? else {
            next = [run_no.saturating_add(1), 0];
            continue;
        };
        next = [run_no, revision];
        let place = reader.int_or_null()?.unwrap_or_default().unsigned_abs();
        let (at, link, body) = (reader.moment()?, reader.link()?, reader.bytes()?.into());
        if let Some(run) = page.items.last_mut() {
            run.rows.push((place, AuditRow { revision: Revision(revision.unsigned_abs()), at, body, link }));
        }
    }
    page.next = (rows.len() == limit).then(|| List::AuditRows.cursor(next));
    Ok(page)
}

/// A run with its number.
fn read_run(row: &SqliteRow) -> Result<(i64, AuditedRun), StoreError> {
    let mut reader = Reader::new(row);
    let run_no = reader.int()?;
    let (run, tenant) = (RunId::new(reader.text()?), reader.tenant()?);
    let (revision, count) = (Revision(reader.big()?), reader.big()?);
    let head = SealedRun { run, revision, link: reader.link()? };
    let (sealed, seal) = (Revision(reader.big()?), reader.big()?);
    Ok((run_no, AuditedRun { head, tenant, count, sealed, seal, rows: Vec::new() }))
}

fn read_trace(row: &SqliteRow, traces: &mut [Trace]) -> Result<(), StoreError> {
    let mut reader = Reader::new(row);
    let Some(trace) = traces.get_mut(reader.small()? as usize) else { return Ok(()) };
    if reader.int_or_null()?.is_some() {
        trace.is_there = true;
        trace.link = reader.bytes_or_null()?.map(Link::stored);
        (trace.sealed, trace.seal) = (Revision(reader.big()?), reader.big()?);
    } else {
        reader.skip(3);
        trace.tombstones.push(read_tombstone(&mut reader)?);
    }
    Ok(())
}
