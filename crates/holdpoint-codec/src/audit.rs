//! The audit log: who decided and did what, one small document for each step of a run. Never arguments, results or what
//! the model said.

use holdpoint_core::{LogEntry, Run, Timestamp, named};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::read::{Read, Versioned, read_json};
use crate::wire::{
    ActorWire, CodeName, DigestText, DoubtCauseName, Moment, OutcomeName, SaidName, SourceName, StageName, Text,
};
use crate::{CodecError, Document};

mod entries;

pub(crate) use entries::Step;

/// The version of audit documents.
const VERSION: u32 = 1;

/// What one step of a run left in the audit log.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    v: u32,
    /// When the step was taken.
    pub at: Moment,
    /// What was decided and done, in order. Never empty.
    pub entries: Vec<Entry>,
}

impl Versioned for Audit {
    fn version(&self) -> u32 {
        self.v
    }
}

/// One thing that was decided or done. Fields that do not belong to it are absent.
#[skip_serializing_none]
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AuditDecisionView))]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The name of the event.
    pub event: Text,
    /// The turn of the call.
    pub turn: Option<u32>,
    /// The position of the call in the turn.
    pub index: Option<u32>,
    /// The id of the call.
    pub call_id: Option<Text>,
    /// The registered tool.
    pub tool: Option<Text>,
    /// When the policy was asked.
    pub stage: Option<StageName>,
    /// What a policy or a person decided.
    pub decision: Option<SaidName>,
    /// What the policy said when a person answered.
    pub policy: Option<SaidName>,
    /// The rule that decided.
    pub rule: Option<Text>,
    /// The version of the policy.
    pub policy_version: Option<Text>,
    /// What a policy that is only being tried would have decided.
    pub shadow: Option<Shadow>,
    /// The grant that was given, used or revoked.
    pub grant_id: Option<Text>,
    /// The reason that the rule or the person gave.
    pub reason: Option<Text>,
    /// The person or program that did it.
    pub actor: Option<ActorWire>,
    /// The worker that had the call.
    pub worker: Option<Text>,
    /// When the worker leased the call.
    pub since: Option<Moment>,
    /// The attempt of the call.
    pub attempt: Option<u32>,
    /// The digest of the question that was answered; of a grant, that of the arguments.
    pub digest: Option<DigestText>,
    /// The digest of the arguments after an edit.
    pub edited_digest: Option<DigestText>,
    /// The digest of the arguments that were answered about.
    pub arguments_digest: Option<DigestText>,
    /// Equal over all attempts.
    pub idempotency_key: Option<Text>,
    /// How the call ended.
    pub outcome: Option<OutcomeName>,
    /// Why it did not succeed.
    pub code: Option<CodeName>,
    /// Where its result came from.
    pub source: Option<SourceName>,
    /// How its outcome came to be unknown.
    pub cause: Option<DoubtCauseName>,
    /// Why the run stopped.
    pub stop: Option<Text>,
    /// The agent of the run.
    pub agent: Option<Text>,
}

/// What a policy would have decided that is not enforced.
#[skip_serializing_none]
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AuditShadowView))]
#[serde(deny_unknown_fields)]
pub struct Shadow {
    /// What it would have decided.
    pub decision: SaidName,
    /// Its version.
    pub policy_version: Option<Text>,
    /// The rule that would have decided.
    pub rule: Option<Text>,
}

named! {
    /// What a policy or a person said.
    pub enum Said {
        /// It may run.
        Allow = "allow",
        /// It may run with other arguments.
        AllowEdited = "allow_edited",
        /// It may not run.
        Deny = "deny",
        /// A person must answer.
        Confirm = "confirm",
        /// A result in the tool's place.
        Answer = "answer",
        /// It happened.
        Happened = "happened",
    }
}

/// What a step leaves in the audit log; nothing when nobody decided or did anything. `run` is the run after the step.
pub fn encode(run: &Run, log: &[LogEntry], at: Timestamp) -> Option<Vec<u8>> {
    let entries = entries::of(run, log);
    if entries.is_empty() {
        return None;
    }
    // Writing to memory does not fail, and nothing of it refuses to be written.
    Some(serde_json::to_vec(&Audit { v: VERSION, at: Moment(at), entries }).unwrap_or_default())
}

/// Reads what a step left in the audit log.
///
/// # Errors
/// When it has another version, or is not an audit document; the error names the field.
pub fn decode(stored: &[u8]) -> Result<Audit, CodecError> {
    let invalid = |field: String| CodecError::invalid(Document::Audit, field);
    let text = std::str::from_utf8(stored).map_err(|_| invalid(String::new()))?;
    let read = Read { document: Document::Audit, version_field: "v", version: VERSION };
    let audit: Audit = read_json(text, read)?;
    if audit.entries.is_empty() {
        return Err(invalid("entries".to_owned()));
    }
    match audit.entries.iter().position(|entry| entry.turn.is_some() != entry.index.is_some()) {
        Some(half) => Err(invalid(format!("entries[{half}].index"))),
        None => Ok(audit),
    }
}
