//! Who may call what: the policy trait and the rules file.
//!
//! A [`Policy`] sees registered names and canonical arguments only. The driver never asks it directly but through
//! [`Guarded`], where a policy that is missing, fails, panics or takes too long denies. [`Rules`] is the policy that is
//! written in a file.

mod guarded;
mod policy;
mod ready_made;
mod rules;

pub use guarded::{Guarded, PolicyFault, TIMEOUT_DEFAULT};
pub use policy::{AuthorizeRequest, OwnedRequest, Policy, PolicyError, RunFacts};
pub use ready_made::{AllowAll, DenyAll, IntoDecision, async_policy_fn, policy_fn};
pub use rules::{
    Condition, Decide, EXPIRES_IN_MS_MAX, ExampleSpec, FILE_BYTES_MAX, Literal, Number, QUORUM_MAX, REGEX_BYTES_MAX,
    RULES_MAX, RulePlace, RuleProblem, RuleSpec, Rules, RulesError,
};
