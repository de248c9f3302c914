//! The processes that are killed: a server loop and workers.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use holdpoint::{Decisions, Keeper, ResumeFrom, RunId, RunRequest, Runner, ToolResult, Worker, open_store};
use holdpoint_core::{ContinuationId, Digest};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio_util::sync::CancellationToken;

use crate::agents::{self, LEASE, POLL, Runners};
use crate::broken::{Break, wrap};
use crate::ledger::Fact;
use crate::tools::{Bench, Habits};

/// How many tasks a worker does at once.
const TASKS_MAX: usize = 4;

/// What both roles are given.
#[derive(Args, Clone, Debug)]
pub(crate) struct Role {
    /// The address of the store.
    #[arg(long)]
    pub(crate) store: String,
    /// The folder of the ledger.
    #[arg(long)]
    pub(crate) ledger: PathBuf,
    /// The name of this incarnation.
    #[arg(long)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) habits: Habits,
    /// What is switched off.
    #[arg(long = "break")]
    pub(crate) broken: Option<Break>,
}

impl Role {
    async fn begin(&self) -> anyhow::Result<Runners> {
        let store = open_store(&self.store).await.context("the store")?;
        let bench = Bench::open(&self.ledger, &self.name, self.habits).context("the ledger")?;
        let runners = agents::build(&wrap(store, self.broken), &bench)?;
        bench.write(&Fact::Up { process: self.name.clone() })?;
        Ok(runners)
    }
}

/// What the server is told, a line each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Command {
    /// Start a run. If it is there already, nothing happens.
    Start { agent: String, run: String, input: String },
    /// Answer questions of a pause.
    Answer { agent: String, continuation: String, person: String, verdicts: Vec<Verdict> },
}

/// What a person says to one question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) call: String,
    /// Of what they saw.
    pub(crate) digest: String,
    pub(crate) word: Word,
}

/// The word itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    Allow,
    Edit(String),
    Deny,
    Happened(String),
}

/// A process with a keeper that starts runs and takes answers, until its input ends.
pub(crate) async fn serve(role: &Role) -> anyhow::Result<()> {
    let runners = role.begin().await?;
    let mut keeper: Option<Keeper> = None;
    for runner in runners.values() {
        keeper = Some(match keeper {
            None => Keeper::new(runner),
            Some(keeper) => keeper.and(runner),
        });
    }
    let keeper = keeper.context("no agents")?.poll(POLL);
    tokio::spawn(keeper.run(CancellationToken::new()));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let command: Command = serde_json::from_str(&line)?;
        tokio::spawn(obey(runners.clone(), command));
    }
    Ok(())
}

async fn obey(runners: Runners, command: Command) {
    let done = match command {
        Command::Start { agent, run, input } => match runners.get(agent.as_str()) {
            Some(runner) => runner.run(RunRequest::new(input).with_run_id(RunId::new(run))).await,
            None => return,
        },
        Command::Answer { agent, continuation, person, verdicts } => {
            let found = (runners.get(agent.as_str()), ContinuationId::parse(&continuation));
            let (Some(runner), Some(continuation)) = found else { return };
            answer(runner, continuation, &person, verdicts).await
        }
    };
    if let Err(error) = done {
        tracing::debug!(code = %error.code(), "not done");
    }
}

async fn answer(
    runner: &Runner,
    continuation: ContinuationId,
    person: &str,
    verdicts: Vec<Verdict>,
) -> Result<holdpoint::RunResult, holdpoint::Error> {
    let mut decisions = Decisions::new().partial().by(person);
    for Verdict { call, digest, word } in verdicts {
        let call = call.as_str();
        decisions = match word {
            Word::Allow => decisions.allow(call),
            Word::Edit(text) => {
                decisions.decide(call, holdpoint::CallAnswer::AllowEdited(holdpoint::EditedArguments::from_text(text)))
            }
            Word::Deny => decisions.deny(call, "not today"),
            Word::Happened(text) => decisions.happened(call, ToolResult::success(text)),
        };
        if let Some(digest) = Digest::parse(&digest) {
            decisions = decisions.shown(digest);
        }
    }
    runner.resume(ResumeFrom::Id(continuation), decisions).await
}

/// A process with a worker, until its input ends.
pub(crate) async fn work(role: &Role) -> anyhow::Result<()> {
    let runners = role.begin().await?;
    let mut worker: Option<Worker> = None;
    for runner in runners.values() {
        worker = Some(match worker {
            None => Worker::new(runner),
            Some(worker) => worker.and(runner),
        });
    }
    let name: Arc<str> = role.name.as_str().into();
    let worker = worker.context("no agents")?.name(name).concurrency(TASKS_MAX).lease(LEASE).poll(POLL);
    let working = tokio::spawn(worker.run(CancellationToken::new()));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    tokio::select! {
        ended = working => ended?.context("the worker ended"),
        _ = async { while let Ok(Some(_)) = lines.next_line().await {} } => Ok(()),
    }
}
