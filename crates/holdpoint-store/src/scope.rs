//! Whose objects somebody may see.

use std::sync::Arc;

/// What of a store somebody may see. What is outside is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    #[default]
    All,
    /// What belongs to this tenant.
    Tenant(Arc<str>),
}

impl Scope {
    /// Everything, or what belongs to a tenant.
    pub fn of(tenant: Option<&str>) -> Self {
        tenant.map_or(Scope::All, |tenant| Scope::Tenant(tenant.into()))
    }

    /// The tenant, unless it is everything.
    pub fn tenant(&self) -> Option<&str> {
        match self {
            Scope::All => None,
            Scope::Tenant(tenant) => Some(tenant),
        }
    }

    /// Whether something that belongs to `owner` is within.
    pub fn covers(&self, owner: Option<&str>) -> bool {
        match self {
            Scope::All => true,
            Scope::Tenant(tenant) => owner == Some(tenant),
        }
    }
}
