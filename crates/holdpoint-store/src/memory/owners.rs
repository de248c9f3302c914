//! Agents with tenants, each pair kept once for all runs.

use std::sync::Arc;

use indexmap::IndexSet;

use crate::{Agents, HeadUpdate, StoreError};

/// Names an agent and a tenant in the table of owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnerIndex(u32);

#[derive(Default)]
pub(super) struct Owners(IndexSet<Owner>);

/// An agent with a tenant.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    pub(super) agent: Option<Arc<str>>,
    pub(super) tenant: Option<Arc<str>>,
}

impl Owners {
    pub(super) fn index_of(&mut self, head: &HeadUpdate) -> Result<OwnerIndex, StoreError> {
        let (index, _) = self.0.insert_full(Owner { agent: head.agent.clone(), tenant: head.tenant.clone() });
        let index = u32::try_from(index);
        index.map(OwnerIndex).map_err(|error| StoreError::failed("remember another agent or tenant", error))
    }

    pub(super) fn get(&self, index: OwnerIndex) -> &Owner {
        &self.0[index.0 as usize]
    }

    /// Whether the owner is one of these agents.
    pub(super) fn is_of(&self, index: OwnerIndex, agents: &Agents) -> bool {
        let name = self.get(index).agent.as_deref().unwrap_or_default();
        agents.iter().any(|agent| **agent == *name)
    }
}
