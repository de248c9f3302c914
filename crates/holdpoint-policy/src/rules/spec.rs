//! Rules as they are written, in `policy.toml` and in scenarios.

use std::collections::BTreeMap;

use holdpoint_config::{Millis, RawJson};
use holdpoint_core::Decision;
use serde::{Deserialize, Serialize};

use super::Condition;

/// One rule. See [`crate::Rules`] for what the fields mean together.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// A glob on registered names.
    pub tool: String,
    /// What the audit calls it. `rule N` if absent.
    pub name: Option<String>,
    /// JSON pointers into the arguments with what must be there. All of them must hold.
    #[serde(default)]
    pub when: BTreeMap<String, Condition>,
    /// What must be true of who asks: `actor`, `tenant`, `roles`, names of attributes, or JSON pointers into them. All of
    /// it must hold.
    #[serde(default)]
    pub context: BTreeMap<String, Condition>,
    /// What must be true of the run so far.
    #[serde(default)]
    pub history: HistorySpec,
    /// What follows. Must be there unless the rule hides.
    pub decide: Option<Decide>,
    /// For people and the model.
    pub reason: Option<String>,
    /// Roles of which an approver needs one. Only with `confirm`.
    #[serde(default)]
    pub approvers: Vec<String>,
    /// How many different people must approve. Only with `confirm`.
    pub quorum: Option<u32>,
    /// How long the question stays open, as in `4h`. Only with `confirm`.
    pub expires_in: Option<Millis>,
    /// The same in milliseconds.
    pub expires_in_ms: Option<u64>,
    /// Whether whoever started the run may not answer. Only with `confirm`.
    #[serde(default)]
    pub four_eyes: bool,
    /// Whether the tools are kept from the model.
    #[serde(default)]
    pub hide: bool,
    /// What the author expects, checked when the rules are loaded.
    #[serde(default)]
    pub example: Vec<ExampleSpec>,
}

impl RuleSpec {
    /// A rule without conditions.
    pub fn new(tool: impl Into<String>, decide: Decide) -> Self {
        Self { tool: tool.into(), decide: Some(decide), ..Self::default() }
    }
}

/// What must be true of the earlier calls of the same tool in the same run, as far as they were let through.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistorySpec {
    /// How many they are. The call that is asked about does not count.
    pub calls: Option<Condition>,
    /// JSON pointers into the arguments with what the sum of the numbers there must be: those of the earlier calls and
    /// that of the call that is asked about.
    #[serde(default)]
    pub sum: BTreeMap<String, Condition>,
}

impl HistorySpec {
    /// Whether it asks nothing.
    pub fn is_empty(&self) -> bool {
        self.calls.is_none() && self.sum.is_empty()
    }
}

/// A call, and what all the rules together decide about it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleSpec {
    /// The tool that is called. The rule's own if absent.
    pub tool: Option<String>,
    /// The arguments of the call. None if absent.
    pub arguments: Option<RawJson>,
    /// Who asks, with the names that rules use: `actor`, `tenant`, `roles` and attributes. Nobody in particular if absent.
    #[serde(default)]
    pub context: BTreeMap<String, RawJson>,
    /// The arguments of earlier calls of the tool that were let through.
    #[serde(default)]
    pub past: Vec<RawJson>,
    /// What must follow.
    pub decides: Decide,
}

/// What follows when a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decide {
    /// The call may run.
    Allow,
    /// The call may not run.
    Deny,
    /// A person must answer first.
    Confirm,
}

impl Decide {
    /// What a decision says, without its reasons.
    pub fn of(decision: &Decision) -> Self {
        match decision {
            Decision::Allow(_) => Decide::Allow,
            Decision::Deny(_) => Decide::Deny,
            Decision::Confirm(..) => Decide::Confirm,
        }
    }

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Decide::Allow => "allow",
            Decide::Deny => "deny",
            Decide::Confirm => "confirm",
        }
    }
}
