//! Questions as the stores keep them: what people see, and what they said.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, BatchId, CallAnswered, CallIndex, ContinuationId, FourEyes, Run, RunId, Terms, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pending::TurnCalls;
use crate::read::{Read, Versioned, read_json};
use crate::wire::{Json, Moment, to_value};
use crate::{CodecError, Document, Shown, canonical_json, canonical_value};

/// The version of stored questions.
const QUESTION_VERSION: u32 = 1;
/// The version of stored notes.
const NOTE_VERSION: u32 = 1;

/// What people see of a question. `Debug` shows nothing of the call.
#[derive(Clone)]
pub struct StoredQuestion {
    /// The run.
    pub run: RunId,
    /// The batch of the turn.
    pub batch: BatchId,
    /// What an answer resumes. Nothing while the run is busy: it pauses again for what is left.
    pub continuation: Option<ContinuationId>,
    /// The session of the run.
    pub session: Option<Arc<str>>,
    /// Who started the run.
    pub requester: Option<Arc<str>>,
    /// The pending call, as [`crate::Pending::shown`] has it. Holds raw arguments.
    pub pending: Shown,
}

impl fmt::Debug for StoredQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredQuestion").field("batch", &self.batch).finish_non_exhaustive()
    }
}

impl StoredQuestion {
    /// Whether this person may answer it.
    pub fn admits(&self, actor: &Actor) -> bool {
        let approvers = self.approvers();
        let four_eyes = if self.pending.value("four_eyes") == true { FourEyes::On } else { FourEyes::Off };
        let requester = Actor { id: self.requester.clone(), ..Actor::default() };
        Terms { approvers, four_eyes, ..Terms::default() }.admit(actor, &requester)
    }

    /// The roles of which one is needed to answer it. None: anyone may.
    pub fn approvers(&self) -> BTreeSet<Arc<str>> {
        let approvers = self.pending.value("approvers");
        let approvers = approvers.as_array().map(Vec::as_slice).unwrap_or_default();
        approvers.iter().filter_map(Value::as_str).map(Into::into).collect()
    }

    /// What an answer is bound to.
    pub fn digest(&self) -> Option<holdpoint_core::Digest> {
        holdpoint_core::Digest::parse(&self.pending.text("digest")?)
    }

    /// The id of the call.
    pub fn call_id(&self) -> Option<String> {
        self.pending.text("id")
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionWire {
    v: u32,
    batch_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    continuation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requester: Option<String>,
    /// In canonical order, so that equal questions are equal bytes.
    pending: Json,
}

impl Versioned for QuestionWire {
    fn version(&self) -> u32 {
        self.v
    }
}

/// The stored form of the question about a call; nothing when there is none. Equal for equal questions.
pub fn encode_question(run: &Run, index: CallIndex) -> Option<Vec<u8>> {
    let call = run.call(index)?;
    call.question()?;
    let turn = TurnCalls { run: run.id(), turn: run.turn(), calls: run.calls() };
    let wire = QuestionWire {
        v: QUESTION_VERSION,
        batch_id: run.batch().to_string(),
        continuation_id: run.continuation().map(|id| id.to_string()),
        session: run.session().map(ToString::to_string),
        requester: run.actor().id.as_ref().map(ToString::to_string),
        pending: Json::new(canonical(&turn.pending(index, call)?.shown())),
    };
    // Writing to memory does not fail, and nothing of it refuses to be written.
    Some(serde_json::to_vec(&wire).unwrap_or_default())
}

fn canonical(shown: &Shown) -> String {
    // What the codec wrote is JSON that can be kept; if it were not, its nearest form is still better than no question.
    canonical_json(&shown.to_string()).unwrap_or_else(|_| canonical_value(&shown.to_value()))
}

/// Reads the stored form of a question.
///
/// # Errors
/// When it has another version, or is not a question; the error names the field.
pub fn decode_question(stored: &[u8]) -> Result<StoredQuestion, CodecError> {
    let wire: QuestionWire = read(stored, QUESTION_VERSION)?;
    let invalid = |field: &str| CodecError::invalid(Document::Question, field);
    let batch = BatchId::parse(&wire.batch_id).ok_or_else(|| invalid("batch_id"))?;
    let continuation =
        wire.continuation_id.map(|id| ContinuationId::parse(&id).ok_or_else(|| invalid("continuation_id")));
    let pending = serde_json::from_str(wire.pending.as_str()).map_err(|_| invalid("pending"))?;
    Ok(StoredQuestion {
        run: batch.run.clone(),
        batch,
        continuation: continuation.transpose()?,
        session: wire.session.map(Into::into),
        requester: wire.requester.map(Into::into),
        pending,
    })
}

/// What a person said to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionNote {
    /// `allow`, `deny`, `answer` or `happened`.
    pub decision: Arc<str>,
    /// Whether the arguments were changed.
    pub edited: bool,
    /// Who said it.
    pub actor: Option<Arc<str>>,
    /// Why, if they said so.
    pub reason: Option<Arc<str>>,
    /// When.
    pub at: Timestamp,
}

impl QuestionNote {
    /// Its stable JSON form.
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "decision": &*self.decision,
            "edited": self.edited,
            "actor": self.actor.as_deref(),
            "reason": self.reason.as_deref(),
            "at": to_value(&Moment(self.at)),
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoteWire {
    v: u32,
    decision: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    edited: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Microseconds since 1970.
    at: i64,
}

impl Versioned for NoteWire {
    fn version(&self) -> u32 {
        self.v
    }
}

/// The stored form of what ended a question. Never arguments or results.
pub fn encode_question_note(answered: &CallAnswered, at: Timestamp) -> Vec<u8> {
    let decision = match &answered.answer {
        Answer::Approve | Answer::ApproveEdited(_) => "allow",
        Answer::Refuse { .. } => "deny",
        Answer::Supply(_) => "answer",
        Answer::Happened(_) => "happened",
    };
    let wire = NoteWire {
        v: NOTE_VERSION,
        decision: decision.to_owned(),
        edited: matches!(answered.answer, Answer::ApproveEdited(_)),
        actor: answered.actor.id.as_ref().map(ToString::to_string),
        reason: answered.why().map(ToString::to_string),
        at: at.0,
    };
    // Writing to memory does not fail, and nothing of it refuses to be written.
    serde_json::to_vec(&wire).unwrap_or_default()
}

/// Reads the stored form of what ended a question; nothing when nobody said anything.
///
/// # Errors
/// When it has another version, or is not a note; the error names the field.
pub fn decode_question_note(stored: &[u8]) -> Result<Option<QuestionNote>, CodecError> {
    if stored.is_empty() {
        return Ok(None);
    }
    let NoteWire { decision, edited, actor, reason, at, .. } = read(stored, NOTE_VERSION)?;
    let known = ["allow", "deny", "answer", "happened"].contains(&decision.as_str());
    if !known {
        return Err(CodecError::invalid(Document::Question, "decision"));
    }
    let (actor, reason) = (actor.map(Into::into), reason.map(Into::into));
    Ok(Some(QuestionNote { decision: decision.into(), edited, actor, reason, at: Timestamp(at) }))
}

fn read<T>(stored: &[u8], version: u32) -> Result<T, CodecError>
where
    T: for<'de> Deserialize<'de> + Versioned,
{
    let document = Document::Question;
    let text = std::str::from_utf8(stored).map_err(|_| CodecError::invalid(document, ""))?;
    read_json(text, Read { document, version_field: "v", version })
}
