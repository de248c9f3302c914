//! Starts a server loop and two workers, starts runs, answers questions, kills processes at random and at the worst moments,
//! stops some beyond their leases, and checks in the end what they left.

mod desk;
mod rage;
mod report;
mod troop;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use holdpoint::open_store;
use holdpoint_store::Store;
use holdpoint_store_postgres::testing::Scratch;

use crate::agents::{self, Runners};
use crate::broken::Break;
use crate::check;
use crate::dice::Dice;
use crate::ledger::{Ledger, Place, Tail};
use crate::plan::Plan;
use crate::records::{News, Records};
use crate::roles::Command;
use crate::tools::{Bench, Habits};
use report::{Tally, show};
use troop::{Orders, Troop};

/// How long an answer or a start is given before it is said again.
const SAY_AGAIN: Duration = Duration::from_millis(1_000);

/// Kills processes and checks what they leave.
#[derive(Args, Clone, Debug)]
pub(crate) struct Torture {
    /// The address of an empty store: `sqlite:PATH` or `postgres://…`. Without an address, `sqlite` is a file in the work
    /// folder, and `postgres` a new database on the server that `HOLDPOINT_TEST_POSTGRES` names.
    #[arg(long)]
    store: String,
    /// How many kills at least.
    #[arg(long, default_value_t = 40)]
    kills: u64,
    /// How many kills at least between intent and effect, between effect and result, and between result and commit.
    #[arg(long, default_value_t = 0)]
    each: u64,
    /// How many workers at least must come back from a stop when somebody else has their task.
    #[arg(long, default_value_t = 0)]
    overtaken: u64,
    /// How many runs at least.
    #[arg(long, default_value_t = 30)]
    runs: u64,
    /// Decides what the runs do, and where processes wait to be killed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Switches a guarantee off, so that the test must fail.
    #[arg(long = "break")]
    broken: Option<Break>,
    /// Where the ledger and the logs are kept. By default in a folder of the system's, removed when nothing is wrong.
    #[arg(long)]
    work: Option<PathBuf>,
}

/// A run that was started or is to be.
#[derive(Debug)]
struct Known {
    agent: &'static str,
    plan: Plan,
    /// When it is to be cancelled.
    cancel_at: Option<Instant>,
    ended: bool,
}

struct World {
    options: Torture,
    store: Store,
    runners: Runners,
    ledger: Ledger,
    tail: Tail,
    records: Records,
    news: Vec<News>,
    troop: Troop,
    zombie: Option<rage::Zombie>,
    /// Calls in doubt that people leave alone for a while.
    patience: HashMap<Place, Instant>,
    dice: Dice,
    runs: BTreeMap<String, Known>,
    /// What was said to which server, and when.
    sayings: HashMap<String, (String, Instant)>,
    tally: Tally,
    violations: Vec<String>,
}

impl Torture {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let began = Instant::now();
        let folder = self.folder()?;
        let database = Database::prepare(&self.store, &folder).await?;
        let mut world = World::begin(self.clone(), &folder, &database.url).await?;
        world.rage().await?;
        world.drain().await?;
        world.end().await?;
        let runs = world.runs.iter().map(|(run, known)| (run.clone(), known.agent, known.plan)).collect();
        let judged = check::judge(&world.runners, &world.records, runs).await?;
        world.violations.extend(judged.violations);
        world.tally.torn_lines = world.tail.torn();
        let said = show(&self, &world.tally, &judged.counts, world.violations.len(), began.elapsed());
        let mut out = std::io::stdout();
        writeln!(out, "{said}")?;
        database.close().await?;
        if world.violations.is_empty() {
            if self.work.is_none() {
                std::fs::remove_dir_all(&folder)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let mut err = std::io::stderr();
        writeln!(err, "{} violations (ledger and logs are in {}):", world.violations.len(), folder.display())?;
        world.violations.iter().try_for_each(|violation| writeln!(err, "- {violation}"))?;
        world.troop.last_words().iter().try_for_each(|line| writeln!(err, "{line}"))?;
        Ok(ExitCode::FAILURE)
    }

    fn folder(&self) -> anyhow::Result<PathBuf> {
        let made = || std::env::temp_dir().join(format!("holdpoint-crash-{}", uuid::Uuid::now_v7()));
        let folder = self.work.clone().unwrap_or_else(made);
        std::fs::create_dir_all(&folder).context("the work folder")?;
        Ok(folder)
    }
}

impl World {
    async fn begin(options: Torture, folder: &Path, url: &str) -> anyhow::Result<Self> {
        // The store is made here, so that the processes find it.
        let store = open_store(url).await.context("the store")?;
        let ledger = Ledger::open(folder)?;
        let bench = Bench::open(folder, "people", Habits::default())?;
        let runners = agents::build(&store, &bench)?;
        let orders = Orders {
            program: std::env::current_exe()?,
            folder: folder.to_owned(),
            store: url.to_owned(),
            broken: options.broken,
        };
        Ok(Self {
            dice: Dice::new(options.seed),
            tail: Tail::open(folder)?,
            troop: Troop::start(orders, rage::habits(&options))?,
            store,
            runners,
            ledger,
            records: Records::default(),
            news: Vec::new(),
            zombie: None,
            patience: HashMap::new(),
            runs: BTreeMap::new(),
            sayings: HashMap::new(),
            tally: Tally::default(),
            violations: Vec::new(),
            options,
        })
    }

    fn read_ledger(&mut self) -> anyhow::Result<()> {
        for fact in self.tail.read_new()? {
            self.news.extend(self.records.take(fact));
        }
        Ok(())
    }

    /// Whether this was not said to the present server a moment ago.
    fn may_say(&self, what: &str) -> bool {
        let server = &self.troop.server().process;
        self.sayings.get(what).is_none_or(|(to, at)| to != server || at.elapsed() > SAY_AGAIN)
    }

    fn said(&mut self, what: String) {
        self.sayings.insert(what, (self.troop.server().process.clone(), Instant::now()));
    }

    async fn say(&mut self, command: &Command) -> anyhow::Result<()> {
        let line = serde_json::to_string(command)?;
        self.troop.say(&line).await;
        Ok(())
    }
}

/// The store that a torture or a campaign uses up.
pub(crate) struct Database {
    pub(crate) url: String,
    scratch: Option<Scratch>,
}

impl Database {
    pub(crate) async fn prepare(store: &str, folder: &Path) -> anyhow::Result<Self> {
        match store {
            "sqlite" => Ok(Self { url: format!("sqlite:{}", folder.join("runs.db").display()), scratch: None }),
            "postgres" => {
                let scratch = Scratch::new().await.context("a new database")?;
                Ok(Self { url: scratch.url().to_owned(), scratch: Some(scratch) })
            }
            url => Ok(Self { url: url.to_owned(), scratch: None }),
        }
    }

    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match self.scratch {
            Some(scratch) => scratch.close().await.context("drop the database"),
            None => Ok(()),
        }
    }
}
