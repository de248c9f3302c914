//! One world: a disk, processes, a clock, and everything that can go wrong, all from one seed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;

use holdpoint_core::{Cancelled, GrantId, Input, Run, RunId, Snapshot, Timestamp, ToolResult};
use holdpoint_store::{Fence, Hold, OwnerId};

use crate::arrivals::{Arrival, Word};
use crate::backing::Backing;
use crate::checks::{Checks, Seen, Violation};
use crate::coverage::Coverage;
use crate::disk::{Disk, Slot};
use crate::grants::Versions;
use crate::history::{History, Standing};
use crate::leases::Holders;
use crate::mistake::Mistake;
use crate::process::{Process, ProcessId};
use crate::random::Random;
use crate::script;
use crate::storage::{Grip, Place, Storage};
use crate::stored;
use crate::tools;
use crate::transition::HOLD_MS;

/// Whether a readable account is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracing {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// What came of one seed.
#[derive(Clone, Debug)]
pub struct Report {
    /// The invariants that did not hold.
    pub violations: Vec<Violation>,
    /// Which inputs met which states.
    pub coverage: Coverage,
    /// The account, if one was kept.
    pub trace: Vec<String>,
    /// How many events became durable.
    pub events: u64,
}

/// Names what a store itself did not keep, beside the checkers of [`crate::CHECKS`].
pub const STORE: &str = "store";

/// Whether anything goes wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Faults {
    On,
    Off,
}

/// A paused run on its way into another store.
pub(crate) struct Import {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) exported: Run,
    pub(crate) history: History,
}

/// All there is.
pub(crate) struct World {
    pub(crate) mistake: Option<Mistake>,
    pub(crate) random: Random,
    pub(crate) now: Timestamp,
    /// Microseconds that passed on every machine, whatever its clock was set to.
    pub(crate) boot_us: i64,
    pub(crate) faults: Faults,
    /// Whether the store refuses to write, as it does while another server becomes the primary.
    pub(crate) is_read_only: bool,
    /// Whether most calls are handed out and the queue is busy.
    pub(crate) is_outsourced: bool,
    /// Whether the model mostly does the same and people mostly say so for good.
    pub(crate) is_routine: bool,
    pub(crate) disk: Disk,
    pub(crate) processes: BTreeMap<ProcessId, Process>,
    pub(crate) processes_made: u32,
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) imports: HashMap<Slot, Import>,
    pub(crate) worked: HashMap<Place, Arc<ToolResult>>,
    /// Who holds which log.
    pub(crate) holders: Holders,
    claims_made: u64,
    /// Pauses as people saw them, the last few.
    pub(crate) shown: Vec<(Slot, Run)>,
    /// The calls whose results an application supplied.
    pub(crate) supplied: HashSet<Place>,
    /// The leases that workers got, each with the world's own number.
    pub(crate) leases: HashMap<(Place, Fence), u64>,
    /// The leases under which a worker started.
    pub(crate) begun: HashSet<(Place, Fence)>,
    /// The grants that are durable, whether or not they were taken back.
    pub(crate) given: Vec<(Slot, GrantId)>,
    pub(crate) versions: Versions,
    pub(crate) checks: Checks,
    pub(crate) coverage: Coverage,
    storage: Box<dyn Storage>,
    serial: u64,
    trace: Option<Vec<String>>,
}

/// How worlds are made, beside their seeds.
#[derive(Clone)]
pub struct Setup {
    /// What keeps runs and tasks.
    pub backing: Backing,
    /// Whether a readable account is kept.
    pub tracing: Tracing,
    /// What a world does wrong on purpose. Mistakes of the store are made in the model only.
    pub mistake: Option<Mistake>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { backing: Backing::model(), tracing: Tracing::Off, mistake: None }
    }
}

/// Makes the world of a seed and lets it run to its end, on the model.
pub fn simulate(seed: u64, tracing: Tracing) -> Report {
    simulate_as(&Setup { tracing, ..Setup::default() }, seed)
}

/// Makes the world of a seed and lets it run to its end. As long as a store does what the model does, the same seed gives the
/// same world on both.
///
/// # Panics
/// When the store fails.
pub fn simulate_as(setup: &Setup, seed: u64) -> Report {
    let mut world = World::new(setup, seed);
    // A call that is handed out takes longer to come back, and what people said for good counts later.
    let steps = if world.is_outsourced || world.is_routine {
        120 + world.random.below(200)
    } else {
        30 + world.random.below(170)
    };
    for _ in 0..steps {
        world.step();
    }
    world.calm_down();
    world.report()
}

impl World {
    fn new(setup: &Setup, seed: u64) -> Self {
        let mut world = Self {
            mistake: setup.mistake,
            random: Random::from_seed(seed),
            now: Timestamp(1_000_000_000),
            boot_us: 0,
            faults: Faults::On,
            is_read_only: false,
            is_outsourced: false,
            is_routine: false,
            disk: Disk::default(),
            processes: BTreeMap::new(),
            processes_made: 0,
            arrivals: Vec::new(),
            imports: HashMap::new(),
            worked: HashMap::new(),
            holders: Holders::default(),
            claims_made: 0,
            supplied: HashSet::new(),
            shown: Vec::new(),
            leases: HashMap::new(),
            begun: HashSet::new(),
            given: Vec::new(),
            versions: Versions::default(),
            storage: setup.backing.storage(setup.mistake),
            checks: Checks::new(),
            coverage: Coverage::default(),
            serial: 1,
            trace: (setup.tracing == Tracing::On).then(Vec::new),
        };
        world.is_outsourced = world.random.percent(45);
        world.is_routine = !world.is_outsourced && world.random.percent(45);
        let runs = if world.random.percent(35) { 2 } else { 1 };
        for number in 0..runs {
            let slot = world.disk.add(RunId::new(format!("run_{number}")), History::default());
            let started = script::started(&mut world.random);
            world.send_open(slot, started);
        }
        world
    }

    fn report(mut self) -> Report {
        for detail in self.storage.disagreements(&self.disk) {
            self.checks.violations.push(Violation { check: STORE, detail });
        }
        let events = self.disk.slots().map(|slot| self.disk.log(slot).revision().0).sum();
        Report {
            violations: self.checks.violations,
            coverage: self.coverage,
            trace: self.trace.unwrap_or_default(),
            events,
        }
    }

    /// What is durable, at this moment.
    pub(crate) fn storage(&mut self) -> &mut dyn Storage {
        self.storage.set_clock(self.now);
        &mut *self.storage
    }

    /// Whether it does this wrong on purpose.
    pub(crate) fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(crate) fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>9} {}", now.0 / 1000, line()));
        }
    }

    /// Looks now and then at what an operator would read of something.
    pub(crate) fn inspect(&mut self, what: &'static str, thing: &impl Debug) {
        if self.random.percent(3) {
            self.checks.see(&Seen::Printed { what, text: &format!("{thing:?}") }, &self.disk);
        }
    }

    fn step(&mut self) {
        let passes_ms = 1 + self.random.below(3000) as u64;
        self.pass_ms(passes_ms);
        let slots: Vec<Slot> = self.disk.slots().collect();
        let slot = *self.random.pick(&slots);
        let (by_hand, queue) = if self.is_outsourced { (2, 90) } else { (10, 10) };
        let (answers, revoked, changed) = if self.is_routine { (45, 2, 2) } else { (18, 4, 5) };
        let weights = [120, answers, by_hand, 4, 2, 1, 6, 9, 4, 1, 12, 8, 6, revoked, changed, 2, 2, queue];
        match self.random.weighted(&weights) {
            0 => self.deliver(),
            1 => self.send_answers(slot),
            2 => self.send_results(slot),
            3 => self.send_elapsed(slot),
            4 => self.pass_ms(61_000),
            5 => self.send_cancel(slot),
            6 => self.send_retry(slot),
            7 => self.send_takeover(slot),
            8 => self.kill_one(),
            9 => self.send_import(slot),
            10 => self.probe(slot),
            11 => self.renew_one(),
            12 => self.claim(),
            13 => self.revoke_one(),
            14 => self.change_tool(slot),
            15 => self.set_clocks(),
            16 => self.switch_over(),
            _ => self.tend_queue(),
        }
    }

    fn standing(&self, slot: Slot) -> Standing {
        self.disk.log(slot).history.standing
    }

    /// Time passes.
    pub(crate) fn pass_ms(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
        self.boot_us = self.boot_us.saturating_add(i64::try_from(ms * 1_000).unwrap_or(i64::MAX));
    }

    /// Time passes until then.
    pub(crate) fn pass_until(&mut self, moment: Timestamp) {
        let us = u64::try_from(moment.0.saturating_sub(self.now.0)).unwrap_or(0);
        self.pass_ms(us.div_ceil(1_000));
    }

    /// Somebody sets clocks: that of the store and of every machine forward, or that of one process to anything.
    fn set_clocks(&mut self) {
        let ids: Vec<ProcessId> = self.processes.keys().copied().collect();
        if ids.is_empty() || self.random.percent(60) {
            let ms = 5_000 + self.random.below(60_000) as u64;
            self.note(|| format!("all clocks are set forward by {ms} ms"));
            self.now = self.now.plus_ms(ms);
            return;
        }
        let id = *self.random.pick(&ids);
        let by_ms = self.random.below(120_000) as i64 - 60_000;
        self.note(|| format!("the clock of {id:?} is set by {by_ms} ms"));
        if let Some(process) = self.processes.get_mut(&id) {
            process.wall_offset_us += by_ms * 1_000;
        }
    }

    /// The store becomes read-only, or takes writes again.
    fn switch_over(&mut self) {
        self.is_read_only = !self.is_read_only;
        let is_read_only = self.is_read_only;
        self.note(|| format!("the store is read-only: {is_read_only}"));
    }

    fn send_answers(&mut self, slot: Slot) {
        if self.standing(slot) == Standing::Paused || self.random.percent(10) {
            let run = self.looked_at(slot);
            let input = self.anyones_answers(&run);
            self.send_open(slot, input);
        }
    }

    /// The run as somebody sees it who answers: as it is, or as it was when they opened the page.
    fn looked_at(&mut self, slot: Slot) -> Run {
        let pauses: Vec<&Run> = self.shown.iter().filter(|(of, _)| *of == slot).map(|(_, run)| run).collect();
        if pauses.is_empty() || !self.random.percent(25) {
            return self.disk.log(slot).run().clone();
        }
        (*self.random.pick(&pauses)).clone()
    }

    fn send_results(&mut self, slot: Slot) {
        if self.standing(slot) == Standing::Paused || self.random.percent(10) {
            let run = self.disk.log(slot).run().clone();
            let input = self.anyones_results(slot, &run);
            self.send_open(slot, input);
        }
    }

    fn send_cancel(&mut self, slot: Slot) {
        let holder = self.processes.values().find(|process| process.slot == slot).map(|process| process.id);
        match holder {
            Some(holder) if self.random.percent(50) => self.send(holder, Word::Cancel),
            Some(_) | None => {
                let actor = tools::person(self.random.below(6));
                self.send_open(
                    slot,
                    Input::Cancelled(Cancelled { reason: Some("enough".into()), ..Cancelled::by(actor) }),
                );
            }
        }
    }

    fn send_retry(&mut self, slot: Slot) {
        if self.standing(slot) == Standing::Failed || self.random.percent(5) {
            self.send_open(slot, Input::Retried(holdpoint_core::Retried::default()));
        }
    }

    /// Time passed for the runs that wait for it, or somebody only thinks so.
    fn send_elapsed(&mut self, slot: Slot) {
        if self.random.percent(50) {
            return self.send_open(slot, Input::Elapsed);
        }
        for due in self.storage().due() {
            self.note(|| format!("log {} is due", due.0));
            self.send_open(due, Input::Elapsed);
        }
    }

    /// Somebody takes a run over because the holder died. If it lives, its lease must have lapsed: claiming tells.
    fn send_takeover(&mut self, slot: Slot) {
        if !self.is_driven(slot) {
            self.send_open(slot, Input::Recovered(holdpoint_core::Recovered::default()));
        } else {
            self.claim();
        }
    }

    /// Somebody looks for runs that nobody holds, and takes them over.
    pub(crate) fn claim(&mut self) {
        if self.is_read_only {
            return;
        }
        self.claims_made += 1;
        let hold = Hold { owner: OwnerId::new(format!("claim_{}", self.claims_made)), lease_ms: HOLD_MS };
        for slot in self.storage().claim(&hold) {
            self.holders.set(slot, Some(hold.owner.clone()), self.now);
            self.note(|| format!("log {} is claimed", slot.0));
            self.send_claimed(slot, &hold);
        }
    }

    /// A process says that it still holds its run, and may learn that it does not.
    fn renew_one(&mut self) {
        let ids: Vec<ProcessId> = self.processes.keys().copied().collect();
        if ids.is_empty() {
            return;
        }
        let id = *self.random.pick(&ids);
        let Some(mut process) = self.processes.remove(&id) else { return };
        if self.renew(&mut process) == Some(Grip::Lost) && self.random.percent(50) {
            return self.give_up(process);
        }
        self.processes.insert(id, process);
    }

    fn kill_one(&mut self) {
        let ids: Vec<ProcessId> = self.processes.keys().copied().collect();
        if ids.is_empty() {
            return;
        }
        let id = *self.random.pick(&ids);
        if let Some(process) = self.processes.remove(&id) {
            self.crash(process);
        }
    }

    fn send_import(&mut self, from: Slot) {
        let log = self.disk.log(from);
        if log.run().continuation().is_none() || !self.imports.is_empty() {
            return;
        }
        let mut snapshot = stored::exported(log.run());
        if self.makes(Mistake::ImportReorders) {
            snapshot.completion.reverse();
        }
        let snapshot = Arc::new(snapshot);
        let (exported, history) = (log.run().clone(), log.history.exported());
        let slot = self.disk.add(exported.id().clone(), History::default());
        self.imports.insert(slot, Import { snapshot: Arc::clone(&snapshot), exported, history });
        self.send_open(slot, Input::Imported(snapshot));
    }
}
