//! Chains the audit rows of a database that was made before there were chains.

use holdpoint_core::{Revision, RunId, Timestamp};
use holdpoint_store::{first_link, next_link};
use sqlx::SqliteConnection;

use crate::batch::{Batch, Values};
use crate::columns::{signed, tenant_of};
use crate::rows::Rows;

/// How many runs or rows are read and written at a time.
const AT_ONCE: i64 = 1_000;

const RUNS: &str = "SELECT run_no, run_id, audit_tenant FROM runs WHERE run_no > $1 ORDER BY run_no LIMIT $2";
const ROWS: &str = "SELECT last_seq, at, audit FROM log WHERE run_no = $1 AND last_seq > $2 AND audit IS NOT NULL \
     ORDER BY last_seq LIMIT $3";
const SET_ROWS: &str = "UPDATE log SET audit_no = j.value->>2, link = substr($2, j.value->>3, j.value->>4) \
     FROM json_each($1) j WHERE log.run_no = j.value->>0 AND log.last_seq = j.value->>1";
const SET_RUNS: &str = "UPDATE runs SET audit_revision = j.value->>1, audit_rows = j.value->>2, \
     audit_link = substr($2, j.value->>3, j.value->>4) FROM json_each($1) j WHERE runs.run_no = j.value->>0";

/// In the transaction of the step that made the columns.
pub(super) async fn chain_all(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let mut after = 0_i64;
    loop {
        let runs: Vec<(i64, String, String)> =
            sqlx::query_as(RUNS).bind(after).bind(AT_ONCE).fetch_all(&mut *connection).await?;
        let Some((last, ..)) = runs.last() else { return Ok(()) };
        after = *last;
        let mut heads = Rows::new();
        for (run_no, run, tenant) in runs {
            chain_run(connection, &mut heads, (run_no, &RunId::new(run), &tenant)).await?;
        }
        set(connection, SET_RUNS, heads).await?;
    }
}

async fn chain_run(
    connection: &mut SqliteConnection,
    heads: &mut Rows,
    (run_no, run, tenant): (i64, &RunId, &str),
) -> Result<(), sqlx::Error> {
    let (mut link, mut last, mut count) = (first_link(run, tenant_of(tenant).as_deref()), 0_i64, 0_u64);
    loop {
        let rows: Vec<(i64, i64, Vec<u8>)> =
            sqlx::query_as(ROWS).bind(run_no).bind(last).bind(AT_ONCE).fetch_all(&mut *connection).await?;
        if rows.is_empty() {
            break;
        }
        let mut links = Rows::new();
        for (revision, at, body) in rows {
            link = next_link(link, Revision(revision.unsigned_abs()), Timestamp(at), &body);
            count += 1;
            last = revision;
            links.row().int(run_no).int(revision).int(signed(count)).bytes(&link.0).end();
        }
        set(connection, SET_ROWS, links).await?;
    }
    heads.row().int(run_no).int(last).int(signed(count)).bytes(&link.0).end();
    Ok(())
}

async fn set(connection: &mut SqliteConnection, sql: &str, rows: Rows) -> Result<(), sqlx::Error> {
    let mut batch = Batch::new();
    batch.add(sql, Values::rows(rows));
    batch.run(connection).await?;
    Ok(())
}
