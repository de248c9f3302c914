//! What a policy says, what a person says, and what stands between them: the question.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{Arguments, Doubt, Timestamp, ToolResult};

/// Why a decision was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ground {
    /// For people and the model.
    pub reason: Option<Arc<str>>,
    /// The rule that gave it, if a rule did.
    pub rule: Option<Arc<str>>,
    /// Which policy decided, if it can tell.
    pub policy: Option<Arc<str>>,
}

impl Ground {
    /// A reason without a rule.
    pub fn reason(reason: impl Into<Arc<str>>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }
}

/// A policy's verdict on one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may run.
    Allow(Ground),
    /// It may not run.
    Deny(Ground),
    /// A person must answer first.
    Confirm(Ground, Terms),
}

impl Decision {
    /// It may run.
    pub fn allow() -> Self {
        Self::Allow(Ground::default())
    }

    /// It may not run.
    pub fn deny(reason: impl Into<Arc<str>>) -> Self {
        Self::Deny(Ground::reason(reason))
    }

    /// Anyone must say yes first.
    pub fn confirm(reason: impl Into<Arc<str>>) -> Self {
        Self::Confirm(Ground::reason(reason), Terms::default())
    }

    /// Why.
    pub fn ground(&self) -> &Ground {
        match self {
            Decision::Allow(ground) | Decision::Deny(ground) | Decision::Confirm(ground, _) => ground,
        }
    }

    /// The same, with the policy that decided.
    #[must_use]
    pub fn by_policy(mut self, policy: Option<Arc<str>>) -> Self {
        match &mut self {
            Decision::Allow(ground) | Decision::Deny(ground) | Decision::Confirm(ground, _) => ground.policy = policy,
        }
        self
    }
}

/// Who may answer a question, how many must, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Roles of which an approver needs one. Empty: anyone may answer.
    pub approvers: BTreeSet<Arc<str>>,
    /// How many different people must approve. At least 1.
    pub quorum: u32,
    /// How long the question stays open.
    pub expires_in_ms: Option<u64>,
    /// Whether the one who started the run may answer.
    pub four_eyes: FourEyes,
}

/// Whether the one who started a run may answer its questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FourEyes {
    /// They may, if they have the role.
    #[default]
    Off,
    /// Somebody else must, and must say who they are.
    On,
}

impl Terms {
    /// Whether a person may answer a question about a run that somebody started.
    pub fn admit(&self, actor: &Actor, requester: &Actor) -> bool {
        let has_role = self.approvers.is_empty() || !self.approvers.is_disjoint(&actor.roles);
        let is_other = match self.four_eyes {
            FourEyes::Off => true,
            FourEyes::On => actor.id.is_some() && actor.id != requester.id,
        };
        has_role && is_other
    }

    /// Whether the same people may answer.
    pub(crate) fn asks_the_same(&self, other: &Terms) -> bool {
        self.approvers == other.approvers && self.four_eyes == other.four_eyes
    }
}

impl Default for Terms {
    fn default() -> Self {
        Self { approvers: BTreeSet::new(), quorum: 1, expires_in_ms: None, four_eyes: FourEyes::Off }
    }
}

/// Who did something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actor {
    /// The person's or token's name. Nobody in particular when absent.
    pub id: Option<Arc<str>>,
    /// The roles that rules may ask for.
    pub roles: BTreeSet<Arc<str>>,
    /// The tenant, where there are tenants.
    pub tenant: Option<Arc<str>>,
}

/// What a person is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// Why it is asked.
    pub ground: Ground,
    /// Who may answer, how many must.
    pub terms: Terms,
    /// Past this moment the call is expired.
    pub deadline: Option<Timestamp>,
    /// Those who approved what is shown now, in order.
    pub approvals: Vec<Actor>,
    /// How many of them are grants, which come first: whoever gave one may still say no to this call.
    pub standing: u32,
    /// Whether it was asked before, about the same arguments of a tool that has changed since.
    pub again: bool,
    /// What is doubted, if the question is about a call whose outcome is unknown.
    pub doubt: Option<Doubt>,
}

/// What a person says to a question.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Run it.
    Approve,
    /// Run it with other arguments.
    ApproveEdited(Arguments),
    /// Do not run it.
    Refuse {
        /// For the model.
        reason: Option<Arc<str>>,
    },
    /// Take this in place of the tool's result.
    Supply(Arc<ToolResult>),
    /// Of a call whose outcome is unknown: it happened, with this result.
    Happened(Arc<ToolResult>),
}
