//! The tools: each writes to the ledger before its effect, the effect itself, and after it. At random moments they wait to
//! be killed, or take their time.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use holdpoint_tools::{MadeTool, ToolCall, ToolError, raw_tool};
use serde::{Deserialize, Serialize};

use crate::dice::{Dice, mix_text};
use crate::ledger::{About, Fact, Ledger, Place, Point};
use crate::plan::Kind;

/// How often, in a thousand, a tool takes its time before or after its effect.
const LINGER_PERMILLE: u64 = 150;
/// The longest that it takes, in milliseconds.
const LINGER_MS_MAX: u64 = 250;
/// How long what is done again takes at least, in milliseconds: time for whoever had it before to come back.
const AGAIN_MS_MIN: u64 = 120;
/// How long a worker waits to be stopped.
const DOZE: Duration = Duration::from_millis(150);

/// How often, in a thousand, a process does something odd.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// Decides with the name of the process where it happens.
    #[arg(long)]
    pub(crate) seed: u64,
    /// It waits to be killed at a place where that hurts.
    #[arg(long, default_value_t = 0)]
    pub(crate) park: u64,
    /// It takes so long over a task that it could be stopped in it.
    #[arg(long, default_value_t = 0)]
    pub(crate) doze: u64,
}

/// What a tool returns: whoever sees the result knows which execution it is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) execution: String,
    pub(crate) attempt: u32,
}

impl Receipt {
    pub(crate) fn text(&self) -> String {
        format!("{{\"execution\":\"{}\",\"attempt\":{}}}", self.execution, self.attempt)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// What the tools of one process share.
#[derive(Debug)]
pub(crate) struct Bench {
    ledger: Ledger,
    process: String,
    habits: Habits,
    /// Where the process stays for a while, and for how long.
    dwell: Option<(Point, Duration)>,
    executions: AtomicU64,
    dice: Mutex<Dice>,
}

impl Bench {
    /// `process` names this incarnation; it decides with the seed where the process waits to be killed.
    pub(crate) fn open(folder: &Path, process: &str, habits: Habits) -> io::Result<Arc<Self>> {
        Self::dwelling(folder, process, habits, None)
    }

    /// The same for a process that stays somewhere for a while.
    pub(crate) fn dwelling(
        folder: &Path,
        process: &str,
        habits: Habits,
        dwell: Option<(Point, Duration)>,
    ) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            dwell,
            ledger: Ledger::open(folder)?,
            process: process.to_owned(),
            habits,
            executions: AtomicU64::new(0),
            dice: Mutex::new(Dice::new(mix_text(habits.seed, process))),
        }))
    }

    pub(crate) fn write(&self, fact: &Fact) -> io::Result<()> {
        self.ledger.write(fact)
    }

    /// Stays here for a while, if this is where the process does that.
    pub(crate) async fn dwell(&self, point: Point) {
        if let Some((_, time)) = self.dwell.filter(|(here, _)| *here == point)
            && self.write(&Fact::Parked { process: self.process.clone(), point }).is_ok()
        {
            tokio::time::sleep(time).await;
        }
    }

    /// Perhaps waits here for ever: whoever reads the ledger kills the process.
    pub(crate) async fn park(&self, point: Point) {
        self.dwell(point).await;
        // A result becomes durable less often than tools run.
        let weight = if point == Point::BeforeResult { 3 } else { 1 };
        if !self.dice().chance(self.habits.park * weight) {
            return;
        }
        if self.write(&Fact::Parked { process: self.process.clone(), point }).is_ok() {
            std::future::pending::<()>().await;
        }
    }

    async fn linger(&self, about: &About) -> io::Result<()> {
        let (dozes, ms) = {
            let mut dice = self.dice();
            let ms = match (about.attempt, dice.chance(LINGER_PERMILLE)) {
                (1, false) => None,
                (1, true) => Some(dice.below(LINGER_MS_MAX)),
                (_, _) => Some(dice.between(AGAIN_MS_MIN, LINGER_MS_MAX)),
            };
            (dice.chance(self.habits.doze), ms)
        };
        if dozes {
            self.write(&Fact::Dozing { execution: about.execution.clone() })?;
            tokio::time::sleep(DOZE).await;
        } else if let Some(ms) = ms {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        Ok(())
    }

    fn dice(&self) -> std::sync::MutexGuard<'_, Dice> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn perform(&self, call: &ToolCall) -> io::Result<Receipt> {
        let number = self.executions.fetch_add(1, Ordering::Relaxed);
        let execution = format!("{}#{number}", self.process);
        let key = call.key();
        let place = Place { run: key.run.to_string(), turn: key.turn.0, index: key.index.0 };
        let about = About {
            place,
            tool: call.tool().to_string(),
            attempt: call.attempt().0,
            execution: execution.clone(),
            key: call.idempotency_key().to_string(),
            digest: call.arguments().digest().to_string(),
            process: self.process.clone(),
        };
        self.write(&Fact::About(about.clone()))?;
        self.park(Point::BeforeEffect).await;
        self.linger(&about).await?;
        self.write(&Fact::Effect { execution: execution.clone() })?;
        self.park(Point::WithinEffect).await;
        self.linger(&about).await?;
        self.write(&Fact::Done { execution: execution.clone() })?;
        self.park(Point::AfterEffect).await;
        Ok(Receipt { execution, attempt: call.attempt().0 })
    }
}

pub(crate) fn tool(kind: &Kind, bench: &Arc<Bench>) -> MadeTool {
    let schema = serde_json::json!({
        "type": "object",
        "properties": { "number": { "type": "integer" } },
        "required": ["number"],
    });
    let bench = Arc::clone(bench);
    let body = move |call: ToolCall| {
        let bench = Arc::clone(&bench);
        async move {
            let done = bench.perform(&call).await;
            done.map(|receipt| receipt.text()).map_err(|error| ToolError::new(error.to_string()))
        }
    };
    raw_tool(kind.name, "Has an effect in the ledger", schema, body).repeat(kind.repeat)
}
