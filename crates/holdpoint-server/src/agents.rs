//! The agents that a server runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use holdpoint::{Agent, Runner};
use holdpoint_policy::RulesFile;

/// An agent, and what people are told about it.
#[derive(Clone)]
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

impl fmt::Debug for ServedAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedAgent").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// All agents by name. Never empty.
#[derive(Clone, Debug)]
pub(crate) struct Agents {
    by_name: BTreeMap<Arc<str>, ServedAgent>,
}

impl Agents {
    /// Nothing when there is no agent.
    pub(crate) fn new(by_name: BTreeMap<Arc<str>, ServedAgent>) -> Option<Self> {
        if by_name.is_empty() { None } else { Some(Self { by_name }) }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&ServedAgent> {
        self.by_name.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &ServedAgent)> {
        self.by_name.iter()
    }

    pub(crate) fn runners(&self) -> impl Iterator<Item = &Runner> {
        self.by_name.values().map(ServedAgent::runner)
    }

    /// A runner that can read any run: reading needs a store, and no agent in particular.
    pub(crate) fn reader(&self) -> Option<&Runner> {
        self.runners().next()
    }
}
