//! What runs wait for people to say, and what people said.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{CallIndex, CallKey, RunId, Timestamp, Turn};

use super::MemoryStore;
use super::owners::Owner;
use super::queue::CallPlace;
use super::runs::RunNo;
use crate::{
    Approvals, DUE_LIMIT_MAX, List, Page, QuestionChange, QuestionChanges, QuestionFilter, QuestionOpening,
    QuestionRow, QuestionSeq, QuestionStatus, Scope, StoreError, Transition, page_size,
};

/// A deadline that never comes.
const NEVER: i64 = i64::MAX;

/// All questions. Runs that never asked take nothing here.
#[derive(Default)]
pub(super) struct Questions {
    /// By their number, which grows with every question that is asked.
    rows: BTreeMap<i64, Question>,
    calls: BTreeMap<CallPlace, i64>,
    /// Those that wait, by deadline and number.
    pending: BTreeSet<(i64, i64)>,
    /// By their last change.
    changes: BTreeMap<u64, i64>,
    asked: i64,
    changed: u64,
}

struct Question {
    place: CallPlace,
    row: QuestionRow,
}

impl Questions {
    /// Takes over the changes of a transition of this run.
    pub(super) fn change(&mut self, number: RunNo, run: &RunId, owner: &Owner, step: &Transition) {
        for change in &step.questions {
            let (turn, index) = change.place();
            match change {
                QuestionChange::Open(opening) => {
                    let key = CallKey { run: run.clone(), turn, index };
                    self.open((number, turn, index), key, owner, opening, step.at);
                }
                QuestionChange::Close { how, note, .. } => {
                    self.close((number, turn, index), |row| {
                        row.status = how.status();
                        row.note = note.as_slice().into();
                        row.changed_at = step.at;
                    });
                }
            }
        }
    }

    fn open(&mut self, place: CallPlace, key: CallKey, owner: &Owner, opening: &QuestionOpening, at: Timestamp) {
        let known = self.calls.get(&place).copied();
        let before = known.and_then(|number| self.take(number));
        let pending = before.filter(|(_, question)| question.row.status == QuestionStatus::Pending);
        let (number, asked_at) = match &pending {
            Some((number, question)) => (*number, question.row.asked_at),
            None => {
                self.asked += 1;
                (self.asked, at)
            }
        };
        self.changed += 1;
        let row = QuestionRow {
            key,
            agent: owner.agent.clone().unwrap_or_default(),
            tenant: owner.tenant.clone(),
            tool: opening.tool.clone(),
            kind: opening.kind,
            status: QuestionStatus::Pending,
            deadline: opening.deadline,
            asked_at,
            changed_at: at,
            seq: QuestionSeq(self.changed),
            body: opening.body.as_slice().into(),
            note: Arc::default(),
        };
        self.put(number, Question { place, row });
    }

    fn close(&mut self, place: CallPlace, end: impl FnOnce(&mut QuestionRow)) {
        let Some(number) = self.calls.get(&place).copied() else { return };
        let is_pending = self.rows.get(&number).is_some_and(|known| known.row.status == QuestionStatus::Pending);
        if !is_pending {
            return;
        }
        if let Some((number, mut question)) = self.take(number) {
            self.changed += 1;
            question.row.seq = QuestionSeq(self.changed);
            end(&mut question.row);
            self.put(number, question);
        }
    }

    /// Takes all questions of a run away.
    pub(super) fn remove_run(&mut self, run: RunNo) {
        let places = (run, Turn(0), CallIndex(0))..=(run, Turn(u32::MAX), CallIndex(u32::MAX));
        let numbers: Vec<i64> = self.calls.range(places).map(|(_, number)| *number).collect();
        for number in numbers {
            self.take(number);
        }
    }

    fn put(&mut self, number: i64, question: Question) {
        self.calls.insert(question.place, number);
        self.changes.insert(question.row.seq.0, number);
        if question.row.status == QuestionStatus::Pending {
            self.pending.insert((due(&question.row), number));
        }
        self.rows.insert(number, question);
    }

    fn take(&mut self, number: i64) -> Option<(i64, Question)> {
        let question = self.rows.remove(&number)?;
        self.calls.remove(&question.place);
        self.changes.remove(&question.row.seq.0);
        self.pending.remove(&(due(&question.row), number));
        Some((number, question))
    }

    /// How many wait, and since when the oldest does.
    pub(super) fn waiting(&self) -> (u64, Option<Timestamp>) {
        let rows = self.pending.iter().filter_map(|(_, number)| self.rows.get(number));
        (self.pending.len() as u64, rows.map(|question| question.row.asked_at).min())
    }

    /// One page of questions: each as what it is sorted by, and its number.
    fn page(
        &self,
        filter: &QuestionFilter,
        sorted: impl Iterator<Item = (i64, i64)>,
    ) -> Result<Page<QuestionRow>, StoreError> {
        let questions = sorted.filter_map(|(sorted_by, number)| {
            let row = self.rows.get(&number).map(|question| &question.row).filter(|row| filter.matches(row))?;
            Some(Ok(([sorted_by, number], row.clone())))
        });
        Page::collect(filter.list(), page_size(filter.limit), questions)
    }
}

fn due(row: &QuestionRow) -> i64 {
    row.deadline.map_or(NEVER, |Timestamp(at)| at)
}

#[async_trait]
impl Approvals for MemoryStore {
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        let table = self.table();
        let number = table.place_of(key).and_then(|place| table.questions.calls.get(&place));
        let row = number.and_then(|number| table.questions.rows.get(number)).map(|question| &question.row);
        Ok(row.filter(|row| scope.covers(row.tenant.as_deref())).cloned())
    }

    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        let questions = &self.table().questions;
        let (list, cursor) = (filter.list(), filter.cursor.as_ref());
        if list == List::PendingQuestions {
            let [due, number] = list.position(cursor, [i64::MIN, 0])?;
            questions.page(filter, questions.pending.range((due, number)..).copied())
        } else {
            let [seq, _] = list.position(cursor, [i64::MAX, i64::MAX])?;
            let changed = questions.changes.range(..=seq.unsigned_abs()).rev();
            questions.page(filter, changed.map(|(seq, number)| (i64::try_from(*seq).unwrap_or(NEVER), *number)))
        }
    }

    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError> {
        let (questions, limit) = (&self.table().questions, limit.clamp(1, DUE_LIMIT_MAX));
        let all = QuestionSeq(questions.changed);
        let Some(after) = after else { return Ok(QuestionChanges { questions: Vec::new(), seq: all }) };
        if after > all {
            return Err(StoreError::InvalidCursor);
        }
        let changed = questions.changes.range(after.0 + 1..).filter_map(|(_, number)| questions.rows.get(number));
        let seen = changed.map(|question| &question.row).filter(|row| scope.covers(row.tenant.as_deref()));
        let questions: Vec<QuestionRow> = seen.take(limit).cloned().collect();
        let last = questions.last().filter(|_| questions.len() == limit).map_or(all, |row| row.seq);
        Ok(QuestionChanges { questions, seq: last })
    }
}
