//! What policies and people say.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Arguments, Decision, FourEyes, Ground, Question, QuestionAnswer, Stated, Terms, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::names::Named;
use super::{
    DigestText, DoubtWire, Fault, Json, Name, ResultWire, Text, VerdictName, Wire, all_core, all_of, is_default,
    is_one, one,
};

/// A person or a program that did something.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ActorView))]
pub struct ActorWire {
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Text>,
    /// The roles that it may answer in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Text>,
    /// Its tenant, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Text>,
}

impl ActorWire {
    /// Nothing for an actor without a name, a role or a tenant.
    pub(crate) fn known(actor: &Actor) -> Option<Self> {
        (*actor != Actor::default()).then(|| Self::of(actor))
    }
}

impl Wire for ActorWire {
    type Core = Actor;

    fn of(actor: &Actor) -> Self {
        Self {
            id: actor.id.as_ref().map(Text::share),
            roles: texts_of(&actor.roles),
            tenant: actor.tenant.as_ref().map(Text::share),
        }
    }

    fn core(self) -> Result<Actor, Fault> {
        Ok(Actor {
            id: self.id.map(|text| text.0),
            roles: texts_core(self.roles),
            tenant: self.tenant.map(|text| text.0),
        })
    }
}

pub(super) fn texts_of(texts: &BTreeSet<Arc<str>>) -> Vec<Text> {
    texts.iter().map(Text::share).collect()
}

pub(super) fn texts_core(texts: Vec<Text>) -> BTreeSet<Arc<str>> {
    texts.into_iter().map(|text| text.0).collect()
}

/// The terms under which people let a call run.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct TermsWire {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    approvers: Vec<Text>,
    #[serde(default, skip_serializing_if = "is_default")]
    four_eyes: bool,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    quorum: u32,
}

impl Wire for TermsWire {
    type Core = Terms;

    fn of(terms: &Terms) -> Self {
        let four_eyes = terms.four_eyes == FourEyes::On;
        Self { approvers: texts_of(&terms.approvers), four_eyes, quorum: terms.quorum }
    }

    fn core(self) -> Result<Terms, Fault> {
        let (approvers, four_eyes) = (texts_core(self.approvers), four_eyes_core(self.four_eyes));
        Ok(Terms { approvers, quorum: self.quorum, expires_in_ms: None, four_eyes })
    }
}

/// A policy's decision about a call.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DecisionView))]
pub struct DecisionWire {
    /// With `confirm`: the roles of which one is needed to answer. None: any person may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<Text>,
    /// `allow`, `deny` or `confirm`.
    pub decide: VerdictName,
    /// With `confirm`: how long the question may wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// With `confirm`: whether the caller that started the run may not answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub four_eyes: bool,
    /// The version of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Text>,
    /// With `confirm`: how many different people must approve.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub quorum: u32,
    /// The reason that the rule gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// The rule that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Text>,
}

/// What a policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// The call may not run.
    Deny,
    /// A person must answer first.
    Confirm,
}

impl Named for Verdict {
    const NAMES: &'static [&'static str] = &["allow", "deny", "confirm"];

    fn name(&self) -> &str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Deny => "deny",
            Verdict::Confirm => "confirm",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Verdict::Allow, Verdict::Deny, Verdict::Confirm].into_iter().find(|verdict| verdict.name() == name)
    }
}

impl Wire for DecisionWire {
    type Core = Decision;

    fn of(decision: &Decision) -> Self {
        let (verdict, terms) = match decision {
            Decision::Allow(_) => (Verdict::Allow, &Terms::default()),
            Decision::Deny(_) => (Verdict::Deny, &Terms::default()),
            Decision::Confirm(_, terms) => (Verdict::Confirm, terms),
        };
        let ground = decision.ground();
        Self {
            approvers: texts_of(&terms.approvers),
            decide: Name(verdict),
            expires_in_ms: terms.expires_in_ms,
            four_eyes: terms.four_eyes == FourEyes::On,
            policy: ground.policy.as_ref().map(Text::share),
            quorum: terms.quorum,
            reason: ground.reason.as_ref().map(Text::share),
            rule: ground.rule.as_ref().map(Text::share),
        }
    }

    fn core(self) -> Result<Decision, Fault> {
        let ground = ground_core(self.reason, self.rule, self.policy);
        Ok(match self.decide.0 {
            Verdict::Allow => Decision::Allow(ground),
            Verdict::Deny => Decision::Deny(ground),
            Verdict::Confirm => {
                let approvers = texts_core(self.approvers);
                let four_eyes = four_eyes_core(self.four_eyes);
                let terms = Terms { approvers, quorum: self.quorum, expires_in_ms: self.expires_in_ms, four_eyes };
                Decision::Confirm(ground, terms)
            }
        })
    }
}

fn ground_core(reason: Option<Text>, rule: Option<Text>, policy: Option<Text>) -> Ground {
    let text = |text: Option<Text>| text.map(|text| text.0);
    Ground { reason: text(reason), rule: text(rule), policy: text(policy) }
}

pub(super) fn four_eyes_core(on: bool) -> FourEyes {
    if on { FourEyes::On } else { FourEyes::Off }
}

/// An open question.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct QuestionWire {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<QuestionAnswerWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    approvers: Vec<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_us: Option<i64>,
    #[serde(default, skip_serializing_if = "is_default")]
    doubt: DoubtWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    doubted_since_us: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_in_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "is_default")]
    four_eyes: bool,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    number: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<Text>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    quorum: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<Text>,
}

/// One person's answer to a question that needs several.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct QuestionAnswerWire {
    actor: ActorWire,
    answer: AnswerWire,
    at_us: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Text>,
    #[serde(default, skip_serializing_if = "is_default")]
    standing: bool,
}

impl Wire for QuestionAnswerWire {
    type Core = QuestionAnswer;

    fn of(answer: &QuestionAnswer) -> Self {
        Self {
            actor: ActorWire::of(&answer.actor),
            answer: match &answer.stated {
                Stated::Approve => AnswerWire::Approve(Nothing {}),
                Stated::Supply(result) => AnswerWire::Supply(ResultWire::of(result)),
                Stated::Happened(result) => AnswerWire::Happened(ResultWire::of(result)),
            },
            at_us: answer.at.0,
            reason: answer.reason.as_ref().map(Text::share),
            standing: answer.standing,
        }
    }

    fn core(self) -> Result<QuestionAnswer, Fault> {
        let answer = self.answer.core().map_err(|fault| fault.within("answer"))?;
        Ok(QuestionAnswer {
            actor: self.actor.core().map_err(|fault| fault.within("actor"))?,
            stated: Stated::of(&answer).ok_or_else(|| Fault::at("answer"))?,
            standing: self.standing,
            at: Timestamp(self.at_us),
            reason: self.reason.map(|text| text.0),
        })
    }
}

impl Wire for QuestionWire {
    type Core = Question;

    fn of(question: &Question) -> Self {
        Self {
            answers: all_of(&question.answers),
            approvers: texts_of(&question.terms.approvers),
            deadline_us: question.deadline.map(|at| at.0),
            doubt: question.doubt.as_ref().map(DoubtWire::of).unwrap_or_default(),
            doubted_since_us: question.doubt.as_ref().map(|doubt| doubt.started_at.0),
            expires_in_ms: question.terms.expires_in_ms,
            four_eyes: question.terms.four_eyes == FourEyes::On,
            number: question.number,
            policy: question.ground.policy.as_ref().map(Text::share),
            quorum: question.terms.quorum,
            reason: question.ground.reason.as_ref().map(Text::share),
            rule: question.ground.rule.as_ref().map(Text::share),
        }
    }

    fn core(self) -> Result<Question, Fault> {
        let doubt = match (self.doubted_since_us, self.doubt) {
            (Some(us), doubt) => Some(doubt.core(Timestamp(us)).map_err(|fault| fault.within("doubt"))?),
            (None, doubt) if doubt == DoubtWire::default() => None,
            (None, _) => return Err(Fault::at("doubted_since_us")),
        };
        Ok(Question {
            number: self.number,
            ground: ground_core(self.reason, self.rule, self.policy),
            terms: Terms {
                approvers: texts_core(self.approvers),
                quorum: self.quorum,
                expires_in_ms: self.expires_in_ms,
                four_eyes: four_eyes_core(self.four_eyes),
            },
            deadline: self.deadline_us.map(Timestamp),
            answers: all_core(self.answers, "answers")?,
            doubt,
        })
    }
}

/// What a person said.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnswerWire {
    Approve(Nothing),
    /// The event does not say which tool it is about, so the digest cannot be made again.
    ApproveEdited(EditWire),
    Refuse(RefusalWire),
    Supply(ResultWire),
    Happened(ResultWire),
}

/// An object without members.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct Nothing {}

/// Edited arguments.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct EditWire {
    arguments: Json,
    digest: DigestText,
}

/// A refusal.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct RefusalWire {
    #[serde(default, skip_serializing_if = "is_default")]
    reason: Option<Text>,
}

impl Wire for AnswerWire {
    type Core = Answer;

    fn of(answer: &Answer) -> Self {
        match answer {
            Answer::Approve => AnswerWire::Approve(Nothing {}),
            Answer::ApproveEdited(arguments) => AnswerWire::ApproveEdited(EditWire {
                arguments: Json::new(arguments.share()),
                digest: DigestText(arguments.digest()),
            }),
            Answer::Refuse { reason } => AnswerWire::Refuse(RefusalWire { reason: reason.as_ref().map(Text::share) }),
            Answer::Supply(result) => AnswerWire::Supply(ResultWire::of(result)),
            Answer::Happened(result) => AnswerWire::Happened(ResultWire::of(result)),
        }
    }

    fn core(self) -> Result<Answer, Fault> {
        Ok(match self {
            AnswerWire::Approve(Nothing {}) => Answer::Approve,
            AnswerWire::ApproveEdited(EditWire { arguments, digest }) => {
                Answer::ApproveEdited(Arguments::from_canonical(arguments.as_str(), digest.0))
            }
            AnswerWire::Refuse(RefusalWire { reason }) => Answer::Refuse { reason: reason.map(|text| text.0) },
            AnswerWire::Supply(result) => Answer::Supply(Arc::new(result.core().map_err(|f| f.within("supply"))?)),
            AnswerWire::Happened(result) => {
                Answer::Happened(Arc::new(result.core().map_err(|f| f.within("happened"))?))
            }
        })
    }
}
