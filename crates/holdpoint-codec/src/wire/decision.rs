//! Public forms of actors and decisions.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{Actor, Decision, FourEyes, Terms, named};
use serde::{Deserialize, Serialize};

use super::{Name, Text, VerdictName, is_default, is_one, one};

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
    pub(crate) fn of(actor: &Actor) -> Self {
        Self {
            id: actor.id.as_ref().map(Text::share),
            roles: texts_of(&actor.roles),
            tenant: actor.tenant.as_ref().map(Text::share),
        }
    }

    /// Nothing for an actor without a name, a role or a tenant.
    pub(crate) fn known(actor: &Actor) -> Option<Self> {
        (*actor != Actor::default()).then(|| Self::of(actor))
    }
}

pub(super) fn texts_of(texts: &BTreeSet<Arc<str>>) -> Vec<Text> {
    texts.iter().map(Text::share).collect()
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

named! {
    /// What a policy decides.
    pub enum Verdict {
        /// The call may run.
        Allow = "allow",
        /// The call may not run.
        Deny = "deny",
        /// A person must answer first.
        Confirm = "confirm",
    }
}

impl DecisionWire {
    pub(crate) fn of(decision: &Decision) -> Self {
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
}
