//! I16: an answer counts for the question whose digest was shown, and no two questions have one digest.

use std::collections::HashMap;

use super::{Answer, Check, Disk, Seen};
use crate::disk::Slot;
use crate::storage::Place;
use holdpoint_core::{Arguments, CallIndex, Digest, Event, QuestionKind, Run, Turn};

#[derive(Default)]
pub(super) struct Questions {
    /// How often each call was asked about, in doubt or not.
    asked: HashMap<Place, u32>,
    /// What each digest was shown for.
    shown: HashMap<(Slot, Digest), Content>,
    /// What is asked about each call of a log now.
    open: HashMap<(Slot, CallIndex), Content>,
}

/// What a person sees of a question, as text: its kind, who may answer, what would run.
type Content = String;

impl Check for Questions {
    fn name(&self) -> &'static str {
        "i16_question"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        match seen {
            Seen::Logged { slot, event: Event::CallDecided { call, .. }, history, .. } => {
                let place = Place { slot: *slot, turn: Turn(history.turn), call: *call };
                *self.asked.entry(place).or_default() += 1;
                Ok(())
            }
            Seen::Logged { slot, event: Event::CallDoubted { call, .. }, history, .. } => {
                let place = Place { slot: *slot, turn: Turn(history.turn), call: *call };
                *self.asked.entry(place).or_default() += 1;
                Ok(())
            }
            Seen::Committed { slot, .. } => self.look(*slot, disk.log(*slot).run()),
            Seen::Answered { slot, answer } => self.judge(*slot, answer),
            _ => Ok(()),
        }
    }
}

impl Questions {
    /// Reads what is asked now.
    fn look(&mut self, slot: Slot, run: &Run) -> Result<(), String> {
        self.open.retain(|(of, _), _| *of != slot);
        for index in (0..run.calls().len()).map(CallIndex::from_usize) {
            let Some(content) = self.content(slot, run, index) else { continue };
            let Some(digest) = run.question_digest(index) else { continue };
            let known = self.shown.entry((slot, digest)).or_insert_with(|| content.clone());
            if *known != content {
                return Err(format!("one digest for two questions about call {index}: {known} and {content}"));
            }
            self.open.insert((slot, index), content);
        }
        Ok(())
    }

    fn content(&self, slot: Slot, run: &Run, index: CallIndex) -> Option<Content> {
        let call = run.call(index)?;
        let question = call.question()?;
        let asked = self.asked.get(&Place { slot, turn: run.turn(), call: index }).copied().unwrap_or(0);
        let arguments = call.canonical().map(Arguments::digest);
        let terms = (&question.terms.approvers, question.terms.quorum, question.terms.four_eyes);
        let kind = question.kind();
        Some(format!("turn {} asked {asked} {kind:?} {arguments:?} {terms:?} {:?}", run.turn(), call.tool))
    }

    fn judge(&self, slot: Slot, answer: &Answer) -> Result<(), String> {
        // What an import brings is asked in the log that it came from.
        let Some(open) = self.open.get(&(slot, answer.call)) else { return Ok(()) };
        let shown = answer.shown.and_then(|digest| self.shown.get(&(slot, digest)));
        let is_plain_refusal = answer.refuses && open.contains(&format!("{:?}", QuestionKind::Permission));
        match shown {
            Some(shown) if shown == open => Ok(()),
            None if answer.shown.is_none() && is_plain_refusal => Ok(()),
            shown => Err(format!("an answer to {shown:?} counted for {open} about call {}", answer.call)),
        }
    }
}
