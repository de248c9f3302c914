//! A pending call, as payloads, streams and the API show it.

use std::borrow::Cow;

use holdpoint_core::{Block, Doubt, Evidence, FourEyes, QuestionAnswer, Stated, ToolResult};
use serde::{Deserialize, Deserializer, Serialize};

use super::decision::texts_of;
use super::{DigestText, DoubtCauseName, Fault, Json, Moment, Name, QuestionKindName, Text, is_default, is_one, one};
use crate::pending::{Kept, Pending};
use crate::question::DecisionWord;
use crate::result::ResultView;

/// A call that waits for an answer or a result.
///
/// Fields are in the order of their names: a signed payload holds it as it is written.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PendingView))]
pub struct PendingWire {
    /// Whether another question about the call was asked before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub again: bool,
    /// Answers short of the quorum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<ShownAnswer>,
    /// The people who approved so far; `null` for a person without a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Option<Text>>,
    /// The roles of which one is needed to answer. None: any person may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<Text>,
    /// The arguments that it would run with.
    pub arguments: Json,
    /// Covers the tool's name and the arguments.
    pub arguments_digest: DigestText,
    /// Names and sizes of the arguments: safe to log.
    pub arguments_summary: String,
    /// The attempt that is awaited, or that would be next.
    pub attempt: u32,
    /// An answer or a result after this moment is too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Moment>,
    /// Only in payloads: the decision that was kept, or `null`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "kept")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub(crate) decision: Option<Option<Cow<'static, str>>>,
    /// The digest that an answer must name; of a call that waits for its result, that of the arguments.
    pub digest: DigestText,
    /// What is known of the call, if it is unknown whether it took effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<ShownDoubt>,
    /// Whether the caller that started the run may not answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub four_eyes: bool,
    /// The id of the call that messages show.
    pub id: Text,
    /// Equal over all attempts.
    pub idempotency_key: Text,
    /// The position of the call in the turn, from 0.
    pub index: u32,
    /// What is asked; absent when no person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<QuestionKindName>,
    /// The name that the model asked for.
    pub name: Text,
    /// How many different people must approve.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub quorum: u32,
    /// Why a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// Only in payloads: the result that was kept, or `null`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "kept")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub(crate) result: Option<Option<ResultView>>,
    /// The rule that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Text>,
    /// When the call in doubt was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Moment>,
    /// The registered tool.
    pub tool: Text,
    /// `native`, `mcp:SERVER`, `skills`, `http`, `command` or `worker`.
    pub tool_source: Text,
    /// Whether it is unknown if the call took effect.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uncertain: bool,
}

/// One person's answer to a question that needs several.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PendingAnswerView))]
pub struct ShownAnswer {
    /// The person, if they have a name.
    pub actor: Option<Text>,
    /// When they answered.
    pub at: Moment,
    /// What the person decided.
    pub decision: DecisionWord,
    /// The person's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// The result that was given, so that the next person can give the same. Not in payloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultView>,
    /// Whether a grant answered for them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub standing: bool,
}

impl ShownAnswer {
    fn of(answer: &QuestionAnswer) -> Self {
        let decision = match answer.stated {
            Stated::Approve => DecisionWord::Allow,
            Stated::Supply(_) => DecisionWord::Answer,
            Stated::Happened(_) => DecisionWord::Happened,
        };
        Self {
            actor: answer.actor.id.as_ref().map(Text::share),
            at: Moment(answer.at),
            decision,
            reason: answer.reason.as_ref().map(Text::share),
            result: None,
            standing: answer.standing,
        }
    }

    fn with_result(answer: &QuestionAnswer) -> Self {
        let result = match &answer.stated {
            Stated::Approve => None,
            Stated::Supply(result) | Stated::Happened(result) => Some(ResultView::of(result)),
        };
        Self { result, ..Self::of(answer) }
    }
}

/// Why it is unknown whether a call took effect.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DoubtView))]
pub struct ShownDoubt {
    /// What the tool asks before it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<ShownAsk>,
    /// The attempt in doubt.
    pub attempt: u32,
    /// How it came to be in doubt.
    pub cause: DoubtCauseName,
    /// Results that came too late to count. Not in payloads, which hold them with the state of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<ShownEvidence>>,
    /// The worker that had the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<Text>,
}

/// What a tool asks a person. The state that the tool wants back with the answer is not shown.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AskView))]
pub struct ShownAsk {
    /// For the person.
    pub message: String,
    /// The JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Json>,
}

/// A result that came too late to count.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = EvidenceView))]
pub struct ShownEvidence {
    /// When it came.
    pub at: Moment,
    /// The attempt that it is of.
    pub attempt: u32,
    /// The result.
    pub result: ResultView,
    /// The worker that brought it.
    pub worker: Text,
}

impl ShownEvidence {
    fn of(evidence: &Evidence) -> Self {
        Self {
            at: Moment(evidence.at),
            attempt: evidence.attempt.0,
            result: ResultView::of(&evidence.result),
            worker: Text::share(&evidence.worker),
        }
    }
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
        Self { asks, attempt: doubt.attempt.0, cause: Name(doubt.cause), evidence: None, worker }
    }

    fn with_evidence(doubt: &Doubt) -> Self {
        Self { evidence: Some(doubt.evidence.iter().map(ShownEvidence::of).collect()), ..Self::of(doubt) }
    }
}

/// `null` or a value: present either way.
fn kept<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// `null` or a value, but not absent.
pub(crate) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

impl PendingWire {
    /// What people and programs are shown.
    pub(crate) fn shown(pending: &Pending) -> Self {
        Self {
            answers: pending.answers.iter().map(ShownAnswer::with_result).collect(),
            doubt: pending.doubt.as_ref().map(ShownDoubt::with_evidence),
            decision: None,
            result: None,
            ..Self::of(pending, &Kept::default())
        }
    }

    /// What a payload holds.
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
            decision: Some(kept.decision.map(Cow::Borrowed)),
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
            result: Some(kept.result.as_deref().map(ResultView::of)),
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
