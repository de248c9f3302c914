//! A worker gets only what is out, nothing is taken back as if nobody had it, and what came too late is evidence only.

use std::collections::HashMap;

use super::{Check, Disk, Seen};
use crate::history::CallHistory;
use crate::storage::{Lease, Place};
use holdpoint_core::{Event, Turn};

#[derive(Default)]
pub(super) struct Tasks {
    /// The attempts that workers had of a call since it was handed out.
    had: HashMap<Place, Vec<u32>>,
}

impl Check for Tasks {
    fn name(&self) -> &'static str {
        "tasks"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        match seen {
            Seen::TaskLeased(lease) => self.leased(lease, disk),
            Seen::TaskReleased(lease) => {
                self.had.entry(lease.place).or_default().retain(|attempt| *attempt != lease.attempt.0);
                Ok(())
            }
            Seen::Logged { slot, event, history, .. } => {
                let known = |call: holdpoint_core::CallIndex| history.calls.get(call.as_usize());
                let place = |call: holdpoint_core::CallIndex| Place { slot: *slot, turn: Turn(history.turn), call };
                match event {
                    Event::CallDeferred { call, .. } => {
                        self.had.remove(&place(*call));
                        Ok(())
                    }
                    Event::TaskTaken { call, attempt, .. } => {
                        let had = self.had.get(&place(*call)).is_some_and(|had| had.contains(&attempt.0));
                        if had { Ok(()) } else { Err(format!("nobody had attempt {attempt} of call {call}")) }
                    }
                    Event::CallExpired { call } if known(*call).is_some_and(CallHistory::is_out) => {
                        match self.had.get(&place(*call)).and_then(|had| had.last()) {
                            Some(attempt) => {
                                Err(format!("call {call} expired, and a worker had attempt {attempt} of it"))
                            }
                            None => Ok(()),
                        }
                    }
                    Event::EvidenceGiven { call, .. } if !known(*call).is_some_and(CallHistory::is_doubted) => {
                        Err(format!("evidence about call {call}, which nobody doubts"))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

impl Tasks {
    fn leased(&mut self, lease: &Lease, disk: &Disk) -> Result<(), String> {
        let Place { slot, turn, call } = lease.place;
        let history = &disk.log(slot).history;
        let known = history.calls.get(call.as_usize()).filter(|_| history.turn == turn.0);
        self.had.entry(lease.place).or_default().push(lease.attempt.0);
        match known {
            Some(known) if known.is_out() && lease.attempt.0 >= known.attempts => Ok(()),
            _ => Err(format!("a worker got attempt {} of call {call} of turn {turn}, which is not out", lease.attempt)),
        }
    }
}
