//! What runs wait for people to say, and what people said.

use async_trait::async_trait;
use holdpoint_core::CallKey;
use holdpoint_store::rows::{kind_number, question_status_number, signed, tenant_key};
use holdpoint_store::{
    Approvals, DUE_LIMIT_MAX, List, Page, QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq, Scope, StoreError,
    page_size, question_columns,
};
use sqlx::{Postgres, QueryBuilder};

use crate::PostgresStore;
use crate::columns::{Row, scope_key};

const QUESTION: &str = concat!(
    "select ",
    question_columns!(),
    " from holdpoint_runs r join holdpoint_approvals q on q.run_no = r.run_no \
     where r.run_id = $1 and q.turn = $2 and q.call_index = $3 and ($4::text is null or q.tenant = $4)"
);

/// Every transaction below the oldest one still under way has ended: what it changed is visible, and it changes nothing more.
/// All changes of one transaction come together.
macro_rules! changed {
    ($range:literal, $order:literal) => {
        concat!(
            "with known as materialized ( \
                select pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 as last) \
             select c.*, known.last from known left join lateral ( \
                select ",
            question_columns!(),
            " from (select * from holdpoint_approvals where ",
            $range,
            " order by ",
            $order,
            " fetch first ($2) rows with ties) q \
                join holdpoint_runs r on r.run_no = q.run_no order by q.seq, q.asked_no) c on true"
        )
    };
}

pub(crate) const CHANGED: &str = changed!("seq > $1 and seq <= known.last", "seq");
/// Written so that no index but that of the tenant gives the order.
pub(crate) const CHANGED_OF_TENANT: &str =
    changed!("tenant = $3 and (tenant, seq) > ($3, $1) and (tenant, seq) <= ($3, known.last)", "tenant, seq");

#[async_trait]
impl Approvals for PostgresStore {
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        let tenant = scope_key(scope);
        let find = || {
            let find = sqlx::query(QUESTION).bind(key.run.as_str()).bind(i64::from(key.turn.0));
            find.bind(i64::from(key.index.0)).bind(tenant.as_deref())
        };
        self.pool.rows("read a question", find).await?.first().map(Row::question).transpose()
    }

    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        let is_pending = filter.list() == List::PendingQuestions;
        let start = if is_pending { [i64::MIN, 0] } else { [i64::MAX, i64::MAX] };
        let from = filter.list().position(filter.cursor.as_ref(), start)?;
        let rows = self.pool.list("list questions", || list_query(filter, from)).await?;
        let sorted_by = if is_pending { "due" } else { "seq" };
        let read = |row: &Row| Ok(([row.int(sorted_by)?, row.int("asked_no")?], row.question()?));
        Page::collect(filter.list(), page_size(filter.limit), rows.iter().map(read))
    }

    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        most: usize,
    ) -> Result<QuestionChanges, StoreError> {
        let (tenant, most) = (scope_key(scope), most.clamp(1, DUE_LIMIT_MAX));
        // Without a position nothing is read but the end.
        let from = after.map_or(i64::MAX, |after| signed(after.0));
        let changed = || match &tenant {
            Some(tenant) => sqlx::query(CHANGED_OF_TENANT).bind(from).bind(signed(most)).bind(tenant),
            None => sqlx::query(CHANGED).bind(from).bind(signed(most)),
        };
        let rows = self.pool.rows("read changes of questions", changed).await?;
        let last = QuestionSeq(rows.first().map_or(Ok(0), |row| row.number("last"))?);
        // A caller that claims to have seen more than there is comes from another store.
        if after.is_some_and(|after| after > last) {
            return Err(StoreError::InvalidCursor);
        }
        let mut questions = Vec::new();
        for row in &rows {
            // Without changes there is one row of nulls.
            if row.text_or_null("run_id")?.is_some() {
                questions.push(row.question()?);
            }
        }
        let seq = questions.last().filter(|_| questions.len() >= most).map_or(last, |question| question.seq);
        Ok(QuestionChanges { questions, seq })
    }
}

/// One more than the page has, to know whether there is a next one. Only the conditions that are asked for are in it, so that
/// the index that fits is used.
pub(crate) fn list_query(filter: &QuestionFilter, from: [i64; 2]) -> QueryBuilder<Postgres> {
    let is_pending = filter.list() == List::PendingQuestions;
    let (status, [first, second]) = (question_status_number(filter.status), from);
    let mut query = QueryBuilder::new(concat!(
        "select ",
        question_columns!(),
        " from holdpoint_approvals q join holdpoint_runs r on r.run_no = q.run_no where q.status = "
    ));
    query.push(status);
    let order = match (is_pending, &filter.tenant) {
        (true, _) => {
            query.push(" and (q.due, q.asked_no) >= (");
            " order by q.due, q.asked_no"
        }
        // Written so that no index but that of the tenant gives the order.
        (false, Some(_)) => {
            query.push(format_args!(" and q.status > 0 and (q.status, q.seq, q.asked_no) <= ({status}, "));
            " order by q.status desc, q.seq desc, q.asked_no desc"
        }
        (false, None) => {
            query.push(" and (q.seq, q.asked_no) <= (");
            " order by q.seq desc, q.asked_no desc"
        }
    };
    query.push_bind(first).push(", ").push_bind(second).push(")");
    if let Some(tenant) = &filter.tenant {
        query.push(" and q.tenant = ").push_bind(tenant_key(Some(tenant)));
    }
    if let Some(agent) = &filter.agent {
        query.push(" and q.agent = ").push_bind(agent.to_string());
    }
    if let Some(kind) = filter.kind {
        query.push(" and q.kind = ").push_bind(kind_number(kind));
    }
    if let Some(tool) = &filter.tool {
        query.push(" and q.tool = ").push_bind(tool.as_str().to_owned());
    }
    if let Some(run) = &filter.run {
        query.push(" and q.run_no = (select o.run_no from holdpoint_runs o where o.run_id = ");
        query.push_bind(run.as_str().to_owned()).push(")");
    }
    query.push(order).push(" limit ").push_bind(signed(page_size(filter.limit) + 1));
    query
}
