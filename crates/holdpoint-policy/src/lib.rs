//! Who may call what: the policy trait and the rules file.
//!
//! A [`Policy`] sees registered names and canonical arguments only. The driver never asks it directly but through
//! [`Guarded`], where a policy that is missing, fails, panics or takes too long denies. [`Rules`] is the policy that is
//! written in a file.

mod guarded;
mod policy;
mod ready_made;
mod rules;
mod run_facts;

pub use guarded::{Guarded, Judged, PolicyFault, TIMEOUT_DEFAULT};
pub use policy::{AuthorizeRequest, Judgement, KnownTools, OwnedRequest, Policy, PolicyError, PolicyVersion, Shadow};
pub use ready_made::{AllowAll, DenyAll, IntoDecision, async_policy_fn, policy_fn};
pub use rules::{
    Change, Condition, Decide, EXPIRES_IN_MS_MAX, ExampleSpec, ExplainedCondition, ExplainedRule, Explanation,
    FILE_BYTES_MAX, HistorySpec, Mode, QUORUM_MAX, REGEX_BYTES_MAX, RULES_MAX, RecordedCall, Replay, RuleAbout,
    RulePlace, RuleSpec, RuleWarning, Rules, RulesFile, Saw, Show, replay,
};
pub use run_facts::{PastCall, RunFacts};
