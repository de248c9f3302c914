//! Questions as the stores keep them: what people see, and what they said.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, BatchId, CallAnswered, CallIndex, ContinuationId, Digest, FourEyes, Run, RunId, Terms, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pending::TurnCalls;
use crate::read::{Read, Versioned, read_json};
use crate::view::PendingView;
use crate::wire::{Moment, Text, to_value};
use crate::{CodecError, Document};

/// The version of stored questions.
const QUESTION_VERSION: u32 = 1;
/// The version of stored notes.
const NOTE_VERSION: u32 = 1;

/// A question as the inbox keeps it. `Debug` shows nothing of the call.
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
    /// The caller that started the run.
    pub requester: Option<Arc<str>>,
    /// The pending call. Holds raw arguments.
    pub pending: PendingView,
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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionWire {
    v: u32,
    batch_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    continuation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requester: Option<Text>,
    pending: PendingView,
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
        session: run.session().map(Text::share),
        requester: run.actor().id.as_ref().map(Text::share),
        pending: turn.pending(index, call)?.view(),
    };
    // Writing to memory does not fail, and nothing of it refuses to be written.
    Some(serde_json::to_vec(&wire).unwrap_or_default())
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
    Ok(StoredQuestion {
        run: batch.run.clone(),
        batch,
        continuation: continuation.transpose()?,
        session: wire.session.map(|text| text.0),
        requester: wire.requester.map(|text| text.0),
        pending: wire.pending,
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

/// A person's answer to a question, as people and programs are shown it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerNote {
    /// `allow`, `deny`, `answer` or `happened`.
    pub decision: String,
    /// Whether the person changed the arguments.
    pub edited: bool,
    /// The person, if they have a name.
    pub actor: Option<String>,
    /// The person's reason.
    pub reason: Option<String>,
    /// When they answered.
    pub at: Moment,
}

impl QuestionNote {
    /// Its public form.
    pub fn view(&self) -> AnswerNote {
        AnswerNote {
            decision: self.decision.to_string(),
            edited: self.edited,
            actor: self.actor.as_ref().map(ToString::to_string),
            reason: self.reason.as_ref().map(ToString::to_string),
            at: Moment(self.at),
        }
    }

    /// [`QuestionNote::view`] as a value.
    pub fn to_json(&self) -> Value {
        to_value(&self.view())
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

/// The word for an answer in events, notes and requests.
pub(crate) fn answer_word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Approve | Answer::ApproveEdited(_) => "allow",
        Answer::Refuse { .. } => "deny",
        Answer::Supply(_) => "answer",
        Answer::Happened(_) => "happened",
    }
}

/// The stored form of what ended a question. Never arguments or results.
pub fn encode_question_note(answered: &CallAnswered, at: Timestamp) -> Vec<u8> {
    let wire = NoteWire {
        v: NOTE_VERSION,
        decision: answer_word(&answered.answer).to_owned(),
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
