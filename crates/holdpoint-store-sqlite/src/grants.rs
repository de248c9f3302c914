//! What people said about calls that are yet to come.

use holdpoint_core::{Timestamp, ToolName};
use holdpoint_store::{
    GRANTS_MATCHED_MAX, GrantFilter, GrantOpening, GrantRow, List, Page, Revoked, Scope, StoreError, page_size,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite};

use crate::batch::{Batch, StatementNo, Values};
use crate::columns::{Reader, signed_len, tenant_key};
use crate::request::Step;
use crate::rows::Rows;
use crate::run_log::Readers;

/// A name that is there already stays as it is.
pub(crate) const OPEN_GRANTS: &str = "INSERT INTO grants (grant_id, tenant, tool, until, created_at, body) \
     SELECT CAST(substr($2, value->>0, value->>1) AS TEXT), CAST(substr($2, value->>2, value->>3) AS TEXT), \
     CAST(substr($2, value->>4, value->>5) AS TEXT), value->>6, value->>7, substr($2, value->>8, value->>9) \
     FROM json_each($1) WHERE true ON CONFLICT (grant_id) DO NOTHING";
pub(crate) const REVOKE: &str = "UPDATE grants SET revoked_by = $3, revoked_at = $4 \
     WHERE grant_id = $2 AND tenant = $1 AND revoked_at IS NULL RETURNING grant_no";

/// The columns of a [`GrantRow`], for [`read_grant`].
macro_rules! grant_columns {
    () => {
        "grant_no, grant_id, tenant, tool, until, created_at, revoked_by, revoked_at, body"
    };
}

pub(crate) const MATCHING: &str = concat!(
    "SELECT ",
    grant_columns!(),
    " FROM grants INDEXED BY grants_open WHERE tenant = $1 AND tool = $2 AND revoked_at IS NULL \
     AND (until IS NULL OR until > $3) ORDER BY grant_no DESC LIMIT $4"
);

pub(crate) const GRANT: &str =
    concat!("SELECT ", grant_columns!(), " FROM grants WHERE grant_id = $1 AND ($2 IS NULL OR tenant = $2)");

/// Who takes which grant back.
pub(crate) struct Revoking {
    tenant: String,
    id: String,
    by: String,
}

impl Revoking {
    pub(crate) fn new(tenant: Option<&str>, id: &str, by: &str) -> Self {
        Self { tenant: tenant_key(tenant), id: id.to_owned(), by: by.to_owned() }
    }
}

/// Adds the grants of a transition to those that are written.
pub(crate) fn open_grants(rows: &mut Rows, step: &Step) {
    for GrantOpening { id, tool, until, body } in &step.grants {
        rows.row()
            .text(id)
            .text(&tenant_key(step.head.tenant.as_deref()))
            .text(tool.as_str())
            .int_or_null(until.map(|until| until.0))
            .int(step.moment.0)
            .bytes(body)
            .end();
    }
}

/// Adds the statement that takes a grant back. It gives a row if there was one.
pub(crate) fn revoke(batch: &mut Batch, revoking: &Revoking, now: Timestamp) -> StatementNo {
    let Revoking { tenant, id, by } = revoking;
    batch.add(REVOKE, Values::none().text(tenant).text(id).text(by).int(now.0))
}

impl Readers {
    pub(crate) async fn grants_for(
        &self,
        tenant: Option<&str>,
        tool: &ToolName,
        now: Timestamp,
    ) -> Result<Vec<GrantRow>, StoreError> {
        let values = Values::none().text(&tenant_key(tenant)).text(tool.as_str()).int(now.0);
        let rows = self.all(MATCHING, values.int(signed_len(GRANTS_MATCHED_MAX)), "read grants").await?;
        rows.iter().map(|row| Ok(read_grant(row)?.1)).collect()
    }

    pub(crate) async fn grant(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        let tenant = scope.tenant().map(|tenant| tenant_key(Some(tenant)));
        let rows = self.all(GRANT, Values::none().text(id).text_or_null(tenant.as_deref()), "read a grant").await?;
        rows.first().map(|row| Ok(read_grant(row)?.1)).transpose()
    }

    pub(crate) async fn grants(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
        let rows = self.list_rows(grants_query(filter)?, "list grants").await?;
        Page::collect(List::Grants, page_size(filter.limit), rows.iter().map(read_grant))
    }
}

/// One more than the page has, to know whether there is a next one.
pub(crate) fn grants_query(filter: &GrantFilter) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let [from] = List::Grants.position(filter.cursor.as_ref(), [i64::MAX])?;
    let mut query = QueryBuilder::new(concat!("SELECT ", grant_columns!(), " FROM grants WHERE grant_no <= "));
    query.push_bind(from);
    if let Some(tenant) = &filter.tenant {
        query.push(" AND tenant = ").push_bind(tenant_key(Some(tenant)));
    }
    if let Some(tool) = &filter.tool {
        query.push(" AND tool = ").push_bind(tool.as_str().to_owned());
    }
    query.push(" ORDER BY grant_no DESC LIMIT ").push_bind(signed_len(page_size(filter.limit) + 1));
    Ok(query)
}

/// A grant with its number.
fn read_grant(row: &SqliteRow) -> Result<([i64; 1], GrantRow), StoreError> {
    let mut reader = Reader::new(row);
    let number = reader.int()?;
    let (id, tenant, tool) = (reader.text()?, reader.tenant()?, ToolName::new(reader.text()?));
    let (until, created_at) = (reader.int_or_null()?.map(Timestamp), reader.moment()?);
    let (by, at) = (reader.text_or_null()?, reader.int_or_null()?.map(Timestamp));
    let revoked = by.zip(at).map(|(by, at)| Revoked { by, at });
    let body = reader.bytes()?.into();
    Ok(([number], GrantRow { id, tenant, tool, until, created_at, revoked, body }))
}
