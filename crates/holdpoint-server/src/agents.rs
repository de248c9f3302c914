//! The agents that a server runs.

use std::sync::Arc;

use holdpoint::{Agent, Runner};
use holdpoint_policy::RulesFile;

/// An agent, and what people are told about it.
#[derive(Clone, Debug)]
pub struct ServedAgent {
    pub(crate) agent: Agent,
    pub(crate) description: Option<Arc<str>>,
    pub(crate) rules: Option<Arc<RulesFile>>,
}

impl ServedAgent {
    /// An agent with a name.
    pub fn new(agent: Agent) -> Self {
        Self { agent, description: None, rules: None }
    }

    /// What it is for, in a sentence.
    #[must_use]
    pub fn description(mut self, description: impl Into<Arc<str>>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The rules that its policy was made of, so that the server can explain decisions.
    #[must_use]
    pub fn rules(mut self, rules: Arc<RulesFile>) -> Self {
        self.rules = Some(rules);
        self
    }

    pub(crate) fn runner(&self) -> &Runner {
        self.agent.runner()
    }
}
