//! I4: nothing runs without a recorded yes for exactly those arguments: policy's, or enough people's, each of whom may
//! answer. What a person said before counts as their yes where it covers the call, and for no more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Check, Disk, History, Seen};
use crate::disk::Slot;
use crate::history::CallHistory;
use holdpoint_core::{Actor, CallAnswered, CallIndex, Event, Grant, GrantId, GrantScope, RunId, Timestamp};

#[derive(Default)]
pub(super) struct Permission {
    /// Every grant that became durable. A run that was imported has two logs, which name theirs alike.
    given: HashMap<GrantId, Vec<(Slot, Arc<Grant>)>>,
    revoked: HashSet<(Slot, GrantId)>,
    /// What a process of a log has read.
    offered: HashSet<(Slot, GrantId)>,
    /// Who answered last in a log, and about which call.
    answered: HashMap<Slot, (CallIndex, Actor)>,
}

/// A grant that counts as an answer about a call.
struct GrantUse<'a> {
    slot: Slot,
    run: &'a RunId,
    call: CallIndex,
    grant: &'a GrantId,
    actor: &'a Actor,
    at: Timestamp,
}

impl Check for Permission {
    fn name(&self) -> &'static str {
        "i4_permission"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        match seen {
            Seen::Logged { slot, at, event, history } => {
                self.logged(*slot, disk.log(*slot).run().id(), event, *at, history)
            }
            Seen::GrantsOffered { slot, grants } => grants.iter().try_for_each(|grant| self.judge_offer(*slot, grant)),
            Seen::GrantRevoked { slot, grant } => {
                self.revoked.insert((*slot, (*grant).clone()));
                Ok(())
            }
            Seen::ToolStarted(started) | Seen::TaskStarted(started) => {
                let history = &disk.log(started.place.slot).history;
                if history.turn != started.place.turn.0 {
                    return Ok(());
                }
                let Some(call) = history.calls.get(started.place.call.as_usize()) else { return Ok(()) };
                match started.digest {
                    Some(digest) if call.permitted.contains(&digest) => Ok(()),
                    Some(digest) => Err(format!("call {} ran with {digest}, which nobody allowed", started.place.call)),
                    None => Err(format!("call {} ran with arguments that nobody understood", started.place.call)),
                }
            }
            _ => Ok(()),
        }
    }
}

impl Permission {
    fn logged(
        &mut self,
        slot: Slot,
        run: &RunId,
        event: &Event,
        at: Timestamp,
        history: &History,
    ) -> Result<(), String> {
        match event {
            Event::CallAnswered(answered) => {
                self.answered.insert(slot, (answered.call, answered.actor.clone()));
                judge_answer(answered, history)
            }
            Event::GrantGiven { call, grant } => {
                self.given.entry(grant.id.clone()).or_default().push((slot, Arc::clone(grant)));
                match self.answered.get(&slot) {
                    Some((about, actor)) if about == call && *actor == grant.actor => Ok(()),
                    Some(_) | None => Err(format!("{} says what nobody said about call {call}", grant.id)),
                }
            }
            Event::GrantUsed { call, grant, actor } => {
                self.judge_use(&GrantUse { slot, run, call: *call, grant, actor, at }, history)
            }
            // Handing a call out is letting it run: nobody asks again outside.
            Event::CallDeferred { call, .. } | Event::ToolStarted { call, .. } => judge_intent(*call, history),
            _ => Ok(()),
        }
    }

    /// What a store gives is what was given and not taken back.
    fn judge_offer(&mut self, slot: Slot, grant: &Arc<Grant>) -> Result<(), String> {
        self.offered.insert((slot, grant.id.clone()));
        let known = self.given.get(&grant.id).map_or(&[][..], Vec::as_slice);
        let mut same = known.iter().filter(|(_, given)| given == grant);
        if same.any(|(given_in, _)| !self.revoked.contains(&(*given_in, grant.id.clone()))) {
            return Ok(());
        }
        Err(format!("{} is offered, and was never given or was taken back", grant.id))
    }

    fn judge_use(&self, used: &GrantUse<'_>, history: &History) -> Result<(), String> {
        let GrantUse { slot, run, call, grant: id, actor, at } = *used;
        if !self.offered.contains(&(slot, id.clone())) {
            return Err(format!("{id} is used, and nobody read it"));
        }
        let Some(known) = history.calls.get(call.as_usize()) else { return Err(format!("there is no call {call}")) };
        match &known.question {
            None => return Err(format!("{id} lets call {call} run, and nobody asked")),
            Some(question) if question.is_doubt => return Err(format!("{id} answers what became of call {call}")),
            Some(question) if !question.is_for(actor, &history.requester) => {
                return Err(format!("{id} of {:?}, who may not answer about call {call}", actor.id));
            }
            Some(_) => {}
        }
        let given = self.given.get(id).map_or(&[][..], Vec::as_slice);
        let covers = |grant: &Grant| {
            let reaches = match &grant.scope {
                GrantScope::Run(given_in) => given_in == run,
                GrantScope::Session(session) => history.session.as_ref() == Some(session),
                GrantScope::Tenant => grant.tenant == history.requester.tenant,
            };
            reaches && grant.actor == *actor && grant.until.is_none_or(|until| at < until) && is_about(grant, known)
        };
        if given.iter().any(|(_, grant)| covers(grant)) {
            return Ok(());
        }
        Err(format!("{id} does not say that call {call} may run"))
    }
}

fn is_about(grant: &Grant, call: &CallHistory) -> bool {
    let digest = grant.digest.is_none() || grant.digest == call.digest;
    Some(&grant.tool) == call.tool.as_ref() && grant.definition == call.definition && digest
}

/// An answer is bound to what was shown, and to who may give it.
fn judge_answer(answered: &CallAnswered, history: &History) -> Result<(), String> {
    let Some(call) = history.calls.get(answered.call.as_usize()) else {
        return Err(format!("call {} was answered, and there is none", answered.call));
    };
    match &call.question {
        None => Err(format!("call {} was answered, and nobody asked", answered.call)),
        Some(question) if !question.is_for(&answered.actor, &history.requester) => {
            Err(format!("call {} was answered by {:?}, who may not", answered.call, answered.actor.id))
        }
        Some(_) => Ok(()),
    }
}

fn judge_intent(call: CallIndex, history: &History) -> Result<(), String> {
    let known = history.calls.get(call.as_usize());
    if known.is_some_and(|known| known.digest.is_some_and(|digest| known.permitted.contains(&digest))) {
        return Ok(());
    }
    Err(format!("call {call} is to run, and nobody allowed it"))
}
