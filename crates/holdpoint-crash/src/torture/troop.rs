//! The processes that are killed and started again.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use crate::broken::Break;
use crate::ledger::{Fact, Ledger, Point};
use crate::tools::Habits;

/// How long a process may take to read what it is told.
const SAY_MAX: Duration = Duration::from_millis(200);
/// How many lines of a process are shown when something went wrong.
const SHOWN_LINES: usize = 12;

/// When a kill fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    IntentEffect,
    EffectResult,
    ResultCommit,
    Anywhere,
}

impl Window {
    pub(super) fn of(point: Point) -> Self {
        match point {
            Point::AfterIntent | Point::BeforeEffect => Window::IntentEffect,
            Point::InModel => Window::Anywhere,
            Point::WithinEffect | Point::AfterEffect => Window::EffectResult,
            Point::BeforeResult => Window::ResultCommit,
        }
    }
}

/// What all processes are started with.
#[derive(Clone, Debug)]
pub(super) struct Orders {
    pub(super) program: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) store: String,
    pub(super) broken: Option<Break>,
}

/// How a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pulse {
    Running,
    Stopped,
    Dead,
}

/// One of the places that always have a living process.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) process: String,
    /// When it was started, in microseconds since 1970.
    pub(super) born_us: i64,
    pub(super) pulse: Pulse,
    /// It waits to be killed then, there.
    pub(super) doomed: Option<(Instant, Window)>,
    place: &'static str,
    generation: u32,
    child: Child,
}

/// The server loop and the workers.
#[derive(Debug)]
pub(super) struct Troop {
    orders: Orders,
    pub(super) slots: Vec<Slot>,
    pub(super) habits: Habits,
}

/// The slot of the server loop.
pub(super) const SERVER: usize = 0;
const PLACES: [&str; 3] = ["server", "worker-1", "worker-2"];

impl Troop {
    pub(super) fn start(orders: Orders, habits: Habits) -> anyhow::Result<Self> {
        let slots = PLACES.iter().map(|place| spawn(&orders, place, 1, habits));
        let slots = slots.collect::<anyhow::Result<_>>()?;
        Ok(Self { orders, slots, habits })
    }

    /// Kills a process with SIGKILL, waits until it is dead, and writes so.
    pub(super) async fn kill(&mut self, slot: usize, ledger: &Ledger) -> anyhow::Result<()> {
        let slot = &mut self.slots[slot];
        slot.child.start_kill().context("kill")?;
        slot.child.wait().await.context("wait")?;
        slot.pulse = Pulse::Dead;
        ledger.write(&Fact::Killed { process: slot.process.clone() })?;
        Ok(())
    }

    /// Starts the next process in a slot.
    pub(super) fn replace(&mut self, slot: usize) -> anyhow::Result<()> {
        let Slot { place, generation, .. } = self.slots[slot];
        self.slots[slot] = spawn(&self.orders, place, generation + 1, self.habits)?;
        Ok(())
    }

    pub(super) async fn stop(&mut self, slot: usize, ledger: &Ledger) -> anyhow::Result<()> {
        let slot = &mut self.slots[slot];
        signal(&slot.child, "STOP").await?;
        slot.pulse = Pulse::Stopped;
        ledger.write(&Fact::Stopped { process: slot.process.clone() })?;
        Ok(())
    }

    /// Written before it goes on: whatever it does then comes after the line.
    pub(super) async fn wake(&mut self, slot: usize, ledger: &Ledger) -> anyhow::Result<()> {
        let slot = &mut self.slots[slot];
        ledger.write(&Fact::Continued { process: slot.process.clone() })?;
        slot.pulse = Pulse::Running;
        signal(&slot.child, "CONT").await
    }

    /// The processes that ended although nobody killed them.
    pub(super) fn deserters(&mut self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if let Ok(Some(status)) = slot.child.try_wait() {
                slot.pulse = Pulse::Dead;
                found.push((number, format!("process `{}` ended by itself: {status}", slot.process)));
            }
        }
        found
    }

    /// How a process is; those that are not in a slot any more are dead.
    pub(super) fn pulse(&self, process: &str) -> Pulse {
        self.slot_of(process).map_or(Pulse::Dead, |slot| self.slots[slot].pulse)
    }

    pub(super) fn slot_of(&self, process: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.process == process)
    }

    pub(super) fn server(&self) -> &Slot {
        &self.slots[SERVER]
    }

    /// Tells the server something. It may die before it reads it.
    pub(super) async fn say(&mut self, line: &str) {
        let Some(input) = self.slots[SERVER].child.stdin.as_mut() else { return };
        let line = format!("{line}\n");
        let _ = tokio::time::timeout(SAY_MAX, input.write_all(line.as_bytes())).await;
    }

    /// The last lines that processes wrote to their logs.
    pub(super) fn last_words(&self) -> Vec<String> {
        let folder = logs(&self.orders.folder);
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
            .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
            .unwrap_or_default();
        files.sort();
        let mut shown = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            shown.extend(last.iter().map(|line| format!("{name}: {line}")));
        }
        shown
    }
}

fn logs(folder: &std::path::Path) -> PathBuf {
    folder.join("logs")
}

fn spawn(orders: &Orders, place: &'static str, generation: u32, habits: Habits) -> anyhow::Result<Slot> {
    let process = format!("{place}.{generation}");
    std::fs::create_dir_all(logs(&orders.folder))?;
    let log = File::create(logs(&orders.folder).join(format!("{process}.log")))?;
    let mut command = Command::new(&orders.program);
    command
        .arg(if place == PLACES[SERVER] { "serve" } else { "work" })
        .args(["--store", &orders.store, "--name", &process])
        .args(["--seed", &habits.seed.to_string(), "--park", &habits.park.to_string()])
        .args(["--doze", &habits.doze.to_string()])
        .arg("--ledger")
        .arg(&orders.folder);
    if let Some(broken) = orders.broken {
        command.args(["--break", broken.as_str()]);
    }
    command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
    let child = command.spawn().context("start a process")?;
    Ok(Slot { process, born_us: now_us(), pulse: Pulse::Running, doomed: None, place, generation, child })
}

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The shell is the one program that every system has to send a signal with.
async fn signal(child: &Child, name: &str) -> anyhow::Result<()> {
    let Some(pid) = child.id() else { return Ok(()) };
    let mut command = Command::new("sh");
    command.args(["-c", &format!("kill -{name} {pid}")]).stdin(Stdio::null()).stderr(Stdio::null());
    command.status().await.context("send a signal")?;
    Ok(())
}
