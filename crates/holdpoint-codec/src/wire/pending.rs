//! A pending call, as payloads, streams and the API show it.

use std::borrow::Cow;

use holdpoint_core::{Block, Doubt, DoubtCause, FourEyes, QuestionAnswer, QuestionKind, Stated, ToolResult};
use serde::{Deserialize, Deserializer, Serialize};

use super::decision::texts_of;
use super::{DigestText, Fault, Json, Moment, Name, ResultWire, Text, Wire, is_default, is_one, one};
use crate::pending::{Kept, Pending};

/// A pending call.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct PendingWire {
    #[serde(default, skip_serializing_if = "is_default")]
    again: bool,
    /// Answers short of the quorum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<ShownAnswer>,
    /// Who approved so far; `null` for a person without a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<Option<Text>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    approvers: Vec<Text>,
    arguments: Json,
    arguments_digest: DigestText,
    arguments_summary: String,
    attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<Moment>,
    #[serde(deserialize_with = "nullable")]
    decision: Option<Cow<'static, str>>,
    digest: DigestText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    doubt: Option<ShownDoubt>,
    #[serde(default, skip_serializing_if = "is_default")]
    four_eyes: bool,
    id: Text,
    idempotency_key: Text,
    pub(crate) index: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<Name<QuestionKind>>,
    name: Text,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    quorum: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Text>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) result: Option<ResultWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<Moment>,
    tool: Text,
    tool_source: Text,
    #[serde(default, skip_serializing_if = "is_default")]
    uncertain: bool,
}

/// One person's answer to a question that needs several.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct ShownAnswer {
    actor: Option<Text>,
    at: Moment,
    decision: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Text>,
    /// Whether a grant said it for them.
    #[serde(default, skip_serializing_if = "is_default")]
    standing: bool,
}

impl ShownAnswer {
    pub(crate) fn of(answer: &QuestionAnswer) -> Self {
        let decision = match answer.stated {
            Stated::Approve => "allow",
            Stated::Supply(_) => "answer",
            Stated::Happened(_) => "happened",
        };
        Self {
            actor: answer.actor.id.as_ref().map(Text::share),
            at: Moment(answer.at),
            decision: decision.into(),
            reason: answer.reason.as_ref().map(Text::share),
            standing: answer.standing,
        }
    }
}

/// Why nobody knows whether a call took effect.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct ShownDoubt {
    /// What the tool asks before it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asks: Option<ShownAsk>,
    attempt: u32,
    cause: Name<DoubtCause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worker: Option<Text>,
}

/// What a tool asks a person. What the tool wants back with the answer is nobody else's.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct ShownAsk {
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Json>,
}

impl ShownAsk {
    fn of(asks: &ToolResult) -> Self {
        let texts = asks.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(&**text),
            Block::Json(_) | Block::Image(_) | Block::File(_) => None,
        });
        let schema = asks.blocks.iter().find_map(|block| match block {
            Block::Json(schema) => Some(Json(schema.clone())),
            Block::Text(_) | Block::Image(_) | Block::File(_) => None,
        });
        Self { message: texts.collect::<Vec<_>>().join("\n"), schema }
    }
}

impl ShownDoubt {
    fn of(doubt: &Doubt) -> Self {
        let worker = doubt.worker.as_ref().map(Text::share);
        let asks = doubt.asks.as_deref().map(ShownAsk::of);
        Self { asks, attempt: doubt.attempt.0, cause: Name(doubt.cause), worker }
    }
}

/// `null` or a value, but not absent.
pub(crate) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

impl PendingWire {
    pub(crate) fn of(pending: &Pending, kept: &Kept) -> Self {
        Self {
            again: pending.again,
            answers: pending.answers.iter().map(ShownAnswer::of).collect(),
            approvals: pending.approvals().map(|actor| actor.id.as_ref().map(Text::share)).collect(),
            approvers: texts_of(&pending.approvers),
            arguments: Json::new(pending.arguments.share()),
            arguments_digest: DigestText(pending.arguments_digest()),
            arguments_summary: pending.arguments_summary.clone(),
            attempt: pending.attempt.0,
            deadline: pending.deadline.map(Moment),
            decision: kept.decision.map(Cow::Borrowed),
            digest: DigestText(pending.digest),
            doubt: pending.doubt.as_ref().map(ShownDoubt::of),
            four_eyes: pending.four_eyes == FourEyes::On,
            id: Text::new(pending.id.as_str()),
            idempotency_key: Text::new(pending.idempotency_key.as_str()),
            index: pending.index.0,
            kind: pending.kind.map(Name),
            name: Text::new(pending.name.as_str()),
            quorum: pending.quorum,
            reason: pending.reason.as_ref().map(Text::share),
            result: kept.result.as_deref().map(|result: &ToolResult| ResultWire::of(result)),
            rule: pending.rule.as_ref().map(Text::share),
            started_at: pending.doubt.as_ref().map(|doubt| Moment(doubt.started_at)),
            tool: Text::new(pending.tool.as_str()),
            tool_source: Text::share(&pending.tool_source),
            uncertain: pending.is_uncertain(),
        }
    }

    /// Whether it says what the state of the call says.
    pub(crate) fn expect(&self, other: &Self) -> Result<(), Fault> {
        let checks = [
            ("index", self.index == other.index),
            ("id", self.id == other.id),
            ("name", self.name == other.name),
            ("tool", self.tool == other.tool),
            ("arguments", self.arguments == other.arguments),
            ("digest", self.digest == other.digest),
            ("arguments_digest", self.arguments_digest == other.arguments_digest),
            ("decision", self.decision == other.decision),
            ("result", self.result == other.result),
            ("idempotency_key", self.idempotency_key == other.idempotency_key),
            ("", self == other),
        ];
        match checks.into_iter().find(|(_, same)| !same) {
            Some((field, _)) => Err(Fault::at(field)),
            None => Ok(()),
        }
    }
}
