//! The policy of a scenario. Its rules are those of `policy.toml`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_codec::{Context, ToolDefinition};
use holdpoint_config::Problem;
use holdpoint_core::Decision;
use holdpoint_policy::{AuthorizeRequest, Policy, PolicyError, PolicyVersion, RuleSpec, Rules};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What a file has under `policy`.
#[derive(Clone, Default)]
pub(crate) struct PolicySpec {
    rules: Option<Vec<RuleSpec>>,
    /// Nothing when no policy is configured, or before the rules are compiled.
    pub(crate) policy: Option<Arc<dyn Policy>>,
}

impl PolicySpec {
    /// Checks the rules. The path of a problem begins with the index of the rule.
    pub(super) fn compile(&mut self) -> Result<(), Problem> {
        if let Some(rules) = &self.rules {
            self.policy = Some(Arc::new(ScenarioRules(Rules::new(rules)?)));
        }
        Ok(())
    }
}

impl fmt::Debug for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PolicySpec").field(&self.rules).finish()
    }
}

impl<'de> Deserialize<'de> for PolicySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListOrWord;
        impl<'de> Visitor<'de> for ListOrWord {
            type Value = PolicySpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of rules, `none` or `broken`")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<PolicySpec, E> {
                match word {
                    "none" => Ok(PolicySpec::default()),
                    "broken" => Ok(PolicySpec { rules: None, policy: Some(Arc::new(BrokenPolicy)) }),
                    other => Err(E::unknown_variant(other, &["none", "broken"])),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, rules: A) -> Result<PolicySpec, A::Error> {
                let rules = Vec::deserialize(SeqAccessDeserializer::new(rules))?;
                Ok(PolicySpec { rules: Some(rules), policy: None })
            }
        }
        deserializer.deserialize_any(ListOrWord)
    }
}

/// Rules that may name tools which a later step brings.
struct ScenarioRules(Rules);

#[async_trait]
impl Policy for ScenarioRules {
    async fn filter(
        &self,
        tools: Vec<Arc<ToolDefinition>>,
        context: &Context,
    ) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        self.0.filter(tools, context).await
    }

    async fn authorize(&self, request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        self.0.authorize(request).await
    }

    fn needs_history(&self) -> bool {
        self.0.needs_history()
    }

    fn version(&self) -> Option<PolicyVersion> {
        Policy::version(&self.0)
    }

    fn accepts_context_keys(&self, keys: &BTreeSet<Arc<str>>) -> Result<(), PolicyError> {
        self.0.accepts_context_keys(keys)
    }
}

/// A policy that fails, whatever it is asked.
struct BrokenPolicy;

#[async_trait]
impl Policy for BrokenPolicy {
    async fn filter(&self, _: Vec<Arc<ToolDefinition>>, _: &Context) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        Err(PolicyError::new("this policy is broken on purpose"))
    }

    async fn authorize(&self, _: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        Err(PolicyError::new("this policy is broken on purpose"))
    }
}
