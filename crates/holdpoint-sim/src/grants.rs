//! What people said about calls that are yet to come, and tools that take other arguments by now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdpoint_codec::decode_grant;
use holdpoint_core::{
    Attempt, CallIndex, CallState, Code, Event, Grant, GrantId, GrantRevoked, Input, Problem, Refit, Run, ToolChanged,
    ToolFacts, ToolName, Turn,
};

use crate::checks::Seen;
use crate::disk::Slot;
use crate::tools;
use crate::world::World;

/// How often each tool changed.
#[derive(Default)]
pub(crate) struct Versions(BTreeMap<ToolName, u32>);

impl Versions {
    /// What is registered by now.
    pub(crate) fn facts(&self, tool: &ToolName) -> Option<ToolFacts> {
        let version = self.0.get(tool).copied().unwrap_or(0);
        let facts = tools::resolve(tool.as_str())?;
        Some(ToolFacts { definition: Some(format!("{tool}_v{version}").into()), ..facts })
    }

    /// A model was told the tools as they are.
    pub(crate) fn fill_in(&self, reply: &mut Input) {
        let Input::Replied(replied) = reply else { return };
        for call in replied.reply.iter_mut().flat_map(|reply| &mut reply.calls) {
            call.tool = call.tool.take().and_then(|facts| self.facts(&facts.name));
        }
    }
}

impl World {
    /// What people said about calls of these tools, as it is stored.
    pub(crate) fn offered(&mut self, slot: Slot, tools: &BTreeSet<ToolName>) -> Vec<Arc<Grant>> {
        let mut grants = Vec::new();
        for tool in tools {
            let bodies = self.storage().grants_for(tool);
            let read = |body: &Arc<[u8]>| decode_grant(body).expect("a grant reads back from the bytes written for it");
            grants.extend(bodies.iter().map(read).map(Arc::new));
        }
        self.checks.see(&Seen::GrantsOffered { slot, grants: &grants }, &self.disk);
        grants
    }

    /// A grant became durable.
    pub(crate) fn was_given(&mut self, slot: Slot, event: &Event) {
        if let Event::GrantGiven { grant, .. } = event {
            self.given.push((slot, grant.id.clone()));
        }
    }

    /// Somebody takes a grant back. The run in which it was given may hear of it.
    pub(crate) fn revoke_one(&mut self) {
        if self.given.is_empty() {
            return;
        }
        let (slot, grant) = self.random.pick(&self.given).clone();
        let actor = tools::person(self.random.below(6));
        if self.storage().revoke(slot, &grant) {
            self.note(|| format!("taken back: {grant} of log {}", slot.0));
            self.checks.see(&Seen::GrantRevoked { slot, grant: &grant }, &self.disk);
            self.send_open(slot, Input::GrantRevoked(GrantRevoked { grant, actor }));
        }
    }

    /// Somebody who knows no better takes back what is not there.
    pub(crate) fn any_revocation(&mut self, run: &Run) -> Input {
        let number = u32::try_from(self.random.below(4)).unwrap_or(0);
        let grant = GrantId::of(run.id(), number);
        Input::GrantRevoked(GrantRevoked { grant, actor: tools::person(self.random.below(6)) })
    }

    /// A tool takes other arguments from now on: often one that a run is about to call.
    pub(crate) fn change_tool(&mut self, slot: Slot) {
        let run = self.disk.log(slot).run();
        let near = run.calls().iter().filter(|call| match call.state {
            CallState::AwaitingApproval(_) | CallState::Ready | CallState::Deferred { .. } => true,
            CallState::Proposed | CallState::Running { .. } | CallState::Settled(_) => false,
        });
        let near = near.filter_map(|call| call.tool.as_ref()).map(|facts| facts.name.clone());
        let mut names: Vec<ToolName> = near.collect();
        if names.is_empty() || self.random.percent(25) {
            names = tools::REGISTERED.iter().map(|(name, _)| ToolName::new(*name)).collect();
        }
        let tool = self.random.pick(&names).clone();
        self.note(|| format!("`{tool}` changes"));
        *self.versions.0.entry(tool).or_default() += 1;
    }

    /// What whoever is about to run a call says, if its tool is another one by now.
    pub(crate) fn changed(&mut self, was: &ToolFacts, call: CallIndex, task: Option<(Turn, Attempt)>) -> Option<Input> {
        let tool = self.versions.facts(&was.name).filter(|tool| tool.definition != was.definition)?;
        Some(self.change(tool, call, task))
    }

    fn change(&mut self, tool: ToolFacts, call: CallIndex, task: Option<(Turn, Attempt)>) -> Input {
        let refit = if self.random.percent(15) {
            Refit::Unfit(Problem { code: Code::InvalidArguments, text: "it fits no more".into() })
        } else {
            self.checks.see(&Seen::PolicyAsked { name: tool.name.as_str() }, &self.disk);
            Refit::Decided(tools::decide(&mut self.random))
        };
        Input::ToolChanged(Box::new(ToolChanged { call, task, tool, refit }))
    }

    /// Somebody says that a tool changed, whether it did or not.
    pub(crate) fn any_change(&mut self, run: &Run, call: CallIndex) -> Input {
        let attempt = Attempt(u32::try_from(self.random.below(3)).unwrap_or(0));
        let task = self.random.percent(50).then_some((run.turn(), attempt));
        let known = run.call(call).and_then(|call| call.tool.as_ref()).map(|facts| facts.name.clone());
        let name = known.unwrap_or_else(|| ToolName::new(tools::REGISTERED[0].0));
        let tool = self.versions.facts(&name);
        let definition = self.random.percent(80).then(|| "another".into());
        let tool = tool.map(|tool| ToolFacts { definition, ..tool });
        match tool {
            Some(tool) => self.change(tool, call, task),
            None => Input::Elapsed,
        }
    }
}
