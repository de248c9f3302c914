//! What runs wait for people to say, and what people said.

use std::collections::HashSet;

use holdpoint_core::{CallIndex, CallKey, RunId, Timestamp, ToolName, Turn};
use holdpoint_store::{
    DUE_LIMIT_MAX, Page, QuestionChange, QuestionChanges, QuestionEnd, QuestionFilter, QuestionKind, QuestionOpening,
    QuestionRow, QuestionSeq, QuestionStatus, Scope, StoreError, page_size,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite};

use crate::batch::{Batch, Values};
use crate::columns::{Reader, signed, signed_len, tenant_key, unpack_one};
use crate::fault::corrupt;
use crate::request::Step;
use crate::rows::Rows;
use crate::run_log::Readers;

/// A question that is pending keeps its beginning; one that ended begins anew.
pub(crate) const OPEN_QUESTIONS: &str = "INSERT INTO questions (run_no, turn, idx, agent, tenant, tool, kind, status, deadline, \
     due, asked_at, changed_at, asked_no, seq, body, note) \
     SELECT value->>0, value->>1, value->>2, CAST(substr($2, value->>3, value->>4) AS TEXT), \
     CAST(substr($2, value->>5, value->>6) AS TEXT), CAST(substr($2, value->>7, value->>8) AS TEXT), value->>9, 0, \
     value->>10, ifnull(value->>10, 9223372036854775807), value->>11, value->>11, value->>12, value->>12, \
     substr($2, value->>13, value->>14), x'' FROM json_each($1) WHERE true \
     ON CONFLICT (run_no, turn, idx) DO UPDATE SET agent = excluded.agent, tenant = excluded.tenant, \
     tool = excluded.tool, kind = excluded.kind, status = 0, deadline = excluded.deadline, due = excluded.due, \
     asked_at = iif(status = 0, asked_at, excluded.asked_at), changed_at = excluded.changed_at, \
     asked_no = iif(status = 0, asked_no, excluded.asked_no), seq = excluded.seq, body = excluded.body, note = x''";
pub(crate) const CLOSE_QUESTIONS: &str = "UPDATE questions SET status = j.value->>3, changed_at = j.value->>4, \
     seq = j.value->>5, note = substr($2, j.value->>6, j.value->>7) FROM json_each($1) j \
     WHERE questions.run_no = j.value->>0 AND questions.turn = j.value->>1 AND questions.idx = j.value->>2 AND questions.status = 0";

/// The columns of a [`QuestionRow`] of `questions q` and `runs r`, for [`read_question`].
macro_rules! question_columns {
    () => {
        "r.run_id, q.turn, q.idx, q.agent, q.tenant, q.tool, q.kind, q.status, q.deadline, q.asked_at, q.changed_at, \
         q.seq, q.body, q.note"
    };
}

pub(crate) const QUESTION: &str = concat!(
    "SELECT ",
    question_columns!(),
    " FROM runs r JOIN questions q ON q.run_no = r.run_no \
     WHERE r.run_id = $1 AND q.turn = $2 AND q.idx = $3 AND ($4 IS NULL OR q.tenant = $4)"
);
pub(crate) const LAST_SEQ: &str = "SELECT last FROM tickets WHERE only = 1";
/// The end and what comes before it are read at one moment.
pub(crate) const CHANGED: &str = concat!(
    "SELECT ",
    question_columns!(),
    ", (SELECT last FROM tickets WHERE only = 1) FROM questions q INDEXED BY questions_changed \
     CROSS JOIN runs r ON r.run_no = q.run_no WHERE q.seq > $1 ORDER BY q.seq LIMIT $2"
);
pub(crate) const CHANGED_OF_TENANT: &str = concat!(
    "SELECT ",
    question_columns!(),
    ", (SELECT last FROM tickets WHERE only = 1) FROM questions q INDEXED BY questions_changed_of_tenant \
     CROSS JOIN runs r ON r.run_no = q.run_no WHERE q.tenant = $3 AND q.seq > $1 ORDER BY q.seq LIMIT $2"
);

/// The changes of a group, in an order in which they can be written: of each layer first what is asked, then what ended.
#[derive(Default)]
pub(crate) struct Written {
    layers: Vec<Layer>,
}

struct Layer {
    opened: Rows,
    closed: Rows,
    /// The calls whose questions end in this layer: they are asked again only in a later one.
    ended: HashSet<(i64, Turn, CallIndex)>,
}

impl Layer {
    fn new() -> Self {
        Self { opened: Rows::new(), closed: Rows::new(), ended: HashSet::new() }
    }
}

impl Written {
    /// Adds the changes of a transition. Each takes a ticket.
    pub(crate) fn add(&mut self, run_no: i64, step: &Step, last_ticket: &mut i64) {
        for change in &step.questions {
            *last_ticket += 1;
            let (turn, index) = change.place();
            let call = (run_no, turn, index);
            match change {
                QuestionChange::Open(opening) => {
                    let layer = self.layer(|layer| !layer.ended.contains(&call));
                    open_row(&mut layer.opened, (run_no, *last_ticket), (opening, step));
                }
                QuestionChange::Close { how, note, .. } => {
                    let layer = self.layer(|_| true);
                    layer.ended.insert(call);
                    let row = layer.closed.row().int(run_no).int(turn.0.into()).int(index.0.into());
                    row.int(end_number(*how)).int(step.moment.0).int(*last_ticket).bytes(note).end();
                }
            }
        }
    }

    fn layer(&mut self, fits: impl Fn(&Layer) -> bool) -> &mut Layer {
        if !self.layers.last().is_some_and(fits) {
            self.layers.push(Layer::new());
        }
        let last = self.layers.len() - 1;
        &mut self.layers[last]
    }

    /// Adds the statements.
    pub(crate) fn write(self, batch: &mut Batch) {
        for Layer { opened, closed, .. } in self.layers {
            if !opened.is_empty() {
                batch.add(OPEN_QUESTIONS, Values::rows(opened));
            }
            if !closed.is_empty() {
                batch.add(CLOSE_QUESTIONS, Values::rows(closed));
            }
        }
    }
}

fn open_row(rows: &mut Rows, (run_no, ticket): (i64, i64), (opening, step): (&QuestionOpening, &Step)) {
    let QuestionOpening { turn, index, tool, kind, deadline, body } = opening;
    rows.row()
        .int(run_no)
        .int(turn.0.into())
        .int(index.0.into())
        .text(step.head.agent.as_deref().unwrap_or_default())
        .text(&tenant_key(step.head.tenant.as_deref()))
        .text(tool.as_str())
        .int(kind_number(*kind))
        .int_or_null(deadline.map(|deadline| deadline.0))
        .int(step.moment.0)
        .int(ticket)
        .bytes(body)
        .end();
}

pub(crate) fn kind_number(kind: QuestionKind) -> i64 {
    match kind {
        QuestionKind::Permission => 0,
        QuestionKind::Doubt => 1,
        QuestionKind::Input => 2,
    }
}

fn end_number(how: QuestionEnd) -> i64 {
    status_number(how.status())
}

fn status_number(status: QuestionStatus) -> i64 {
    match status {
        QuestionStatus::Pending => 0,
        QuestionStatus::Answered => 1,
        QuestionStatus::Expired => 2,
        QuestionStatus::Gone => 3,
    }
}

impl Readers {
    pub(crate) async fn question(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        let tenant = scope.tenant().map(|tenant| tenant_key(Some(tenant)));
        let values = Values::none().text(key.run.as_str()).int(key.turn.0.into()).int(key.index.0.into());
        let rows = self.all(QUESTION, values.text_or_null(tenant.as_deref()), "read the question").await?;
        rows.first().map(|row| read_question(&mut Reader::new(row))).transpose()
    }

    pub(crate) async fn questions(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        let rows = self.list_rows(questions_query(filter)?, "list questions").await?;
        let read = |row| {
            let mut reader = Reader::new(row);
            Ok(([reader.int()?, reader.int()?], read_question(&mut reader)?))
        };
        Page::collect(filter.list(), page_size(filter.limit), rows.iter().map(read))
    }

    pub(crate) async fn questions_after(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError> {
        const DOING: &str = "read changes of questions";
        let last = |rows: &[SqliteRow]| rows.first().map(|row| Reader::new(row).big()).transpose();
        let Some(after) = after else {
            let rows = self.all(LAST_SEQ, Values::none(), DOING).await?;
            return Ok(QuestionChanges { questions: Vec::new(), seq: QuestionSeq(last(&rows)?.unwrap_or_default()) });
        };
        let limit = limit.clamp(1, DUE_LIMIT_MAX);
        let values = Values::none().int(signed(after.0)).int(signed_len(limit));
        let rows = match scope {
            Scope::All => self.all(CHANGED, values, DOING).await?,
            Scope::Tenant(tenant) => self.all(CHANGED_OF_TENANT, values.text(&tenant_key(Some(tenant))), DOING).await?,
        };
        let (mut questions, mut end) = (Vec::with_capacity(rows.len()), None);
        for row in &rows {
            let mut reader = Reader::new(row);
            questions.push(read_question(&mut reader)?);
            end = Some(QuestionSeq(reader.big()?));
        }
        let seq = match (questions.last(), end) {
            (Some(row), _) if questions.len() == limit => row.seq,
            (_, Some(end)) => end,
            // Nothing was found, so there is nothing to miss up to where the store was before.
            (_, None) => self.seq_at_least(after).await?,
        };
        Ok(QuestionChanges { questions, seq })
    }

    /// Whoever claims to have seen more than there is comes from elsewhere.
    async fn seq_at_least(&self, after: QuestionSeq) -> Result<QuestionSeq, StoreError> {
        let rows = self.all(LAST_SEQ, Values::none(), "read changes of questions").await?;
        let last = rows.first().map(|row| Reader::new(row).big()).transpose()?.unwrap_or_default();
        if after.0 > last { Err(StoreError::InvalidCursor) } else { Ok(after) }
    }
}

/// One more than the page has, to know whether there is a next one, each with the two numbers that it is sorted by.
pub(crate) fn questions_query(filter: &QuestionFilter) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let is_pending = filter.status == QuestionStatus::Pending;
    let start = if is_pending { [i64::MIN, 0] } else { [i64::MAX, i64::MAX] };
    let [first, second] = filter.list().position(filter.cursor.as_ref(), start)?;
    let sort = if is_pending { "q.due, q.asked_no, " } else { "q.seq, q.asked_no, " };
    let mut query = QueryBuilder::new("SELECT ");
    query.push(sort).push(concat!(question_columns!(), " FROM questions q CROSS JOIN runs r ON r.run_no = q.run_no"));
    // Written out, so that SQLite sees which index is good for it.
    query.push(format_args!(" WHERE q.status = {}", status_number(filter.status)));
    if !is_pending {
        query.push(" AND q.status > 0");
    }
    if let Some(tenant) = &filter.tenant {
        query.push(" AND q.tenant = ").push_bind(tenant_key(Some(tenant)));
    }
    if let Some(kind) = filter.kind {
        query.push(" AND q.kind = ").push_bind(kind_number(kind));
    }
    if let Some(tool) = &filter.tool {
        query.push(" AND q.tool = ").push_bind(tool.as_str().to_owned());
    }
    if let Some(agent) = &filter.agent {
        query.push(" AND q.agent = ").push_bind(agent.to_string());
    }
    if let Some(run) = &filter.run {
        query.push(" AND q.run_no = (SELECT o.run_no FROM runs o WHERE o.run_id = ");
        query.push_bind(run.as_str().to_owned()).push(")");
    }
    query.push(if is_pending { " AND (q.due, q.asked_no) >= (" } else { " AND (q.seq, q.asked_no) <= (" });
    query.push_bind(first).push(", ").push_bind(second).push(")");
    query.push(if is_pending { " ORDER BY q.due, q.asked_no" } else { " ORDER BY q.seq DESC, q.asked_no DESC" });
    query.push(" LIMIT ").push_bind(signed_len(page_size(filter.limit) + 1));
    Ok(query)
}

fn read_question(reader: &mut Reader<'_>) -> Result<QuestionRow, StoreError> {
    let key =
        CallKey { run: RunId::new(reader.text()?), turn: Turn(reader.small()?), index: CallIndex(reader.small()?) };
    let (agent, tenant, tool) = (reader.text()?, reader.tenant()?, ToolName::new(reader.text()?));
    let (kind, status) = (reader.int()?, reader.int()?);
    let kind = QuestionKind::ALL.into_iter().find(|known| kind_number(*known) == kind);
    let status = QuestionStatus::ALL.into_iter().find(|known| status_number(*known) == status);
    Ok(QuestionRow {
        key,
        agent,
        tenant,
        tool,
        kind: kind.ok_or_else(|| corrupt("a kind of question is unknown"))?,
        status: status.ok_or_else(|| corrupt("a status is unknown"))?,
        deadline: reader.int_or_null()?.map(Timestamp),
        asked_at: reader.moment()?,
        changed_at: reader.moment()?,
        seq: QuestionSeq(reader.big()?),
        body: unpack_one(reader.bytes()?)?,
        note: reader.bytes()?.into(),
    })
}
