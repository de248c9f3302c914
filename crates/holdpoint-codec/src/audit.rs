//! The audit log: who decided and did what, one small document for each step of a run. Never arguments, results or what
//! the model said.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Attempt, CallId, CallIndex, Code, Digest, DoubtCause, GrantId, IdempotencyKey, LogEntry, Outcome, Run,
    Source, Stage, Timestamp, ToolName, Turn,
};
use serde_json::Value;

use crate::read::{Read, read_json};
use crate::wire::{Wire, to_value};
use crate::{CodecError, Document};

mod entries;
mod wire;

use wire::AuditWire;
pub use wire::{EntryView, ShadowWire as ShadowView};

/// The version of audit documents.
const VERSION: u32 = 1;

/// What one step of a run left in the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// When.
    pub at: Timestamp,
    /// What, in order. Never empty.
    pub entries: Vec<Entry>,
}

/// One thing that was decided or done. What does not belong to it is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name of the event.
    pub event: Arc<str>,
    /// Which call it is about.
    pub call: Option<AuditedCall>,
    /// Who did it.
    pub actor: Option<Actor>,
    /// The worker that had the call.
    pub worker: Option<Arc<str>>,
    /// Since when the worker had it.
    pub since: Option<Timestamp>,
    /// When the policy was asked.
    pub stage: Option<Stage>,
    /// What a policy or a person said.
    pub said: Option<Said>,
    /// What the policy said when a person answered.
    pub policy: Option<Said>,
    /// The rule that gave a decision.
    pub rule: Option<Arc<str>>,
    /// Which policy decided.
    pub policy_version: Option<Arc<str>>,
    /// What a policy that is only being tried would have decided.
    pub shadow: Option<Shadowed>,
    /// The grant that was given, used or taken back.
    pub grant: Option<GrantId>,
    /// Why, in the words of the rule or the person.
    pub reason: Option<Arc<str>>,
    /// The digest of the question that a person answered; of a grant, that of the arguments.
    pub digest: Option<Digest>,
    /// The digest of the arguments that a person answered about.
    pub arguments_digest: Option<Digest>,
    /// Of what a person made of it.
    pub edited_digest: Option<Digest>,
    /// Which attempt.
    pub attempt: Option<Attempt>,
    /// Equal over all attempts.
    pub idempotency_key: Option<IdempotencyKey>,
    /// How the call ended.
    pub outcome: Option<Outcome>,
    /// Why it did not succeed.
    pub code: Option<Code>,
    /// Where its result came from.
    pub source: Option<Source>,
    /// How its outcome came to be unknown.
    pub cause: Option<DoubtCause>,
    /// Why the run stopped.
    pub stop: Option<Arc<str>>,
    /// The agent of the run.
    pub agent: Option<Arc<str>>,
}

/// The call that an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedCall {
    /// Its turn.
    pub turn: Turn,
    /// Its place in the turn.
    pub index: CallIndex,
    /// The id that is shown.
    pub id: Option<CallId>,
    /// The registered tool.
    pub tool: Option<ToolName>,
}

/// What a policy would have decided that is not enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// What it would have said.
    pub said: Said,
    /// By which rule.
    pub rule: Option<Arc<str>>,
    /// Which policy.
    pub policy_version: Option<Arc<str>>,
}

/// What a policy or a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Said {
    /// It may run.
    Allow,
    /// It may run with other arguments.
    AllowEdited,
    /// It may not run.
    Deny,
    /// A person must answer.
    Confirm,
    /// A result in the tool's place.
    Answer,
    /// It happened.
    Happened,
}

impl Said {
    /// Every word.
    pub const ALL: [Said; 6] =
        [Said::Allow, Said::AllowEdited, Said::Deny, Said::Confirm, Said::Answer, Said::Happened];

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Said::Allow => "allow",
            Said::AllowEdited => "allow_edited",
            Said::Deny => "deny",
            Said::Confirm => "confirm",
            Said::Answer => "answer",
            Said::Happened => "happened",
        }
    }
}

impl Entry {
    /// Its public form.
    pub fn view(&self) -> EntryView {
        EntryView::of(self)
    }

    /// [`Entry::view`] as a value.
    pub fn to_json(&self) -> Value {
        to_value(&self.view())
    }
}

/// What a step leaves in the audit log; nothing when nobody decided or did anything. `run` is the run after the step.
pub fn encode(run: &Run, log: &[LogEntry], at: Timestamp) -> Option<Vec<u8>> {
    let entries = entries::of(run, log);
    if entries.is_empty() {
        return None;
    }
    // Writing to memory does not fail, and nothing of it refuses to be written.
    Some(serde_json::to_vec(&AuditWire::of(&Audit { at, entries })).unwrap_or_default())
}

/// Reads what a step left in the audit log.
///
/// # Errors
/// When it has another version, or is not an audit document; the error names the field.
pub fn decode(stored: &[u8]) -> Result<Audit, CodecError> {
    let text = std::str::from_utf8(stored).map_err(|_| CodecError::invalid(Document::Audit, ""))?;
    let read = Read { document: Document::Audit, version_field: "v", version: VERSION };
    let wire: AuditWire = read_json(text, read)?;
    wire.core().map_err(|fault| CodecError::invalid(Document::Audit, fault.0))
}
