//! Agents with tenants, each pair kept once for all runs.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Agents, HeadUpdate, StoreError};

/// Names an agent and a tenant in the table of owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnerIndex(u32);

/// The pairs.
#[derive(Default)]
pub(super) struct Owners {
    pairs: Vec<Owner>,
    indexes: HashMap<Owner, u32>,
}

/// An agent with a tenant.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    pub(super) agent: Option<Arc<str>>,
    pub(super) tenant: Option<Arc<str>>,
}

impl Owner {
    pub(super) fn agent_name(&self) -> &str {
        self.agent.as_deref().unwrap_or_default()
    }
}

impl Owners {
    /// Where the pair is.
    pub(super) fn index_of(&mut self, head: &HeadUpdate) -> Result<OwnerIndex, StoreError> {
        let owner = Owner { agent: head.agent.clone(), tenant: head.tenant.clone() };
        if let Some(index) = self.indexes.get(&owner) {
            return Ok(OwnerIndex(*index));
        }
        let index = u32::try_from(self.pairs.len())
            .map_err(|error| StoreError::failed("remember another agent or tenant", error))?;
        self.pairs.push(owner.clone());
        self.indexes.insert(owner, index);
        Ok(OwnerIndex(index))
    }

    pub(super) fn get(&self, index: OwnerIndex) -> &Owner {
        &self.pairs[index.0 as usize]
    }

    /// Which pairs belong to these agents.
    pub(super) fn of_agents(&self, agents: &Agents) -> OfAgents {
        OfAgents(self.pairs.iter().map(|owner| agents.iter().any(|agent| **agent == *owner.agent_name())).collect())
    }
}

/// The pairs of some agents.
pub(super) struct OfAgents(Vec<bool>);

impl OfAgents {
    pub(super) fn contains(&self, index: OwnerIndex) -> bool {
        self.0.get(index.0 as usize).copied().unwrap_or_default()
    }
}
