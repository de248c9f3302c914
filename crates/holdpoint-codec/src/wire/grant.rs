//! Grants, and the tools that they are about.

use std::sync::Arc;

use holdpoint_core::{Digest, Grant, GrantId, GrantScope, Repeat, RunId, Timestamp, ToolFacts, ToolName};
use serde::{Deserialize, Serialize};

use super::{ActorWire, DigestText, Fault, Name, Text, Wire, is_default};

/// What a person said about calls that are yet to come.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantWire {
    #[serde(default, skip_serializing_if = "is_default")]
    actor: ActorWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Text>,
    at_us: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<DigestText>,
    id: Text,
    /// The run that it holds in; without it and without a session, all of the tenant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<Text>,
    tool: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until_us: Option<i64>,
}

impl Wire for GrantWire {
    type Core = Grant;

    fn of(grant: &Grant) -> Self {
        let (run, session) = match &grant.scope {
            GrantScope::Run(run) => (Some(Text::new(run.as_str())), None),
            GrantScope::Session(session) => (None, Some(Text::share(session))),
            GrantScope::Tenant => (None, None),
        };
        Self {
            actor: ActorWire::of(&grant.actor),
            agent: grant.agent.as_ref().map(Text::share),
            at_us: grant.at.0,
            digest: grant.digest.map(DigestText),
            id: Text::new(grant.id.as_str()),
            run,
            definition: grant.definition.as_ref().map(Text::share),
            session,
            tenant: grant.tenant.as_ref().map(Text::share),
            tool: Text::new(grant.tool.as_str()),
            until_us: grant.until.map(|until| until.0),
        }
    }

    fn core(self) -> Result<Grant, Fault> {
        let text = |text: Option<Text>| text.map(|text| text.0);
        let digest: Option<Digest> = self.digest.map(|digest| digest.0);
        Ok(Grant {
            id: GrantId::new(self.id.0),
            agent: text(self.agent),
            tool: ToolName::new(self.tool.0),
            definition: text(self.definition),
            digest,
            scope: match (text(self.run), text(self.session)) {
                (Some(run), None) => GrantScope::Run(RunId::new(run)),
                (None, Some(session)) => GrantScope::Session(session),
                (None, None) => GrantScope::Tenant,
                (Some(_), Some(_)) => return Err(Fault::at("session")),
            },
            until: self.until_us.map(Timestamp),
            actor: self.actor.core().map_err(|fault| fault.within("actor"))?,
            tenant: text(self.tenant),
            at: Timestamp(self.at_us),
        })
    }
}

/// What is registered under a name.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<Text>,
    name: Text,
    repeat: Name<Repeat>,
    source: Text,
}

impl Wire for ToolWire {
    type Core = ToolFacts;

    fn of(facts: &ToolFacts) -> Self {
        Self {
            name: Text::new(facts.name.as_str()),
            repeat: Name(facts.repeat),
            definition: facts.definition.as_ref().map(Text::share),
            source: Text::share(&facts.source),
        }
    }

    fn core(self) -> Result<ToolFacts, Fault> {
        let definition: Option<Arc<str>> = self.definition.map(|text| text.0);
        Ok(ToolFacts { name: ToolName::new(self.name.0), repeat: self.repeat.0, source: self.source.0, definition })
    }
}
