//! What runs wait for people to say, and what people said.

use std::collections::HashSet;

use async_trait::async_trait;
use holdpoint_core::{CallIndex, CallKey, Turn};
use holdpoint_store::rows::{kind_number, page, question_status_number, scope_key, signed};
use holdpoint_store::{
    Approvals, DUE_LIMIT_MAX, List, Page, QuestionChange, QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq,
    Scope, Search, SortedBy, Step, StoreError, question_columns,
};

use crate::SqliteStore;
use crate::batch::Batch;
use crate::columns::Row;
use crate::json_rows::JsonRows;

/// A question that is pending keeps its beginning; one that ended begins anew.
pub(crate) const OPEN: &str = "INSERT INTO approvals (run_no, turn, call_index, agent, tenant, tool, kind, status, deadline, \
     due, asked_at, changed_at, asked_no, seq, body, note) \
     SELECT value->>0, value->>1, value->>2, CAST(substr($2, value->>3, value->>4) AS TEXT), \
     CAST(substr($2, value->>5, value->>6) AS TEXT), CAST(substr($2, value->>7, value->>8) AS TEXT), value->>9, 0, \
     value->>10, ifnull(value->>10, 9223372036854775807), value->>11, value->>11, value->>12, value->>12, \
     substr($2, value->>13, value->>14), x'' FROM json_each($1) WHERE true \
     ON CONFLICT (run_no, turn, call_index) DO UPDATE SET tool = excluded.tool, kind = excluded.kind, status = 0, \
     deadline = excluded.deadline, due = excluded.due, \
     asked_at = iif(status = 0, asked_at, excluded.asked_at), changed_at = excluded.changed_at, \
     asked_no = iif(status = 0, asked_no, excluded.asked_no), seq = excluded.seq, body = excluded.body, note = x''";
pub(crate) const CLOSE: &str = "UPDATE approvals SET status = j.value->>3, changed_at = j.value->>4, seq = j.value->>5, \
     note = substr($2, j.value->>6, j.value->>7) FROM json_each($1) j WHERE approvals.run_no = j.value->>0 \
     AND approvals.turn = j.value->>1 AND approvals.call_index = j.value->>2 AND approvals.status = 0";
pub(crate) const QUESTION: &str = concat!(
    "SELECT ",
    question_columns!(),
    " FROM runs r JOIN approvals q ON q.run_no = r.run_no \
     WHERE r.run_id = $1 AND q.turn = $2 AND q.call_index = $3 AND ($4 IS NULL OR q.tenant = $4)"
);
pub(crate) const LAST_SEQ: &str = "SELECT last FROM tickets WHERE only = 1";

/// The end and what comes before it are read at one moment.
macro_rules! changed {
    ($index:literal, $tenant:literal) => {
        concat!(
            "SELECT ",
            question_columns!(),
            ", (SELECT last FROM tickets WHERE only = 1) AS last FROM approvals q INDEXED BY ",
            $index,
            " CROSS JOIN runs r ON r.run_no = q.run_no WHERE ",
            $tenant,
            "q.seq > $1 ORDER BY q.seq LIMIT $2"
        )
    };
}
pub(crate) const CHANGED: &str = changed!("approvals_changed", "");
pub(crate) const CHANGED_OF_TENANT: &str = changed!("approvals_changed_of_tenant", "q.tenant = $3 AND ");

/// The changes of a group, in an order in which they can be written: of each layer first what is asked, then what ended.
#[derive(Default)]
pub(crate) struct Changes(Vec<Layer>);

#[derive(Default)]
struct Layer {
    opened: JsonRows,
    closed: JsonRows,
    /// The calls whose questions end in this layer: they are asked again only in a later one.
    ended: HashSet<(i64, Turn, CallIndex)>,
}

impl Changes {
    /// Adds the changes of a transition. Each takes a ticket.
    pub(crate) fn add(&mut self, run_no: i64, agent: &str, tenant: &str, step: &Step, last_ticket: &mut i64) {
        for change in &step.questions {
            *last_ticket += 1;
            let (turn, index) = change.place();
            match change {
                QuestionChange::Open(opening) => {
                    let layer = self.layer(|layer| !layer.ended.contains(&(run_no, turn, index)));
                    let row = layer.opened.row().int(run_no).int(turn.0).int(index.0).text(agent).text(tenant);
                    let row = row.text(opening.tool.as_str()).int(kind_number(opening.kind));
                    let row = row.int_or_null(opening.deadline.map(|deadline| deadline.0)).int(step.moment.0);
                    row.int(*last_ticket).bytes(&opening.body).end();
                }
                QuestionChange::Close { how, note, .. } => {
                    let layer = self.layer(|_| true);
                    layer.ended.insert((run_no, turn, index));
                    let row = layer.closed.row().int(run_no).int(turn.0).int(index.0);
                    let row = row.int(question_status_number(how.status())).int(step.moment.0);
                    row.int(*last_ticket).bytes(note).end();
                }
            }
        }
    }

    fn layer(&mut self, fits: impl Fn(&Layer) -> bool) -> &mut Layer {
        if !self.0.last().is_some_and(fits) {
            self.0.push(Layer::default());
        }
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    /// Adds the statements.
    pub(crate) fn write(self, batch: &mut Batch) {
        for Layer { opened, closed, .. } in self.0 {
            batch.add_rows(OPEN, opened);
            batch.add_rows(CLOSE, closed);
        }
    }
}

#[async_trait]
impl Approvals for SqliteStore {
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        let find = sqlx::query(QUESTION).bind(key.run.as_str()).bind(key.turn.0).bind(key.index.0);
        let rows = self.readers.rows("read the question", find.bind(scope_key(scope))).await?;
        rows.first().map(Row::question).transpose()
    }

    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        let rows = self.readers.list("list questions", &search(filter)?).await?;
        let sorted_by = if filter.list() == List::PendingQuestions { "due" } else { "seq" };
        page(filter.list(), filter.limit, &rows, [sorted_by, "asked_no"], Row::question)
    }

    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        most: usize,
    ) -> Result<QuestionChanges, StoreError> {
        const DOING: &str = "read changes of questions";
        let (tenant, most) = (scope_key(scope), most.clamp(1, DUE_LIMIT_MAX));
        let mut rows = Vec::new();
        if let Some(after) = after {
            let sql = if tenant.is_some() { CHANGED_OF_TENANT } else { CHANGED };
            let changed = sqlx::query(sql).bind(signed(after.0)).bind(signed(most));
            let changed = if let Some(tenant) = &tenant { changed.bind(tenant) } else { changed };
            rows = self.readers.rows(DOING, changed).await?;
        }
        let questions = rows.iter().map(Row::question).collect::<Result<Vec<_>, _>>()?;
        let seq = match (rows.last(), questions.last()) {
            (_, Some(last)) if questions.len() == most => last.seq,
            (Some(row), _) => QuestionSeq(row.number("last")?),
            // Nothing was found, so there is nothing to miss up to where the store was before.
            (None, _) => {
                let rows = self.readers.rows(DOING, sqlx::query(LAST_SEQ)).await?;
                let last = QuestionSeq(rows.first().map_or(Ok(0), |row| row.number("last"))?);
                let after = after.unwrap_or(last);
                // A caller that claims to have seen more than there is comes from another store.
                if after > last { return Err(StoreError::InvalidCursor) } else { after }
            }
        };
        Ok(QuestionChanges { questions, seq })
    }
}

pub(crate) fn search(filter: &QuestionFilter) -> Result<Search, StoreError> {
    const SELECT: &str =
        concat!("SELECT ", question_columns!(), " FROM approvals q CROSS JOIN runs r ON r.run_no = q.run_no WHERE ");
    let (position, order) = if filter.list() == List::PendingQuestions {
        ("(q.due, q.asked_no) >= (", "q.due, q.asked_no")
    } else {
        ("q.status > 0 AND (q.seq, q.asked_no) <= (", "q.seq DESC, q.asked_no DESC")
    };
    let by = SortedBy { position: position.to_owned(), order };
    filter.search(SELECT, "SELECT o.run_no FROM runs o WHERE o.run_id = ", &by)
}
