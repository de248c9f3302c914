//! What runs wait for people to say, and what people said.

use async_trait::async_trait;
use holdpoint_core::CallKey;
use holdpoint_store::rows::{page, question_status_number, scope_key, signed};
use holdpoint_store::{
    Approvals, DUE_LIMIT_MAX, List, Page, QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq, Scope, Search,
    SortedBy, StoreError, question_columns,
};

use crate::PostgresStore;
use crate::columns::Row;

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
        let rows = self.pool.list("list questions", &search(filter)?).await?;
        let sorted_by = if filter.list() == List::PendingQuestions { "due" } else { "seq" };
        page(filter.list(), filter.limit, &rows, [sorted_by, "asked_no"], Row::question)
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

pub(crate) fn search(filter: &QuestionFilter) -> Result<Search, StoreError> {
    const SELECT: &str = concat!(
        "select ",
        question_columns!(),
        " from holdpoint_approvals q join holdpoint_runs r on r.run_no = q.run_no where "
    );
    let status = question_status_number(filter.status);
    let (position, order) = match (filter.list() == List::PendingQuestions, &filter.tenant) {
        (true, _) => ("(q.due, q.asked_no) >= (".to_owned(), "q.due, q.asked_no"),
        // Written so that no index but that of the tenant gives the order.
        (false, Some(_)) => (
            format!("q.status > 0 and (q.status, q.seq, q.asked_no) <= ({status}, "),
            "q.status desc, q.seq desc, q.asked_no desc",
        ),
        (false, None) => ("(q.seq, q.asked_no) <= (".to_owned(), "q.seq desc, q.asked_no desc"),
    };
    let by = SortedBy { position, order };
    filter.search(SELECT, "select o.run_no from holdpoint_runs o where o.run_id = ", &by)
}
