//! What a policy decides about a call, and what a person answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::named::named;
use crate::{Arguments, ToolResult};

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
    /// The terms on which a person must be asked before a call starts. `approved` are the terms under which people let it
    /// run; nothing when nobody was asked. Nothing when it may start.
    pub fn asks_again(&self, approved: Option<&Terms>) -> Option<&Terms> {
        match (self, approved) {
            (Decision::Confirm(_, terms), None) => Some(terms),
            (Decision::Confirm(_, terms), Some(approved)) => terms.stricter_than(approved).then_some(terms),
            (Decision::Allow(_) | Decision::Deny(_), _) => None,
        }
    }

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

named! {
    /// Whether the one who started a run may answer its questions.
    #[derive(Default)]
    pub enum FourEyes {
        /// They may, if they have the role.
        #[default]
        Off = "off",
        /// Somebody else must, and must say who they are.
        On = "on",
    }
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

    /// Whether answers under `other` are not enough under these: a larger quorum, four eyes, or people who could answer then
    /// and cannot now.
    pub fn stricter_than(&self, other: &Terms) -> bool {
        let shuts_out =
            !self.approvers.is_empty() && (other.approvers.is_empty() || !other.approvers.is_subset(&self.approvers));
        let four_eyes = self.four_eyes == FourEyes::On && other.four_eyes == FourEyes::Off;
        self.quorum.max(1) > other.quorum.max(1) || four_eyes || shuts_out
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

impl From<&str> for Actor {
    /// A person without roles and tenant.
    fn from(id: &str) -> Self {
        Self { id: Some(id.into()), ..Self::default() }
    }
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

impl Answer {
    /// The stable word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Answer::Approve | Answer::ApproveEdited(_) => "allow",
            Answer::Refuse { .. } => "deny",
            Answer::Supply(_) => "answer",
            Answer::Happened(_) => "happened",
        }
    }

    /// The result that it brings.
    pub fn result(&self) -> Option<&Arc<ToolResult>> {
        match self {
            Answer::Supply(result) | Answer::Happened(result) => Some(result),
            Answer::Approve | Answer::ApproveEdited(_) | Answer::Refuse { .. } => None,
        }
    }
}
