//! One checker per invariant, each in its own file. They see what a bystander sees: the log, what tools were started,
//! what was announced, what the model and the policy were asked.

use std::sync::Arc;

use holdpoint_core::{
    Attempt, CallIndex, ContinuationId, Digest, Effect, Event, Grant, GrantId, Message, Revision, Run, Timestamp,
};

use crate::disk::{Disk, Slot};
use crate::history::History;
use crate::storage::{Lease, Place, PlacedAttempt};

mod counts;
mod deadlines;
mod every_run_ends;
mod i02_intent_first;
mod i03_settled_stays;
mod i04_permission;
mod i05_registered_names;
mod i06_replay;
mod i07_current_attempt;
mod i08_no_secrets;
mod i09_order;
mod i12_waits;
mod i13_once;
mod i14_announced_after;
mod i16_question;
mod leases;
mod limits;
mod nothing_lost;
mod repeat_never;
mod results_kept;
mod segments;
mod siblings;
mod tasks;

/// Something that a bystander saw.
pub(crate) enum Seen<'a> {
    /// An event became durable. The history does not have it yet.
    Logged { slot: Slot, at: Timestamp, event: &'a Event, history: &'a History },
    /// An answer is in a commit that took effect. Its events come next.
    Answered { slot: Slot, answer: &'a Answer },
    /// A commit took effect; the histories have it. `run` is the run as the process that committed has it.
    Committed { slot: Slot, run: &'a Run, commit: &'a Commit },
    /// A tool was started outside.
    ToolStarted(&'a StartedTool),
    /// A process that took a run over changed it. The run is free when no living process has a lease of it that lasts.
    TakenOver { slot: Slot, is_free: bool },
    /// A tool made a result.
    ResultMade { serial: u64, by: PlacedAttempt },
    /// A worker leased a task.
    TaskLeased(&'a Lease),
    /// A lease ended without a result, and the task can be leased again.
    TaskReleased(&'a Lease),
    /// A worker was told that its result is stored.
    Acknowledged { slot: Slot, serial: u64 },
    /// A worker started a tool.
    TaskStarted(&'a StartedTool),
    /// Somebody was told that a run waits or is over.
    Announced { slot: Slot, at: Revision },
    /// The model was asked.
    ModelAsked { slot: Slot, messages: &'a [Arc<Message>] },
    /// Policy was asked about a tool.
    PolicyAsked { name: &'a str },
    /// A process read what people said about calls of some tools.
    GrantsOffered { slot: Slot, grants: &'a [Arc<Grant>] },
    /// A grant was taken back.
    GrantRevoked { slot: Slot, grant: &'a GrantId },
    /// A process that holds a run, and the same run read back from the log.
    Rebuilt { live: &'a Run, read: &'a Run },
    /// A paused run before and after its import.
    Imported { from: &'a Run, into: &'a Run },
    /// A process took a run over, or let go of it, and `owed` is what it found outstanding.
    Rested { run: &'a Run, owed: &'a [Effect] },
    /// What an operator could read.
    Printed { what: &'static str, text: &'a str },
    /// All faults ended long ago.
    Quiet,
    /// A process lives and nothing will ever wake it.
    Stuck { slot: Slot },
}

/// What a commit brought.
pub(crate) struct Commit {
    /// The continuations that it used.
    pub(crate) used: Vec<ContinuationId>,
    /// What it was based on.
    pub(crate) based_on: Revision,
    /// How many events the log had before it.
    pub(crate) found: Revision,
}

/// What a person said to what they were shown.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) call: CallIndex,
    /// The digest that they sent back.
    pub(crate) shown: Option<Digest>,
    pub(crate) refuses: bool,
}

/// A tool that was started outside.
pub(crate) struct StartedTool {
    pub(crate) place: Place,
    pub(crate) attempt: Attempt,
    pub(crate) tool: Option<holdpoint_core::ToolName>,
    pub(crate) digest: Option<Digest>,
    /// How much of the log the process knew.
    pub(crate) known: Revision,
    /// Whether the store would agree that whoever starts it holds a lease.
    pub(crate) is_leased: bool,
}

/// A checker.
pub(crate) trait Check {
    /// Its stable name.
    fn name(&self) -> &'static str;

    /// Says what is wrong, if something is.
    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String>;
}

/// The names of all checkers.
pub const CHECKS: [&str; 23] = [
    "i2_intent_first",
    "i3_settled_stays",
    "i4_permission",
    "i5_registered_names",
    "i6_replay",
    "i7_current_attempt",
    "i8_no_secrets",
    "i9_order",
    "i12_waits",
    "i13_once",
    "i14_announced_after",
    "i16_question",
    "leases",
    "repeat_never",
    "results_kept",
    "nothing_lost",
    "segments",
    "counts",
    "siblings",
    "deadlines",
    "limits",
    "tasks",
    "every_run_ends",
];

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The checker that saw it.
    pub check: &'static str,
    /// What it saw.
    pub detail: String,
}

/// All checkers of one world, and what they found.
pub(crate) struct Checks {
    all: Vec<Box<dyn Check>>,
    pub(crate) violations: Vec<Violation>,
}

impl Checks {
    pub(crate) fn new() -> Self {
        let all: Vec<Box<dyn Check>> = vec![
            Box::new(i02_intent_first::IntentFirst),
            Box::new(i03_settled_stays::SettledStays),
            Box::new(i04_permission::Permission::default()),
            Box::new(i05_registered_names::RegisteredNames),
            Box::new(i06_replay::Replay),
            Box::new(i07_current_attempt::CurrentAttempt::default()),
            Box::new(i08_no_secrets::NoSecrets),
            Box::new(i09_order::Order),
            Box::new(i12_waits::Waits),
            Box::new(i13_once::Once::default()),
            Box::new(i14_announced_after::AnnouncedAfter),
            Box::new(i16_question::Questions::default()),
            Box::new(leases::Leases),
            Box::new(repeat_never::RepeatNever::default()),
            Box::new(results_kept::ResultsKept::default()),
            Box::new(nothing_lost::NothingLost),
            Box::new(segments::Segments::default()),
            Box::new(counts::Counts::default()),
            Box::new(siblings::Siblings),
            Box::new(deadlines::Deadlines),
            Box::new(limits::Limits::default()),
            Box::new(tasks::Tasks::default()),
            Box::new(every_run_ends::EveryRunEnds),
        ];
        debug_assert!(all.iter().map(|check| check.name()).eq(CHECKS));
        Self { all, violations: Vec::new() }
    }

    /// Shows something to every checker. Each reports its first finding only.
    pub(crate) fn see(&mut self, seen: &Seen<'_>, disk: &Disk) {
        for check in &mut self.all {
            if let Err(detail) = check.see(seen, disk) {
                let check = check.name();
                if !self.violations.iter().any(|before| before.check == check) {
                    self.violations.push(Violation { check, detail });
                }
            }
        }
    }
}
