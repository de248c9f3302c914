//! Lists as statements. The conditions of a filter are the same in every database; its tables and the order of their indexes
//! are the database's own.

use holdpoint_core::{RunId, ToolName};

use crate::rows::{kind_number, question_status_number, signed, stage_number, status_number, tenant_key};
use crate::{
    Cursor, GrantFilter, List, QuestionFilter, QuestionStatus, RunFilter, SessionFilter, StoreError, TaskFilter,
    is_paused, page_size,
};

/// A statement whose text depends on a filter, with its values for `$1`, `$2` and so on.
#[derive(Clone, Debug)]
pub struct Search {
    /// The text. Holds nothing that a caller wrote.
    pub sql: String,
    /// The values of its parameters.
    pub values: Vec<Value>,
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer.
    Int(i64),
    /// A text.
    Text(String),
}

/// How a database finds and sorts the questions of a list.
#[derive(Clone, Debug)]
pub struct SortedBy {
    /// A condition that two numbers of the position complete, as in `(due, asked_no) >= (`.
    pub position: String,
    /// As in `due, asked_no`.
    pub order: &'static str,
}

impl Search {
    fn new(select: &str) -> Self {
        Self { sql: select.to_owned(), values: Vec::new() }
    }

    fn push(mut self, sql: &str) -> Self {
        self.sql.push_str(sql);
        self
    }

    fn bind(mut self, sql: &str, value: Value) -> Self {
        self.values.push(value);
        self.sql += &format!("{sql}${}", self.values.len());
        self
    }

    /// Adds a condition that compares with a text, if there is one.
    fn and(self, condition: &str, text: Option<impl Into<String>>) -> Self {
        match text {
            Some(text) => self.bind(&format!(" and {condition}"), Value::Text(text.into())),
            None => self,
        }
    }

    /// Adds a condition with a number that is written out, so that a database sees which partial index covers it.
    fn and_number(self, condition: &str, number: Option<i16>) -> Self {
        match number {
            Some(number) => self.push(&format!(" and {condition}{number}")),
            None => self,
        }
    }

    /// One more than the page has, to know whether there is a next one.
    fn sorted(self, order: &str, limit: Option<usize>) -> Self {
        let limit = Value::Int(signed(page_size(limit) + 1));
        self.bind(&format!(" order by {order} limit "), limit)
    }
}

/// The first number of a list that is sorted by one. `start` without a cursor.
fn first(list: List, cursor: Option<&Cursor>, start: i64) -> Result<Value, StoreError> {
    list.position(cursor, [start]).map(|[first]| Value::Int(first))
}

fn key(tenant: Option<&str>) -> Option<String> {
    tenant.map(|tenant| tenant_key(Some(tenant)))
}

impl RunFilter {
    /// `select` ends before a condition on `runs r`.
    ///
    /// # Errors
    /// [`StoreError::InvalidCursor`].
    pub fn search(&self, select: &str) -> Result<Search, StoreError> {
        let from = first(List::Runs, self.cursor.as_ref(), i64::MAX)?;
        let paused = self.status.filter(|status| is_paused(*status));
        let search = Search::new(select).bind("r.run_no <= ", from);
        let search = search.and_number("r.status = ", self.status.map(status_number));
        let search = search.push(paused.map_or("", |_| " and r.status in (1, 2)"));
        let search = search.and("r.agent = ", self.agent.as_deref());
        let search = search.and("r.tenant > '' and r.tenant = ", key(self.tenant.as_deref()));
        Ok(search.and("r.session = ", self.session.as_deref()).sorted("r.run_no desc", self.limit))
    }
}

impl SessionFilter {
    /// `select` ends before a condition on `runs r`, the last run of each session.
    ///
    /// # Errors
    /// [`StoreError::InvalidCursor`].
    pub fn search(&self, select: &str) -> Result<Search, StoreError> {
        let search = Search::new(select).bind("r.run_no <= ", first(List::Sessions, self.cursor.as_ref(), i64::MAX)?);
        Ok(search.and("r.tenant = ", key(self.tenant.as_deref())).sorted("r.run_no desc", self.limit))
    }
}

impl TaskFilter {
    /// `select` ends before a condition on `tasks t`.
    ///
    /// # Errors
    /// [`StoreError::InvalidCursor`].
    pub fn search(&self, select: &str) -> Result<Search, StoreError> {
        let search = Search::new(select).bind("t.task_no >= ", first(List::Tasks, self.cursor.as_ref(), 0)?);
        let search = search.and("t.tenant = ", key(self.tenant.as_deref()));
        let search = search.and("t.tool = ", self.tool.as_ref().map(ToolName::as_str));
        Ok(search.and_number("t.state = ", self.stage.map(stage_number)).sorted("t.task_no", self.limit))
    }
}

impl GrantFilter {
    /// `select` ends before a condition on `grants`.
    ///
    /// # Errors
    /// [`StoreError::InvalidCursor`].
    pub fn search(&self, select: &str) -> Result<Search, StoreError> {
        let search = Search::new(select).bind("grant_no <= ", first(List::Grants, self.cursor.as_ref(), i64::MAX)?);
        let search = search.and("tenant = ", key(self.tenant.as_deref()));
        Ok(search.and("tool = ", self.tool.as_ref().map(ToolName::as_str)).sorted("grant_no desc", self.limit))
    }
}

impl QuestionFilter {
    /// `select` ends before a condition on `approvals q`. `run_of` begins a search for the number of a run by its name, which a
    /// bracket ends.
    ///
    /// # Errors
    /// [`StoreError::InvalidCursor`].
    pub fn search(&self, select: &str, run_of: &str, by: &SortedBy) -> Result<Search, StoreError> {
        let is_pending = self.status == QuestionStatus::Pending;
        let start = if is_pending { [i64::MIN, 0] } else { [i64::MAX, i64::MAX] };
        let [from, second] = self.list().position(self.cursor.as_ref(), start)?;
        let search = Search::new(select).push(&format!("q.status = {}", question_status_number(self.status)));
        let search = search.bind(&format!(" and {}", by.position), Value::Int(from)).bind(", ", Value::Int(second));
        let search = search.push(")").and("q.tenant = ", key(self.tenant.as_deref()));
        let search = search.and_number("q.kind = ", self.kind.map(kind_number));
        let search = search.and("q.tool = ", self.tool.as_ref().map(ToolName::as_str));
        let search = search.and("q.agent = ", self.agent.as_deref());
        let run = self.run.as_ref().map(RunId::as_str);
        let search = search.and(&format!("q.run_no = ({run_of}"), run).push(run.map_or("", |_| ")"));
        Ok(search.sorted(by.order, self.limit))
    }
}
