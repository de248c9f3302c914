//! From the events of a step to what the audit log says of them.

use std::sync::Arc;

use holdpoint_core::{
    Answer, Arguments, Call, CallAnswered, CallIndex, Decision, Digest, Event, LogEntry, MessageCompleted, Outcome,
    Run, Settlement, Stage, StopReason, Turn,
};

use super::{AuditedCall, Entry, Said, Shadowed};
use crate::arguments::idempotency_key;

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
        let named = || Entry { event: event.name().into(), ..Entry::default() };
        let about = |call: &CallIndex| Entry { call: Some(self.audited(*call)), ..named() };
        Some(match event {
            Event::RunStarted(started) => {
                Entry { actor: Some(started.actor.clone()), agent: started.agent.clone(), ..named() }
            }
            Event::Imported(snapshot) => {
                Entry { actor: Some(snapshot.actor.clone()), agent: snapshot.agent.clone(), ..named() }
            }
            Event::CallDecided { call, stage, decision, shadow, .. } => {
                let shadow = shadow.as_deref().map(shadowed);
                Entry { shadow, ..decided(about(call), *stage, decision) }
            }
            Event::GrantGiven { call, grant } => Entry {
                actor: Some(grant.actor.clone()),
                grant: Some(grant.id.clone()),
                digest: grant.digest,
                ..about(call)
            },
            Event::GrantUsed { call, grant, actor, .. } => {
                Entry { actor: Some(actor.clone()), grant: Some(grant.clone()), ..about(call) }
            }
            Event::GrantRevoked { grant, actor, .. } => {
                Entry { actor: Some(actor.clone()), grant: Some(grant.clone()), ..named() }
            }
            Event::CallAnswered(answered) => self.answered(about(&answered.call), answered),
            Event::CallExpired { call } => Entry { outcome: Some(Outcome::Expired), ..about(call) },
            Event::ToolStarted { call, attempt, .. } | Event::CallDeferred { call, attempt, .. } => Entry {
                attempt: Some(*attempt),
                idempotency_key: self.digest(*call).map(|d| idempotency_key(self.run.id(), self.turn, *call, d)),
                ..about(call)
            },
            Event::TaskTaken { call, attempt, worker, since, .. } => {
                let worker = Some(Arc::clone(worker));
                Entry { attempt: Some(*attempt), worker, since: Some(*since), ..about(call) }
            }
            Event::ToolEnded { call, settlement } => settled(about(call), settlement),
            Event::CallDoubted { call, cause, .. } => Entry { cause: Some(*cause), ..about(call) },
            Event::EvidenceGiven { call, attempt, worker, .. } => {
                Entry { attempt: Some(*attempt), worker: Some(Arc::clone(worker)), ..about(call) }
            }
            Event::CallRequeued { call } | Event::HookFailed { call, .. } | Event::ToolChanged { call, .. } => {
                about(call)
            }
            Event::Cancelled { actor, reason } => {
                Entry { actor: Some(actor.clone()), reason: reason.clone(), ..named() }
            }
            Event::Retried { .. } => named(),
            Event::Done { stop } if ends(stop) => Entry { stop: Some(stop.as_str().into()), ..named() },
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
            let call = Some(self.audited(CallIndex::from_usize(index)));
            self.entries.push(settled(Entry { event: "tool_ended".into(), call, ..Entry::default() }, settlement));
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
        let known = if edited.is_some() { None } else { self.digest(answered.call) };
        Entry {
            actor: Some(answered.actor.clone()),
            said: Some(said),
            policy: answered.decision.as_ref().map(verdict),
            rule: answered.decision.as_ref().and_then(|decision| decision.ground().rule.clone()),
            policy_version: answered.decision.as_ref().and_then(|decision| decision.ground().policy.clone()),
            reason: answered.why().cloned(),
            digest: answered.digest,
            arguments_digest: known,
            edited_digest: edited,
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

    fn audited(&self, index: CallIndex) -> AuditedCall {
        let turn = self.turn;
        if let Some(call) = self.call(index) {
            let tool = call.tool.as_ref().map(|facts| facts.name.clone());
            return AuditedCall { turn, index, id: Some(call.id.clone()), tool };
        }
        let past = self.run.past().iter().rev().find(|record| record.turn == turn && record.index == index);
        let tool = past.and_then(|record| record.tool.clone());
        AuditedCall { turn, index, id: past.map(|record| record.id.clone()), tool }
    }
}

fn decided(about: Entry, stage: Stage, decision: &Decision) -> Entry {
    let ground = decision.ground();
    let (rule, reason) = (ground.rule.clone(), ground.reason.clone());
    let policy_version = ground.policy.clone();
    Entry { stage: Some(stage), said: Some(verdict(decision)), rule, reason, policy_version, ..about }
}

fn shadowed(decision: &Decision) -> Shadowed {
    let ground = decision.ground();
    Shadowed { said: verdict(decision), rule: ground.rule.clone(), policy_version: ground.policy.clone() }
}

fn verdict(decision: &Decision) -> Said {
    match decision {
        Decision::Allow(_) => Said::Allow,
        Decision::Deny(_) => Said::Deny,
        Decision::Confirm(..) => Said::Confirm,
    }
}

fn settled(about: Entry, settlement: &Settlement) -> Entry {
    Entry { outcome: Some(settlement.outcome), code: settlement.code, source: settlement.source, ..about }
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
