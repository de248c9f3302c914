//! Questions as the stores keep them: what people see, and what they said.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, BatchId, CallAnswered, CallIndex, ContinuationId, Digest, FourEyes, Run, Terms, Timestamp,
};
use serde::{Deserialize, Serialize};

use crate::pending::TurnCalls;
use crate::read::{read_record, write_record};
use crate::view::PendingView;
use crate::wire::{Moment, Stored, stored};
use crate::{CodecError, Document};

stored! {
    /// A question as the inbox keeps it. `Debug` shows nothing of the call.
    #[derive(Clone)]
    pub struct StoredQuestion {
        /// The batch of the turn.
        pub batch: BatchId,
        /// What an answer resumes. Nothing while the run is busy: it pauses again for what is left.
        pub continuation: Option<ContinuationId>,
        /// The session of the run.
        pub session: Option<Arc<str>>,
        /// The caller that started the run.
        pub requester: Option<Arc<str>>,
        /// The pending call. Holds raw arguments.
        #[serde_with(skip_apply)]
        pub pending: PendingView,
    }
}

impl fmt::Debug for StoredQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredQuestion").field("batch", &self.batch).finish_non_exhaustive()
    }
}

impl StoredQuestion {
    /// Whether this person may answer it.
    pub fn admits(&self, actor: &Actor) -> bool {
        let four_eyes = if self.pending.four_eyes { FourEyes::On } else { FourEyes::Off };
        let requester = Actor { id: self.requester.clone(), ..Actor::default() };
        Terms { approvers: self.approvers(), four_eyes, ..Terms::default() }.admit(actor, &requester)
    }

    /// The roles of which one is needed to answer it. None: any person may.
    pub fn approvers(&self) -> BTreeSet<Arc<str>> {
        self.pending.approvers.iter().map(|role| Arc::clone(&role.0)).collect()
    }

    /// The digest that an answer must name.
    pub fn digest(&self) -> Digest {
        self.pending.digest.0
    }

    /// The id of the call.
    pub fn call_id(&self) -> &str {
        self.pending.id.as_str()
    }
}

/// The stored form of the question about a call; nothing when there is none. Equal for equal questions.
pub fn encode_question(run: &Run, index: CallIndex) -> Option<Vec<u8>> {
    let call = run.call(index)?;
    call.question()?;
    let turn = TurnCalls { run: run.id(), turn: run.turn(), calls: run.calls() };
    Some(write_record(&StoredQuestion {
        batch: run.batch(),
        continuation: run.continuation(),
        session: run.session().cloned(),
        requester: run.actor().id.clone(),
        pending: turn.pending(index, call)?.view(),
    }))
}

/// Reads the stored form of a question.
///
/// # Errors
/// When it has another version, or is not a question; the error names the field.
pub fn decode_question(stored: &[u8]) -> Result<StoredQuestion, CodecError> {
    read_record(stored, Document::Question)
}

/// What a person decided about a call, in requests, events and notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecisionWord {
    /// Run it; of a call in doubt: it did not happen, run it.
    Allow,
    /// Do not run it; of a call in doubt: give it up.
    Deny,
    /// Take this result in the tool's place.
    Answer,
    /// Of a call in doubt: it happened, with this result.
    Happened,
}

impl DecisionWord {
    pub(crate) fn of(answer: &Answer) -> Self {
        match answer {
            Answer::Approve | Answer::ApproveEdited(_) => DecisionWord::Allow,
            Answer::Refuse { .. } => DecisionWord::Deny,
            Answer::Supply(_) => DecisionWord::Answer,
            Answer::Happened(_) => DecisionWord::Happened,
        }
    }
}

/// A person's answer to a question.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerNote {
    /// What the person decided.
    pub decision: DecisionWord,
    /// Whether the person changed the arguments.
    pub edited: bool,
    /// The person, if they have a name.
    pub actor: Option<String>,
    /// The person's reason.
    pub reason: Option<String>,
    /// When they answered.
    pub at: Moment,
}

/// The stored form of what ended a question. Never arguments or results.
pub fn encode_question_note(answered: &CallAnswered, at: Timestamp) -> Vec<u8> {
    write_record(&AnswerNote {
        decision: DecisionWord::of(&answered.answer),
        edited: matches!(answered.answer, Answer::ApproveEdited(_)),
        actor: answered.actor.id.as_ref().map(ToString::to_string),
        reason: answered.why().map(ToString::to_string),
        at: Moment(at),
    })
}

/// Reads the stored form of what ended a question; nothing when nobody said anything.
///
/// # Errors
/// When it has another version, or is not a note; the error names the field.
pub fn decode_question_note(stored: &[u8]) -> Result<Option<AnswerNote>, CodecError> {
    if stored.is_empty() {
        return Ok(None);
    }
    read_record(stored, Document::Question).map(Some)
}
