//! The processes that a case suspends, cuts off or kills: one drives a run, one works on its tasks.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use holdpoint::{Decisions, ResumeFrom, RunId, RunRequest, Worker, open_store};
use holdpoint_core::{BatchId, Digest};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::field::Field;
use crate::agents::{self, LEASE, POLL};
use crate::broken::Break;
use crate::ledger::{Fact, Point};
use crate::link::Link;
use crate::tools::{Bench, Habits};

/// How many runs warm a process up.
const WARM_RUNS: usize = 4;

/// One process of a case.
#[derive(Args, Clone, Debug)]
pub(crate) struct Party {
    #[arg(long)]
    store: String,
    #[arg(long)]
    ledger: PathBuf,
    #[arg(long)]
    name: String,
    /// The agent and the run of the case.
    #[arg(long)]
    case: String,
    #[arg(long)]
    does: Does,
    /// The tool that a new run asks for.
    #[arg(long, default_value = "note_never")]
    tool: String,
    /// The digest of the question that it answers with `allow`.
    #[arg(long)]
    digest: Option<String>,
    /// It does other runs first, so that the statements of its connections are prepared.
    #[arg(long)]
    warm: bool,
    /// Where it stays for a while.
    #[arg(long)]
    dwell: Option<Point>,
    /// How long it stays there.
    #[arg(long, default_value_t = 0)]
    dwell_ms: u64,
    /// For how long its store does not answer after the first intent or lease.
    #[arg(long)]
    link: Option<Link>,
    #[arg(long, default_value_t = 0)]
    link_ms: u64,
    #[arg(long = "break")]
    broken: Option<Break>,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Does {
    /// It starts a run and drives it.
    Start,
    /// It answers a question and drives the run.
    Answer,
    /// It works on tasks.
    Work,
}

/// How a case starts a process.
#[derive(Clone, Debug)]
pub(super) struct Orders {
    pub(super) does: Does,
    pub(super) tool: &'static str,
    pub(super) digest: Option<Digest>,
    pub(super) warm: bool,
    pub(super) dwell: Option<(Point, Duration)>,
    pub(super) link: Option<(Link, Duration)>,
    /// The address of the store, if it is not that of the campaign.
    pub(super) store: Option<String>,
}

impl Orders {
    pub(super) fn new(does: Does, tool: &'static str) -> Self {
        Self { does, tool, digest: None, warm: false, dwell: None, link: None, store: None }
    }

    pub(super) fn dwelling(self, point: Point, time: Duration) -> Self {
        Self { dwell: Some((point, time)), ..self }
    }

    pub(super) fn name(&self) -> &'static str {
        match self.does {
            Does::Start => "driver",
            Does::Answer => "answerer",
            Does::Work => "worker",
        }
    }
}

impl Party {
    pub(super) fn spawn(field: &Field, case: &str, name: &str, orders: Orders) -> anyhow::Result<Child> {
        let mut command = Command::new(&field.program);
        let does = orders.does.to_possible_value().context("a name")?;
        command.args(["party", "--store", orders.store.as_ref().unwrap_or(&field.url)]);
        command.arg("--ledger").arg(&field.folder).args(["--name", name, "--case", case]);
        command.args(["--does", does.get_name(), "--tool", orders.tool]);
        if let Some(digest) = orders.digest {
            command.args(["--digest", &digest.to_string()]);
        }
        if let Some(broken) = field.broken {
            command.args(["--break", broken.as_str()]);
        }
        if orders.warm {
            command.arg("--warm");
        }
        if let Some((point, time)) = orders.dwell {
            let point = point.to_possible_value().context("a name")?;
            command.args(["--dwell", point.get_name(), "--dwell-ms", &time.as_millis().to_string()]);
        }
        if let Some((link, time)) = orders.link {
            let link = link.to_possible_value().context("a name")?;
            command.args(["--link", link.get_name(), "--link-ms", &time.as_millis().to_string()]);
        }
        let log = std::fs::File::create(field.folder.join(format!("{name}.log")))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        command.spawn().context("start a process")
    }

    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let store = open_store(&self.store).await.context("the store")?;
        let dwell = self.dwell.map(|point| (point, Duration::from_millis(self.dwell_ms)));
        let bench = Bench::dwelling(&self.ledger, &self.name, Habits::default(), dwell)?;
        let link_time = Duration::from_millis(self.link_ms);
        let store = self.link.map_or_else(|| store.clone(), |link| link.wrap(&store, link_time));
        let runner = agents::runner_with(&self.case, &store, &bench, self.broken)?;
        if self.warm {
            let bench = Bench::open(&self.ledger, &self.name, Habits::default())?;
            let other = agents::runner(&format!("{}-warm", self.case), &store, &bench)?;
            for _ in 0..WARM_RUNS {
                other.run(RunRequest::new("only note_never")).await?;
            }
        }
        bench.write(&Fact::Up { process: self.name.clone() })?;
        let run = RunId::new(self.case.as_str());
        let ended = match self.does {
            Does::Start => runner.run(RunRequest::new(format!("only {}", self.tool)).with_run_id(run)).await.map(drop),
            Does::Answer => {
                let digest = self.digest.as_deref().and_then(Digest::parse).context("a digest")?;
                let batch = BatchId { run, turn: holdpoint_core::Turn(1) };
                let decisions = Decisions::new().allow("c0").shown(digest).by("ana").partial();
                runner.resume(ResumeFrom::Batch(batch), decisions).await.map(drop)
            }
            Does::Work => {
                let worker = Worker::new(&runner).name(self.name.as_str()).lease(LEASE).poll(POLL);
                worker.run(CancellationToken::new()).await.map(drop)
            }
        };
        if let Err(error) = ended {
            tracing::info!(code = %error.code(), "ended");
        }
        Ok(())
    }
}
