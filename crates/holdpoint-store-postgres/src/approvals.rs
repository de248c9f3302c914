//! What runs wait for people to say, and what people said.

use holdpoint_core::{CallIndex, CallKey, RunId, Timestamp, ToolName, Turn};
use holdpoint_store::{
    DUE_LIMIT_MAX, Page, QuestionChanges, QuestionFilter, QuestionKind, QuestionRow, QuestionSeq, QuestionStatus,
    Scope, StoreError, packed, page_size,
};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgRow;

use crate::pool::{Pool, corrupt};
use crate::row::{column, limit, moment, number, small, tenant, tenant_key, unsigned};

/// The columns of a question, in the order in which [`question`] reads them.
macro_rules! question_columns {
    () => {
        "r.run_id, q.turn, q.place, q.agent, q.tenant, q.tool, q.kind, q.status, q.deadline, q.asked_at, q.changed_at, \
         q.seq, q.body, q.note"
    };
}
/// Where the columns after those of a question begin.
const AFTER_QUESTION: usize = 14;

const QUESTION: &str = concat!(
    "select ",
    question_columns!(),
    " from holdpoint_runs r join holdpoint_questions q on q.run_no = r.run_no \
     where r.run_id = $1 and q.turn = $2 and q.place = $3 and ($4::text is null or q.tenant = $4)"
);

/// Everything below the oldest transaction that is still under way is there to be seen, and nothing more comes to it. What
/// one transaction changed comes whole.
macro_rules! changed {
    ($range:literal, $order:literal) => {
        concat!(
            "with known as materialized ( \
                select pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 as last) \
             select c.*, known.last from known left join lateral ( \
                select ",
            question_columns!(),
            " from (select * from holdpoint_questions where ",
            $range,
            " order by ",
            $order,
            " fetch first ($2) rows with ties) q \
                join holdpoint_runs r on r.run_no = q.run_no order by q.seq, q.asked_no) c on true"
        )
    };
}

pub(crate) const CHANGED: &str = changed!("seq > $1 and seq <= known.last and ($3::text is null or true)", "seq");
/// Written so that no index but that of the tenant gives the order.
pub(crate) const CHANGED_OF_TENANT: &str =
    changed!("tenant = $3 and (tenant, seq) > ($3, $1) and (tenant, seq) <= ($3, known.last)", "tenant, seq");

pub(crate) fn kind_number(kind: QuestionKind) -> i16 {
    match kind {
        QuestionKind::Permission => 0,
        QuestionKind::Doubt => 1,
        QuestionKind::Input => 2,
    }
}

pub(crate) fn status_number(status: QuestionStatus) -> i16 {
    match status {
        QuestionStatus::Pending => 0,
        QuestionStatus::Answered => 1,
        QuestionStatus::Expired => 2,
        QuestionStatus::Gone => 3,
    }
}

pub(crate) async fn find(pool: &Pool, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
    let tenant = scope.tenant().map(|tenant| tenant_key(Some(tenant)));
    let (turn, place) = (i64::from(key.turn.0), i64::from(key.index.0));
    let rows = pool.rows("read a question", || {
        sqlx::query(QUESTION).bind(key.run.as_str()).bind(turn).bind(place).bind(tenant.as_deref())
    });
    rows.await?.first().map(question).transpose()
}

/// What a list asks for, as text. Only what is asked for is in it, so that the index that fits is used.
pub(crate) fn list_sql(filter: &QuestionFilter) -> String {
    let is_pending = filter.status == QuestionStatus::Pending;
    let status = status_number(filter.status);
    let (sort, range, order) = match (is_pending, &filter.tenant) {
        (true, _) => ("q.due, q.asked_no", "(q.due, q.asked_no) >= ($5, $6)".to_owned(), "q.due, q.asked_no"),
        // Written so that no index but that of the tenant gives the order.
        (false, Some(_)) => (
            "q.seq, q.asked_no",
            format!("q.status > 0 and (q.status, q.seq, q.asked_no) <= ({status}, $5, $6)"),
            "q.status desc, q.seq desc, q.asked_no desc",
        ),
        (false, None) => {
            ("q.seq, q.asked_no", "(q.seq, q.asked_no) <= ($5, $6)".to_owned(), "q.seq desc, q.asked_no desc")
        }
    };
    let conditions = [
        filter.tenant.as_ref().map(|_| "q.tenant = $1"),
        filter.agent.as_ref().map(|_| "q.agent = $2"),
        filter.kind.map(|_| "q.kind = $3"),
        filter.tool.as_ref().map(|_| "q.tool = $8"),
        filter.run.as_ref().map(|_| "q.run_no = (select o.run_no from holdpoint_runs o where o.run_id = $4)"),
    ];
    let conditions: String = conditions.into_iter().flatten().flat_map(|condition| [" and ", condition]).collect();
    // Values that are not asked for are named too: a statement must not have gaps in its numbers.
    format!(
        "select {}, {sort} from holdpoint_questions q join holdpoint_runs r on r.run_no = q.run_no \
         where q.status = {status} and {range}{conditions} and ($1::text is null or true) \
         and ($2::text is null or true) and ($3::smallint is null or true) and ($4::text is null or true) \
         and ($8::text is null or true) order by {order} limit $7",
        question_columns!()
    )
}

pub(crate) async fn list(pool: &Pool, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
    let is_pending = filter.status == QuestionStatus::Pending;
    let start = if is_pending { [i64::MIN, 0] } else { [i64::MAX, i64::MAX] };
    let [first, second] = filter.list().position(filter.cursor.as_ref(), start)?;
    let (size, sql) = (page_size(filter.limit), list_sql(filter));
    let tenant = filter.tenant.as_deref().map(|tenant| tenant_key(Some(tenant)));
    let rows = pool.rows("list questions", || {
        let list = sqlx::query(AssertSqlSafe(sql.clone())).bind(tenant.as_deref()).bind(filter.agent.as_deref());
        let list = list.bind(filter.kind.map(kind_number)).bind(filter.run.as_ref().map(RunId::as_str));
        let list = list.bind(first).bind(second).bind(limit(size + 1));
        list.bind(filter.tool.as_ref().map(ToolName::as_str))
    });
    let read = |row| Ok(([column(row, AFTER_QUESTION)?, column(row, AFTER_QUESTION + 1)?], question(row)?));
    Page::collect(filter.list(), size, rows.await?.iter().map(read))
}

pub(crate) async fn after(
    pool: &Pool,
    scope: &Scope,
    after: Option<QuestionSeq>,
    most: usize,
) -> Result<QuestionChanges, StoreError> {
    let most = most.clamp(1, DUE_LIMIT_MAX);
    // Nothing is after the end of time.
    let from = after.map_or(i64::MAX, |after| number(after.0));
    let tenant = scope.tenant().map(|tenant| tenant_key(Some(tenant)));
    let sql = if tenant.is_some() { CHANGED_OF_TENANT } else { CHANGED };
    let rows = pool
        .rows("read changes of questions", || sqlx::query(sql).bind(from).bind(limit(most)).bind(tenant.as_deref()));
    let rows = rows.await?;
    let mut changes = QuestionChanges::default();
    for row in &rows {
        changes.seq = QuestionSeq(unsigned(column(row, AFTER_QUESTION)?)?);
        if column::<Option<&str>>(row, 0)?.is_some() {
            changes.questions.push(question(row)?);
        }
    }
    if after.is_some_and(|after| after > changes.seq) {
        return Err(StoreError::InvalidCursor);
    }
    if let Some(last) = changes.questions.last().filter(|_| changes.questions.len() >= most) {
        changes.seq = last.seq;
    }
    Ok(changes)
}

fn question(row: &PgRow) -> Result<QuestionRow, StoreError> {
    let key = CallKey {
        run: RunId::new(column::<&str>(row, 0)?),
        turn: Turn(small(column(row, 1)?)?),
        index: CallIndex(small(column(row, 2)?)?),
    };
    let (kind, status) = (column::<i16>(row, 6)?, column::<i16>(row, 7)?);
    let kind = QuestionKind::ALL.into_iter().find(|known| kind_number(*known) == kind);
    let status = QuestionStatus::ALL.into_iter().find(|known| status_number(*known) == status);
    let body = packed::unpack(column(row, 12)?)?.into_iter().next();
    Ok(QuestionRow {
        key,
        agent: column::<&str>(row, 3)?.into(),
        tenant: tenant(row, 4)?,
        tool: ToolName::new(column::<&str>(row, 5)?),
        kind: kind.ok_or_else(|| corrupt("a kind of question is unknown"))?,
        status: status.ok_or_else(|| corrupt("a status is unknown"))?,
        deadline: moment(row, 8)?,
        asked_at: Timestamp(column(row, 9)?),
        changed_at: Timestamp(column(row, 10)?),
        seq: QuestionSeq(unsigned(column(row, 11)?)?),
        body: body.ok_or_else(|| corrupt("a question has no body"))?,
        note: column::<&[u8]>(row, 13)?.into(),
    })
}
