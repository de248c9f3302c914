//! The end of every world: faults stop, people and workers do their part, and every run must come to its end.

use holdpoint_core::{Input, PauseReason, Phase};

use crate::checks::Seen;
use crate::disk::Slot;
use crate::history::Standing;
use crate::script;
use crate::transition::HOLD_MS;
use crate::world::{Faults, World};

/// More than any small world needs.
const ROUNDS_MAX: u32 = 400;

impl World {
    pub(crate) fn calm_down(&mut self) {
        self.faults = Faults::Off;
        self.is_read_only = false;
        self.note(|| "--- faults stop".to_owned());
        for _ in 0..ROUNDS_MAX {
            if !self.arrivals.is_empty() {
                self.deliver();
                continue;
            }
            if !self.help_on() {
                break;
            }
        }
        self.checks.see(&Seen::Quiet, &self.disk);
    }

    /// Does for each run what it waits for. Returns whether there was something to do.
    fn help_on(&mut self) -> bool {
        self.pass_ms(1);
        let ids: Vec<_> = self.processes.keys().copied().collect();
        for id in ids {
            let Some(process) = self.processes.remove(&id) else { continue };
            let slot = process.slot;
            if process.machine.durable() < self.disk.log(slot).revision() {
                self.note(|| format!("{id:?} was overtaken and notices at last"));
                continue;
            }
            self.drive(process);
            if self.arrivals.is_empty() && self.processes.remove(&id).is_some() {
                self.note(|| format!("{id:?} is stuck"));
                self.checks.see(&Seen::Stuck { slot }, &self.disk);
            }
        }
        self.claim_orphans();
        let slots: Vec<Slot> = self.disk.slots().collect();
        let mut helped = false;
        for slot in slots {
            helped |= self.help_run(slot);
        }
        helped || !self.arrivals.is_empty()
    }

    /// Runs that are to go on and that nobody drives are found once their leases lapsed, and in no other way.
    fn claim_orphans(&mut self) {
        let is_driven = |slot: &Slot| self.processes.values().any(|process| process.slot == *slot);
        let is_orphan = |slot: &Slot| self.disk.log(*slot).history.standing == Standing::Moving && !is_driven(slot);
        if !self.disk.slots().any(|slot| is_orphan(&slot)) {
            return;
        }
        self.pass_ms(HOLD_MS);
        let ids: Vec<_> = self.processes.keys().copied().collect();
        for id in ids {
            let Some(mut process) = self.processes.remove(&id) else { continue };
            self.renew(&mut process);
            self.processes.insert(id, process);
        }
        self.claim();
    }

    /// Returns whether there was something to do.
    fn help_run(&mut self, slot: Slot) -> bool {
        if self.processes.values().any(|process| process.slot == slot) {
            return false;
        }
        let run = self.disk.log(slot).run().clone();
        let input = match run.phase() {
            Phase::New => match self.imports.get(&slot) {
                Some(import) => Some(Input::Imported(import.snapshot.clone())),
                None => Some(script::started(&mut self.random)),
            },
            // Whoever claims it takes it over.
            Phase::Between | Phase::Working(_) => None,
            Phase::Paused(PauseReason::AwaitingToolConfirmation) => self.proper_answers(&run),
            // Workers do it, or somebody brings it by hand.
            Phase::Paused(PauseReason::AwaitingToolResults) if self.random.percent(80) && self.work_off(slot) => {
                return true;
            }
            Phase::Paused(PauseReason::AwaitingToolResults) => self.proper_results(slot, &run),
            Phase::Failed(..) => Some(Input::Retried(holdpoint_core::Retried::default())),
            Phase::Ended(_) => None,
        };
        match input {
            Some(input) => {
                self.send_open(slot, input);
                true
            }
            None => false,
        }
    }
}
