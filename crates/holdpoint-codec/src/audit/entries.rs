//! From the events of a step to what the audit log says of them. The table in `view/event.rs` has an entry for each event.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Arguments, Attempt, Call, CallAnswered, CallIndex, Decision, Digest, Event, GrantId, LogEntry,
    MessageCompleted, Run, Settlement, Stage, Turn,
};

use super::{Entry, Said, Shadow};
use crate::arguments::idempotency_key;
use crate::view::audited;
use crate::wire::{ActorWire, DigestText, Name, SaidName, Text};

/// What the events of a step say, in order. `run` is the run after all of them.
pub(super) fn of(run: &Run, log: &[LogEntry]) -> Vec<Entry> {
    let events = || log.iter().map(|entry| &entry.event);
    let began = events().find_map(|event| match event {
        // A turn begins in the step that ended the one before it.
        Event::TurnStarted { turn } => Some(Turn(turn.0.saturating_sub(1))),
        _ => None,
    });
    let mut step = Step { run, turn: began.unwrap_or(run.turn()) };
    let mut entries = Vec::new();
    for event in events() {
        match event {
            Event::TurnStarted { turn } => step.turn = *turn,
            Event::Imported(snapshot) => step.turn = snapshot.turn,
            Event::MessageCompleted(completed) => entries.extend(step.unusable(completed)),
            _ => {}
        }
        entries.extend(audited(event, &step));
    }
    entries
}

/// Where a step of a run is.
pub(crate) struct Step<'a> {
    run: &'a Run,
    turn: Turn,
}

impl Step<'_> {
    /// Calls that cannot run: an unknown tool, arguments that make no sense.
    fn unusable(&self, completed: &MessageCompleted) -> Vec<Entry> {
        let settled = completed.calls.iter().enumerate().filter_map(|(index, opening)| {
            let entry = self.about(CallIndex::from_usize(index)).settled(opening.settled.as_ref()?);
            Some(Entry { event: Text::new("tool_ended"), ..entry })
        });
        settled.collect()
    }

    pub(crate) fn answered(&self, answered: &CallAnswered) -> Entry {
        let (said, edited) = match &answered.answer {
            Answer::Approve => (Said::Allow, None),
            Answer::ApproveEdited(arguments) => (Said::AllowEdited, Some(arguments.digest())),
            Answer::Refuse { .. } => (Said::Deny, None),
            Answer::Supply(_) => (Said::Answer, None),
            Answer::Happened(_) => (Said::Happened, None),
        };
        // After an edit the run knows only the new arguments.
        let ground = answered.decision.as_ref().map(Decision::ground);
        let known = if edited.is_some() { None } else { self.digest(answered.call) };
        Entry {
            actor: Some(ActorWire::of(&answered.actor)),
            decision: Some(Name(said)),
            policy: answered.decision.as_ref().map(verdict),
            rule: ground.and_then(|ground| text(ground.rule.as_ref())),
            policy_version: ground.and_then(|ground| text(ground.policy.as_ref())),
            reason: text(answered.why()),
            digest: answered.digest.map(DigestText),
            arguments_digest: known.map(DigestText),
            edited_digest: edited.map(DigestText),
            ..self.about(answered.call)
        }
    }

    /// A call that was started or handed out.
    pub(crate) fn attempted(&self, index: CallIndex, attempt: Attempt) -> Entry {
        let key = self.digest(index).map(|digest| idempotency_key(self.run.id(), self.turn, index, digest));
        let idempotency_key = key.map(|key| Text::new(key.as_str()));
        Entry { attempt: Some(attempt.0), idempotency_key, ..self.about(index) }
    }

    /// The call, if it is still one of the run's turn.
    fn call(&self, index: CallIndex) -> Option<&Call> {
        self.run.call(index).filter(|_| self.turn == self.run.turn())
    }

    fn digest(&self, index: CallIndex) -> Option<Digest> {
        self.call(index)?.canonical().map(Arguments::digest)
    }

    /// An entry that names a call and nothing else.
    pub(crate) fn about(&self, index: CallIndex) -> Entry {
        let (id, tool) = match self.call(index) {
            Some(call) => (Some(&call.id), call.tool.as_ref().map(|facts| &facts.name)),
            None => {
                let mut past = self.run.past().iter().rev();
                let past = past.find(|record| record.turn == self.turn && record.index == index);
                (past.map(|record| &record.id), past.and_then(|record| record.tool.as_ref()))
            }
        };
        Entry {
            turn: Some(self.turn.0),
            index: Some(index.0),
            call_id: id.map(|id| Text::new(id.as_str())),
            tool: tool.map(|tool| Text::new(tool.as_str())),
            ..Entry::default()
        }
    }
}

impl Entry {
    pub(crate) fn by(actor: &Actor) -> Self {
        Self { actor: Some(ActorWire::of(actor)), ..Self::default() }
    }

    pub(crate) fn by_worker(self, attempt: Attempt, worker: &Arc<str>) -> Self {
        Self { attempt: Some(attempt.0), worker: Some(Text::share(worker)), ..self }
    }

    pub(crate) fn granted(self, grant: &GrantId, actor: &Actor) -> Self {
        Self { actor: Some(ActorWire::of(actor)), grant_id: Some(Text::new(grant.as_str())), ..self }
    }

    pub(crate) fn decided(self, stage: Stage, decision: &Decision, shadow: Option<&Decision>) -> Self {
        let ground = decision.ground();
        Self {
            stage: Some(Name(stage)),
            decision: Some(verdict(decision)),
            rule: text(ground.rule.as_ref()),
            reason: text(ground.reason.as_ref()),
            policy_version: text(ground.policy.as_ref()),
            shadow: shadow.map(|shadow| Shadow {
                decision: verdict(shadow),
                rule: text(shadow.ground().rule.as_ref()),
                policy_version: text(shadow.ground().policy.as_ref()),
            }),
            ..self
        }
    }

    pub(crate) fn settled(self, settlement: &Settlement) -> Self {
        Self {
            outcome: Some(Name(settlement.outcome)),
            code: settlement.code.map(Name),
            source: settlement.source.map(Name),
            ..self
        }
    }
}

fn text(text: Option<&Arc<str>>) -> Option<Text> {
    text.map(Text::share)
}

fn verdict(decision: &Decision) -> SaidName {
    Name(match decision {
        Decision::Allow(_) => Said::Allow,
        Decision::Deny(_) => Said::Deny,
        Decision::Confirm(..) => Said::Confirm,
    })
}
