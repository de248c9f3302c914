//! The changes of a transition to the questions of its run, at most one for each call.

use std::collections::BTreeMap;

use holdpoint_core::{CallIndex, Turn};
use holdpoint_store::rows::{kind_number, question_status_number};
use holdpoint_store::{QuestionChange, QuestionEnd, QuestionOpening, QuestionStatus};

use super::Job;
use super::batch::all;
use crate::pool::Statement;

/// What becomes of the question about one call.
#[derive(Debug)]
pub(super) struct Asked {
    turn: Turn,
    index: CallIndex,
    /// What is asked. Nothing: what was asked before ends.
    opening: Option<Box<QuestionOpening>>,
    /// Whether what was asked before ended first.
    anew: bool,
    ending: Option<(QuestionEnd, Vec<u8>)>,
}

impl Asked {
    fn status(&self) -> i16 {
        question_status_number(self.ending.as_ref().map_or(QuestionStatus::Pending, |(how, _)| how.status()))
    }

    fn note(&self) -> &[u8] {
        self.ending.as_ref().map_or(&[], |(_, note)| note)
    }
}

/// Goes through the changes in order.
pub(super) fn fold(changes: Vec<QuestionChange>) -> Vec<Asked> {
    let mut calls: BTreeMap<(Turn, CallIndex), Asked> = BTreeMap::new();
    for change in changes {
        let (turn, index) = change.place();
        let new = Asked { turn, index, opening: None, anew: false, ending: None };
        let asked = calls.entry((turn, index)).or_insert(new);
        match change {
            QuestionChange::Open(opening) => {
                asked.anew |= asked.ending.take().is_some();
                asked.opening = Some(opening);
            }
            // What ended stays as it ended first.
            QuestionChange::Close { how, note, .. } => _ = asked.ending.get_or_insert((how, note)),
        }
    }
    calls.into_values().collect()
}

/// Binds what is asked, and what only ends.
pub(super) fn bind<'j>(statement: Statement<'j>, jobs: &'j [Job]) -> Statement<'j> {
    let (mut opened, mut ended) = (Vec::new(), Vec::new());
    for (position, asked) in all(jobs, |job| &job.questions) {
        match asked.opening.as_deref() {
            Some(opening) => opened.push((position, asked, opening)),
            None => ended.push((position, asked)),
        }
    }
    statement
        .bind(opened.iter().map(|(position, ..)| *position).collect::<Vec<i64>>())
        .bind(opened.iter().map(|(_, asked, _)| i64::from(asked.turn.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, asked, _)| i64::from(asked.index.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(.., opening)| opening.tool.as_str()).collect::<Vec<_>>())
        .bind(opened.iter().map(|(.., opening)| kind_number(opening.kind)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, asked, _)| asked.status()).collect::<Vec<_>>())
        .bind(opened.iter().map(|(.., opening)| opening.deadline.map(|at| at.0)).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, asked, _)| asked.anew).collect::<Vec<_>>())
        .bind(opened.iter().map(|(.., opening)| &*opening.body).collect::<Vec<_>>())
        .bind(opened.iter().map(|(_, asked, _)| asked.note()).collect::<Vec<_>>())
        .bind(ended.iter().map(|(position, _)| *position).collect::<Vec<i64>>())
        .bind(ended.iter().map(|(_, asked)| i64::from(asked.turn.0)).collect::<Vec<_>>())
        .bind(ended.iter().map(|(_, asked)| i64::from(asked.index.0)).collect::<Vec<_>>())
        .bind(ended.iter().map(|(_, asked)| asked.status()).collect::<Vec<_>>())
        .bind(ended.iter().map(|(_, asked)| asked.note()).collect::<Vec<_>>())
}
