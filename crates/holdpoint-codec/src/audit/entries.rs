//! From the events of a step to what the audit log says of them.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Arguments, Call, CallAnswered, CallIndex, Decision, Digest, Event, GrantId, LogEntry,
    MessageCompleted, Outcome, Run, Settlement, Stage, StopReason, Turn,
};

use super::{Entry, Said, Shadow};
use crate::arguments::idempotency_key;
use crate::wire::{ActorWire, DigestText, Moment, Name, SaidName, Text};

/// What the events of a step say, in order. `run` is the run after all of them.
pub(super) fn of(run: &Run, log: &[LogEntry]) -> Vec<Entry> {
    let events = || log.iter().map(|entry| &entry.event);
    let began = events().find_map(|event| match event {
        // A turn begins in the step that ended the one before it.
        Event::TurnStarted { turn } => Some(Turn(turn.0.saturating_sub(1))),
        _ => None,
    });
    let mut step = Step { run, turn: began.unwrap_or(run.turn()), entries: Vec::new() };
    events().for_each(|event| step.follow(event));
    step.entries
}

struct Step<'a> {
    run: &'a Run,
    turn: Turn,
    entries: Vec<Entry>,
}

impl Step<'_> {
    fn follow(&mut self, event: &Event) {
        match event {
            Event::TurnStarted { turn } => self.turn = *turn,
            Event::Imported(snapshot) => self.turn = snapshot.turn,
            _ => {}
        }
        match event {
            Event::MessageCompleted(completed) => self.unusable(completed),
            event => {
                let entry = self.entry(event);
                self.entries.extend(entry);
            }
        }
    }

    fn entry(&self, event: &Event) -> Option<Entry> {
        let named = || Entry { event: Text::new(event.name()), ..Entry::default() };
        let about = |call: &CallIndex| Entry { event: named().event, ..self.about(*call) };
        Some(match event {
            Event::RunStarted(started) => {
                Entry { actor: Some(ActorWire::of(&started.actor)), agent: text(started.agent.as_ref()), ..named() }
            }
            Event::Imported(snapshot) => {
                Entry { actor: Some(ActorWire::of(&snapshot.actor)), agent: text(snapshot.agent.as_ref()), ..named() }
            }
            Event::CallDecided { call, stage, decision, shadow, .. } => {
                let shadow = shadow.as_deref().map(shadowed);
                Entry { shadow, ..decided(about(call), *stage, decision) }
            }
            Event::GrantGiven { call, grant } => Entry {
                actor: Some(ActorWire::of(&grant.actor)),
                grant_id: Some(Text::new(grant.id.as_str())),
                digest: grant.digest.map(DigestText),
                ..about(call)
            },
            Event::GrantUsed { call, grant, actor, .. } => granted(about(call), grant, actor),
            Event::GrantRevoked { grant, actor, .. } => granted(named(), grant, actor),
            Event::CallAnswered(answered) => self.answered(about(&answered.call), answered),
            Event::CallExpired { call } => Entry { outcome: Some(Name(Outcome::Expired)), ..about(call) },
            Event::ToolStarted { call, attempt, .. } | Event::CallDeferred { call, attempt, .. } => {
                Entry { attempt: Some(attempt.0), idempotency_key: self.idempotency_key(*call), ..about(call) }
            }
            Event::TaskTaken { call, attempt, worker, since, .. } => {
                let since = Some(Moment(*since));
                Entry { attempt: Some(attempt.0), worker: Some(Text::share(worker)), since, ..about(call) }
            }
            Event::ToolEnded { call, settlement } => settled(about(call), settlement),
            Event::CallDoubted { call, cause, .. } => Entry { cause: Some(Name(*cause)), ..about(call) },
            Event::EvidenceGiven { call, attempt, worker, .. } => {
                Entry { attempt: Some(attempt.0), worker: Some(Text::share(worker)), ..about(call) }
            }
            Event::CallRequeued { call } | Event::HookFailed { call, .. } | Event::ToolChanged { call, .. } => {
                about(call)
            }
            Event::Cancelled { actor, reason } => {
                Entry { actor: Some(ActorWire::of(actor)), reason: text(reason.as_ref()), ..named() }
            }
            Event::Retried { .. } => named(),
            Event::Done { stop } if ends(stop) => Entry { stop: Some(Text::new(stop.as_str())), ..named() },
            Event::Done { .. }
            | Event::TurnStarted { .. }
            | Event::MessageCompleted(_)
            | Event::TurnEnded { .. }
            | Event::FinalAnswerAsked
            | Event::AuthorizationRequired { .. }
            | Event::ExecutionRequired { .. }
            | Event::Paused { .. }
            | Event::Resumed { .. }
            | Event::ContextChanged { .. }
            | Event::EpochStarted { .. }
            | Event::Failed { .. } => return None,
        })
    }

    /// Calls that cannot run: an unknown tool, arguments that make no sense.
    fn unusable(&mut self, completed: &MessageCompleted) {
        for (index, opening) in completed.calls.iter().enumerate() {
            let Some(settlement) = &opening.settled else { continue };
            let about = self.about(CallIndex::from_usize(index));
            self.entries.push(settled(Entry { event: Text::new("tool_ended"), ..about }, settlement));
        }
    }

    fn answered(&self, about: Entry, answered: &CallAnswered) -> Entry {
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
            ..about
        }
    }

    /// The call, if it is still one of the run's turn.
    fn call(&self, index: CallIndex) -> Option<&Call> {
        self.run.call(index).filter(|_| self.turn == self.run.turn())
    }

    fn digest(&self, index: CallIndex) -> Option<Digest> {
        self.call(index)?.canonical().map(Arguments::digest)
    }

    fn idempotency_key(&self, index: CallIndex) -> Option<Text> {
        let key = idempotency_key(self.run.id(), self.turn, index, self.digest(index)?);
        Some(Text::new(key.as_str()))
    }

    /// An entry that names a call and nothing else.
    fn about(&self, index: CallIndex) -> Entry {
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

fn text(text: Option<&Arc<str>>) -> Option<Text> {
    text.map(Text::share)
}

fn granted(about: Entry, grant: &GrantId, actor: &Actor) -> Entry {
    Entry { actor: Some(ActorWire::of(actor)), grant_id: Some(Text::new(grant.as_str())), ..about }
}

fn decided(about: Entry, stage: Stage, decision: &Decision) -> Entry {
    let ground = decision.ground();
    Entry {
        stage: Some(Name(stage)),
        decision: Some(verdict(decision)),
        rule: text(ground.rule.as_ref()),
        reason: text(ground.reason.as_ref()),
        policy_version: text(ground.policy.as_ref()),
        ..about
    }
}

fn shadowed(decision: &Decision) -> Shadow {
    let ground = decision.ground();
    let policy_version = text(ground.policy.as_ref());
    Shadow { decision: verdict(decision), rule: text(ground.rule.as_ref()), policy_version }
}

fn verdict(decision: &Decision) -> SaidName {
    Name(match decision {
        Decision::Allow(_) => Said::Allow,
        Decision::Deny(_) => Said::Deny,
        Decision::Confirm(..) => Said::Confirm,
    })
}

fn settled(about: Entry, settlement: &Settlement) -> Entry {
    Entry {
        outcome: Some(Name(settlement.outcome)),
        code: settlement.code.map(Name),
        source: settlement.source.map(Name),
        ..about
    }
}

/// Whether nothing follows by itself. A pause is no act of anybody: its questions were decided on.
fn ends(stop: &StopReason) -> bool {
    match stop {
        StopReason::AwaitingToolConfirmation | StopReason::AwaitingToolResults => false,
        StopReason::Model(_)
        | StopReason::MaxTurns
        | StopReason::Halted
        | StopReason::Failed(_)
        | StopReason::Cancelled => true,
    }
}
