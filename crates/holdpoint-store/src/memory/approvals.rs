//! What runs wait for people to say, and what people said.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{CallKey, RunId, Timestamp};

use super::MemoryStore;
use super::indexed::Keyed;
use super::owners::Owner;
use super::runs::RunNo;
use super::table::Table;
use super::task_queue::CallPlace;
use crate::rows::signed;
use crate::{
    Approvals, DUE_LIMIT_MAX, List, Page, QuestionChange, QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq,
    QuestionStatus, Scope, StoreError, Transition, page_size,
};

/// A deadline that never comes.
const NEVER: i64 = i64::MAX;

/// A question under its number, which grows with every question that is asked.
pub(super) struct Question {
    place: CallPlace,
    row: QuestionRow,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum QuestionKey {
    Call(CallPlace),
    /// By the deadline of one that waits.
    Pending(i64),
    Changed(u64),
}

impl Keyed for Question {
    type Key = QuestionKey;

    fn keys(&self) -> impl Iterator<Item = QuestionKey> {
        let pending = (self.row.status == QuestionStatus::Pending).then(|| QuestionKey::Pending(due(&self.row)));
        [QuestionKey::Call(self.place), QuestionKey::Changed(self.row.seq.0)].into_iter().chain(pending)
    }
}

fn due(row: &QuestionRow) -> i64 {
    row.deadline.map_or(NEVER, |Timestamp(at)| at)
}

impl Table {
    /// Takes over the changes of a transition of this run.
    pub(super) fn change_questions(&mut self, number: RunNo, run: &RunId, owner: &Owner, step: &Transition) {
        for change in &step.questions {
            let (turn, index) = change.place();
            let place = (number, turn, index);
            let known = self.questions.find(&QuestionKey::Call(place));
            let pending = known.filter(|(_, known)| known.row.status == QuestionStatus::Pending);
            let pending = pending.map(|(number, known)| (number, known.row.asked_at));
            match change {
                QuestionChange::Open(opening) => {
                    let ended = known.map(|(number, _)| number).filter(|_| pending.is_none());
                    ended.and_then(|ended| self.questions.take(ended));
                    let row = QuestionRow {
                        key: CallKey { run: run.clone(), turn, index },
                        agent: owner.agent.clone().unwrap_or_default(),
                        tenant: owner.tenant.clone(),
                        tool: opening.tool.clone(),
                        kind: opening.kind,
                        status: QuestionStatus::Pending,
                        deadline: opening.deadline,
                        asked_at: pending.map_or(step.at, |(_, asked_at)| asked_at),
                        changed_at: step.at,
                        seq: self.next_change(),
                        body: opening.body.as_slice().into(),
                        note: Arc::default(),
                    };
                    match pending {
                        Some((number, _)) => self.questions.put(number, Question { place, row }),
                        None => self.questions.add(Question { place, row }),
                    }
                }
                QuestionChange::Close { how, note, .. } => {
                    let Some((number, _)) = pending else { continue };
                    let seq = self.next_change();
                    self.questions.change(number, |question| {
                        question.row.seq = seq;
                        question.row.status = how.status();
                        question.row.note = note.as_slice().into();
                        question.row.changed_at = step.at;
                    });
                }
            }
        }
    }

    fn next_change(&mut self) -> QuestionSeq {
        self.question_changes += 1;
        QuestionSeq(self.question_changes)
    }

    /// Those that wait, the earliest deadline first.
    pub(super) fn pending_questions(&self) -> impl Iterator<Item = &QuestionRow> {
        let pending = self.questions.range(QuestionKey::Pending(i64::MIN), QuestionKey::Pending(NEVER));
        pending.map(|(_, question)| &question.row)
    }
}

#[async_trait]
impl Approvals for MemoryStore {
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        let table = self.table();
        let found = table.place_of(key).and_then(|place| table.questions.find(&QuestionKey::Call(place)));
        let row = found.map(|(_, question)| &question.row);
        Ok(row.filter(|row| scope.covers(row.tenant.as_deref())).cloned())
    }

    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        let (table, list, size) = (self.table(), filter.list(), page_size(filter.limit));
        let fits = |(_, question): &(i64, &Question)| filter.matches(&question.row);
        if list == List::PendingQuestions {
            let [due_from, from] = list.position(filter.cursor.as_ref(), [i64::MIN, 0])?;
            let last = QuestionKey::Pending(NEVER);
            let pending = table.questions.range_from(QuestionKey::Pending(due_from), from, last).filter(fits);
            let rows = pending.map(|(number, question)| Ok(([due(&question.row), number], question.row.clone())));
            Page::collect(list, size, rows)
        } else {
            let [seq, _] = list.position(filter.cursor.as_ref(), [i64::MAX, i64::MAX])?;
            let changed = table.questions.range(QuestionKey::Changed(0), QuestionKey::Changed(seq.unsigned_abs()));
            let ended = changed.rev().filter(fits);
            let rows = ended.map(|(number, question)| Ok(([signed(question.row.seq.0), number], question.row.clone())));
            Page::collect(list, size, rows)
        }
    }

    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError> {
        let (table, limit) = (self.table(), limit.clamp(1, DUE_LIMIT_MAX));
        let all = QuestionSeq(table.question_changes);
        let after = after.unwrap_or(all);
        if after > all {
            return Err(StoreError::InvalidCursor);
        }
        let changed = table.questions.range(QuestionKey::Changed(after.0 + 1), QuestionKey::Changed(u64::MAX));
        let seen = changed.map(|(_, question)| &question.row).filter(|row| scope.covers(row.tenant.as_deref()));
        let questions: Vec<QuestionRow> = seen.take(limit).cloned().collect();
        let last = questions.last().filter(|_| questions.len() == limit).map_or(all, |row| row.seq);
        Ok(QuestionChanges { questions, seq: last })
    }
}
