//! The loop: kills while there are runs, then lets the rest come to its end.

use holdpoint_store::Scope;
use std::time::{Duration, Instant};

use holdpoint::{Actor, RunId, Status};

use super::troop::{Pulse, SERVER, Window};
use super::{Known, Torture, World};
use crate::agents::AGENTS;
use crate::broken::Break;
use crate::dice::mix;
use crate::ledger::{About, Place};
use crate::plan::Plan;
use crate::records::News;
use crate::roles::Command;
use crate::tools::Habits;

/// How often, in a thousand, processes wait to be killed at a place where that hurts.
const PARK_PERMILLE: u64 = 20;
/// How often, in a thousand, workers take so long over a task that they could be stopped in it.
const DOZE_PERMILLE: u64 = 60;
/// The same when fences are switched off: then it is what must be found.
const DOZE_PERMILLE_UNFENCED: u64 = 120;
/// How often the ledger is read.
const TICK: Duration = Duration::from_millis(4);
/// How often people look at the store.
const SCAN: Duration = Duration::from_millis(40);
/// How many runs are under way at once.
const ACTIVE_MAX: usize = 24;
/// How long it may take in all until there were enough kills.
const RAGE_MAX: Duration = Duration::from_secs(1_200);
/// How long the runs that are left may take when nothing is killed any more.
const DRAIN_MAX: Duration = Duration::from_secs(90);
/// The pause between two kills that hit anywhere, in milliseconds.
const KILL_EVERY_MS: (u64, u64) = (250, 700);
/// How often, in a thousand, the server is stopped instead of being killed.
const NAP_PERMILLE: u64 = 40;
/// How long the server is stopped, in milliseconds: beyond its leases.
const NAP_MS: (u64, u64) = (500, 900);
/// How long a worker is stopped at most, unless somebody else takes its task before.
const ZOMBIE_MAX: Duration = Duration::from_millis(3_000);

/// A process that is stopped.
#[derive(Debug)]
pub(super) struct Zombie {
    process: String,
    /// What it was at, if it is a worker.
    task: Option<(Place, u32)>,
    wake_at: Instant,
    overtaken: bool,
}

/// What the processes do while they are killed.
pub(super) fn habits(options: &Torture) -> Habits {
    let doze = match options.broken {
        Some(Break::Fence) => DOZE_PERMILLE_UNFENCED,
        Some(Break::Intent | Break::Clock) | None => DOZE_PERMILLE,
    };
    Habits { seed: options.seed, park: PARK_PERMILLE, doze }
}

impl World {
    /// Kills until it is enough.
    pub(super) async fn rage(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut next_kill = Instant::now() + self.pause();
        let mut next_scan = Instant::now();
        while !self.is_enough() {
            if began.elapsed() > RAGE_MAX {
                self.violations.push(format!("there were only {} kills in {RAGE_MAX:?}", self.tally.kills()));
                break;
            }
            self.follow_ledger().await?;
            if Instant::now() >= next_kill {
                self.kill_anyone().await?;
                next_kill = Instant::now() + self.pause();
            }
            if Instant::now() >= next_scan {
                self.scan(ACTIVE_MAX).await?;
                next_scan = Instant::now() + SCAN;
            }
            tokio::time::sleep(TICK).await;
        }
        Ok(())
    }

    /// Nobody waits to be killed any more: all runs must come to their end.
    pub(super) async fn drain(&mut self) -> anyhow::Result<()> {
        self.troop.habits = Habits::default();
        self.zombie = None;
        for slot in 0..self.troop.slots.len() {
            self.kill(slot, Window::Anywhere).await?;
        }
        let began = Instant::now();
        while self.runs.values().any(|run| !run.ended) {
            if began.elapsed() > DRAIN_MAX {
                let left = self.runs.iter().filter(|(_, known)| !known.ended).map(|(run, _)| run.as_str());
                self.violations.push(format!("runs did not end: {}", left.collect::<Vec<_>>().join(", ")));
                break;
            }
            self.follow_ledger().await?;
            self.scan(0).await?;
            tokio::time::sleep(SCAN).await;
        }
        Ok(())
    }

    /// Nobody works any more.
    pub(super) async fn end(&mut self) -> anyhow::Result<()> {
        for slot in 0..self.troop.slots.len() {
            self.troop.kill(slot, &self.ledger).await?;
        }
        self.read_ledger()
    }

    fn is_enough(&self) -> bool {
        let Self { tally, options, runs, .. } = self;
        tally.kills() >= options.kills
            && tally.fewest() >= options.each
            && tally.zombies_overtaken >= options.overtaken
            && runs.len() as u64 >= options.runs
    }

    fn pause(&mut self) -> Duration {
        Duration::from_millis(self.dice.between(KILL_EVERY_MS.0, KILL_EVERY_MS.1))
    }

    pub(super) async fn kill(&mut self, slot: usize, window: Window) -> anyhow::Result<()> {
        if self.zombie.as_ref().is_some_and(|zombie| zombie.process == self.troop.slots[slot].process) {
            self.zombie = None;
        }
        self.troop.kill(slot, &self.ledger).await?;
        self.tally.count(window);
        self.troop.replace(slot)
    }

    async fn kill_anyone(&mut self) -> anyhow::Result<()> {
        // The server has more to lose than a worker.
        let slot = [SERVER, SERVER, 1, 2][self.dice.below(4) as usize];
        if self.troop.slots[slot].pulse != Pulse::Running || self.troop.slots[slot].doomed.is_some() {
            return Ok(());
        }
        if slot == SERVER && self.zombie.is_none() && self.dice.chance(NAP_PERMILLE) {
            let wake_at = Instant::now() + Duration::from_millis(self.dice.between(NAP_MS.0, NAP_MS.1));
            return self.put_to_sleep(slot, None, wake_at).await;
        }
        self.kill(slot, Window::Anywhere).await
    }

    async fn put_to_sleep(&mut self, slot: usize, task: Option<(Place, u32)>, wake_at: Instant) -> anyhow::Result<()> {
        self.troop.stop(slot, &self.ledger).await?;
        self.tally.zombies += 1;
        let process = self.troop.slots[slot].process.clone();
        self.zombie = Some(Zombie { process, task, wake_at, overtaken: false });
        Ok(())
    }

    /// Reacts to what processes wrote: kills those that wait for it, stops some, wakes the stopped one in time.
    async fn follow_ledger(&mut self) -> anyhow::Result<()> {
        self.read_ledger()?;
        for news in std::mem::take(&mut self.news) {
            match news {
                News::Up(process) => tracing::info!(process, "up"),
                News::Parked(process, point) => self.doom(&process, Window::of(point)),
                News::Begun(about) => self.begun(&about),
                News::Dozing(about) => self.dozing(&about).await?,
            }
        }
        for slot in 0..self.troop.slots.len() {
            if let Some((at, window)) = self.troop.slots[slot].doomed
                && Instant::now() >= at
            {
                self.kill(slot, window).await?;
            }
        }
        for (slot, problem) in self.troop.deserters() {
            self.violations.push(problem);
            self.troop.replace(slot)?;
        }
        self.wake_zombie().await
    }

    fn doom(&mut self, process: &str, window: Window) {
        let at = Instant::now() + Duration::from_millis(self.dice.below(25));
        if let Some(slot) = self.troop.slot_of(process) {
            self.troop.slots[slot].doomed.get_or_insert((at, window));
        }
    }

    /// A tool began somewhere: perhaps what the stopped process was at.
    fn begun(&mut self, about: &About) {
        let Some(zombie) = &mut self.zombie else { return };
        let overtakes = |(place, attempt): &(Place, u32)| *place == about.place && about.attempt > *attempt;
        if zombie.task.as_ref().is_some_and(overtakes) && !zombie.overtaken {
            // Somebody else has it now: the worst moment to come back.
            zombie.overtaken = true;
            zombie.wake_at = Instant::now() + Duration::from_millis(self.dice.below(30));
            self.tally.zombies_overtaken += 1;
        }
    }

    /// A worker may be stopped in the middle of a task.
    async fn dozing(&mut self, about: &About) -> anyhow::Result<()> {
        let slot = self.troop.slot_of(&about.process).filter(|slot| *slot != SERVER);
        let slot = slot.filter(|slot| self.zombie.is_none() && self.troop.slots[*slot].doomed.is_none());
        let Some(slot) = slot else { return Ok(()) };
        let task = (about.place.clone(), about.attempt);
        self.put_to_sleep(slot, Some(task), Instant::now() + ZOMBIE_MAX).await
    }

    /// The process that stopped over this call goes on at once, if it is stopped.
    pub(super) fn call_back(&mut self, place: &Place) {
        let zombie = self.zombie.as_mut();
        if let Some(zombie) = zombie.filter(|zombie| zombie.task.as_ref().is_some_and(|(of, _)| of == place)) {
            zombie.wake_at = Instant::now();
        }
    }

    async fn wake_zombie(&mut self) -> anyhow::Result<()> {
        let due = self.zombie.take_if(|zombie| Instant::now() >= zombie.wake_at);
        let slot = due.and_then(|zombie| self.troop.slot_of(&zombie.process));
        match slot.filter(|slot| self.troop.slots[*slot].pulse == Pulse::Stopped) {
            Some(slot) => self.troop.wake(slot, &self.ledger).await,
            None => Ok(()),
        }
    }

    /// Looks at the store: starts runs, answers, cancels, sees what ended.
    async fn scan(&mut self, active_max: usize) -> anyhow::Result<()> {
        let active: Vec<String> =
            self.runs.iter().filter(|(_, known)| !known.ended).map(|(run, _)| run.clone()).collect();
        if active.len() < active_max {
            self.plan_run();
        }
        for run in active {
            let head = self.store.runs.head(&Scope::All, &RunId::new(run.as_str())).await?;
            match head.map(|head| head.status) {
                None => self.start(&run).await?,
                Some(Status::Finished | Status::Failed | Status::Cancelled) => {
                    if let Some(known) = self.runs.get_mut(&run) {
                        known.ended = true;
                    }
                }
                Some(Status::Running | Status::AwaitingToolConfirmation | Status::AwaitingToolResults) => {
                    self.cancel_in_time(&run);
                }
            }
        }
        self.answer_questions().await
    }

    fn plan_run(&mut self) {
        let number = self.runs.len() as u64;
        let plan = Plan { seed: mix(&[self.options.seed, number]), only: None };
        let agent = AGENTS[(number % AGENTS.len() as u64) as usize];
        let cancel_at = plan.cancelled_after_ms().map(|ms| Instant::now() + Duration::from_millis(ms));
        let run = format!("run-{}-{number:04}", self.options.seed);
        self.runs.insert(run, Known { agent, plan, cancel_at, ended: false });
    }

    async fn start(&mut self, run: &str) -> anyhow::Result<()> {
        let Some(known) = self.runs.get(run).filter(|_| self.may_say(run)) else { return Ok(()) };
        let command = Command::Start { agent: known.agent.to_owned(), run: run.to_owned(), input: known.plan.input() };
        self.said(run.to_owned());
        self.say(&command).await
    }

    /// Cancels a run from here, a process that does not drive it.
    fn cancel_in_time(&mut self, run: &str) {
        let Some(known) = self.runs.get_mut(run) else { return };
        if known.cancel_at.is_none_or(|at| Instant::now() < at) {
            return;
        }
        known.cancel_at = Some(Instant::now() + super::SAY_AGAIN);
        let (runner, run) = (self.runners[known.agent].clone(), RunId::new(run));
        tokio::spawn(async move {
            if let Err(error) = runner.cancel(&run, Actor { id: Some("ana".into()), ..Actor::default() }).await {
                tracing::debug!(code = %error.code(), "not cancelled");
            }
        });
    }
}
