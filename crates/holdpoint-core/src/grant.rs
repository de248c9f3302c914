//! Grants: what people said about calls that are yet to come. A grant is one person's standing approval: it counts where
//! that person's answer would, and for no more.

use std::sync::Arc;

use crate::{Actor, Arguments, Call, Digest, GrantId, Run, RunId, Terms, Timestamp, ToolName};

/// What a person wants to be taken as said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remember {
    /// For which calls.
    pub covers: Covers,
    /// Where.
    pub reach: Reach,
    /// Until when. `None`: until it is taken back.
    pub until: Option<Timestamp>,
}

/// Which calls of a tool a grant is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Covers {
    /// Those with exactly the arguments that were approved.
    TheseArguments,
    /// All.
    AnyArguments,
}

/// How far a grant reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// The run in which it was given.
    Run,
    /// The runs of the same session.
    Session,
    /// All runs of the tenant.
    Tenant,
}

/// Where a grant holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantScope {
    /// In one run.
    Run(RunId),
    /// In the runs of a session.
    Session(Arc<str>),
    /// In all runs of the tenant.
    Tenant,
}

/// A person's standing approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its name.
    pub id: GrantId,
    /// The agent in whose run it was given: it holds for no other.
    pub agent: Option<Arc<str>>,
    /// The registered tool.
    pub tool: ToolName,
    /// The definition that the tool had: a grant ends with it.
    pub definition: Option<Arc<str>>,
    /// Of the arguments that it is about. `None`: any.
    pub digest: Option<Digest>,
    /// Where it holds.
    pub scope: GrantScope,
    /// Until when.
    pub until: Option<Timestamp>,
    /// Who gave it, with the roles that they had.
    pub actor: Actor,
    /// The tenant in whose run it was given.
    pub tenant: Option<Arc<str>>,
    /// When it was given.
    pub at: Timestamp,
}

impl Remember {
    /// Whether a grant like this could ever be used.
    pub(crate) fn is_usable(&self, run: &Run, now: Timestamp) -> bool {
        let reaches = match self.reach {
            Reach::Run | Reach::Tenant => true,
            Reach::Session => run.session.is_some(),
        };
        reaches && self.until.is_none_or(|until| until > now)
    }

    /// Where the grant holds.
    pub(crate) fn scope(&self, run: &Run) -> GrantScope {
        match (self.reach, &run.session) {
            (Reach::Tenant, _) => GrantScope::Tenant,
            (Reach::Session, Some(session)) => GrantScope::Session(Arc::clone(session)),
            (Reach::Run, _) | (Reach::Session, None) => GrantScope::Run(run.id.clone()),
        }
    }
}

impl Grant {
    /// Whether it stands in for its giver's answer to a question on these terms about this call.
    #[doc(hidden)]
    pub fn answers(&self, run: &Run, call: &Call, terms: &Terms, now: Timestamp) -> bool {
        let Some(facts) = &call.tool else { return false };
        let reaches = match &self.scope {
            GrantScope::Run(id) => *id == run.id,
            GrantScope::Session(session) => run.session.as_ref() == Some(session),
            GrantScope::Tenant => true,
        };
        let arguments = call.canonical().map(Arguments::digest);
        reaches
            && self.tenant == run.actor.tenant
            && self.agent == run.agent
            && self.tool == facts.name
            && self.definition == facts.definition
            && self.digest.is_none_or(|digest| arguments == Some(digest))
            && self.until.is_none_or(|until| until > now)
            && terms.admit(&self.actor, &run.actor)
    }
}
