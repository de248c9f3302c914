//! One case: a run, an agent and processes with names of their own, and what must be true in the end.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use holdpoint::{Decisions, Keeper, ResumeFrom, RunId, RunRequest, RunResult, Runner, Status, ToolResult, Worker};
use holdpoint_core::{CallId, Digest};
use holdpoint_store::Scope;
use tokio::process::Child;
use tokio_util::sync::CancellationToken;
use tokio_util::sync::DropGuard;

use super::field::Field;
use super::party::{Orders, Party};
use crate::agents;
use crate::check;
use crate::dice::Dice;
use crate::ledger::{Fact, Place};
use crate::tools::Receipt;

/// How often the store is asked.
const TICK: Duration = Duration::from_millis(10);
/// How often a keeper or worker of a case looks.
const POLL: Duration = Duration::from_millis(20);

pub(super) struct Case {
    pub(super) field: Arc<Field>,
    pub(super) name: String,
    pub(super) runner: Runner,
    pub(super) dice: Dice,
}

/// What a case brought.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) takeovers: u64,
    pub(super) doubts: u64,
    pub(super) begins: u64,
    pub(super) evidence: u64,
    /// Results that were acknowledged.
    pub(super) acknowledged: u64,
    /// Results and answers that were rejected.
    pub(super) rejected: u64,
    pub(super) violations: Vec<String>,
}

impl Found {
    pub(super) fn violation(violation: String) -> Self {
        Self { violations: vec![violation], ..Self::default() }
    }

    pub(super) fn add(&mut self, other: &Found) {
        self.takeovers += other.takeovers;
        self.doubts += other.doubts;
        self.begins += other.begins;
        self.evidence += other.evidence;
        self.acknowledged += other.acknowledged;
        self.rejected += other.rejected;
    }
}

/// A process of a case. It is killed when the case ends.
pub(super) struct Process {
    pub(super) name: String,
    child: Child,
}

impl Process {
    /// Sends a signal.
    pub(super) fn signal(&self, signal: rustix::process::Signal) -> anyhow::Result<()> {
        let pid = self.child.id().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed()));
        match pid {
            Some(pid) => rustix::process::kill_process(pid, signal).context("send a signal"),
            None => Ok(()),
        }
    }

    pub(super) async fn ended(&mut self) -> anyhow::Result<()> {
        self.child.wait().await.context("wait for a process")?;
        Ok(())
    }
}

impl Case {
    pub(super) fn new(field: &Arc<Field>, name: String, dice: Dice) -> anyhow::Result<Self> {
        let runner = agents::runner(&name, &field.store, &field.bench)?;
        Ok(Self { field: Arc::clone(field), name, runner, dice })
    }

    pub(super) fn run(&self) -> RunId {
        RunId::new(self.name.as_str())
    }

    /// The one call of the run.
    pub(super) fn place(&self) -> Place {
        Place { run: self.name.clone(), turn: 1, index: 0 }
    }

    /// Starts the run here: it asks for one call of a tool.
    pub(super) async fn start(&self, tool: &str) -> anyhow::Result<RunResult> {
        Ok(self.runner.run(RunRequest::new(format!("only {tool}")).with_run_id(self.run())).await?)
    }

    /// Starts another process. It is up when this returns.
    pub(super) async fn spawn(&self, party: Orders) -> anyhow::Result<Process> {
        let name = format!("{}.{}", self.name, party.name());
        let child = Party::spawn(&self.field, &self.name, &name, party)?;
        self.field.up(&name).await;
        Ok(Process { name, child })
    }

    /// Looks after the run until the guard is dropped.
    pub(super) fn keep(&self) -> DropGuard {
        let stop = CancellationToken::new();
        let keeper = Keeper::new(&self.runner).poll(POLL).grace(Duration::ZERO).seal_never();
        tokio::spawn(keeper.run(stop.clone()));
        stop.drop_guard()
    }

    /// Does tasks of the run until the guard is dropped.
    pub(super) fn work(&self) -> DropGuard {
        let stop = CancellationToken::new();
        let worker = Worker::new(&self.runner).name("people").lease(agents::LEASE).poll(POLL);
        tokio::spawn(worker.run(stop.clone()));
        stop.drop_guard()
    }

    /// Waits until the run is as wanted.
    pub(super) async fn until(&self, wanted: impl Fn(&RunResult) -> bool) -> anyhow::Result<RunResult> {
        loop {
            match self.runner.result(&self.run()).await {
                Ok(result) if wanted(&result) => return Ok(result),
                Ok(_) => {}
                Err(error) if error.code().as_str() == "continuation_not_found" => {}
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(TICK).await;
        }
    }

    pub(super) async fn until_doubt_or_end(&self) -> anyhow::Result<RunResult> {
        let is_over = |result: &RunResult| matches!(result.status(), Status::Finished | Status::Cancelled);
        self.until(|result| is_over(result) || is_in_doubt(result)).await
    }

    /// A person looks at the ledger and answers what is asked, again and again, until the run is over.
    pub(super) async fn see_through(&self) -> anyhow::Result<RunResult> {
        loop {
            let result = self.until_doubt_or_end().await?;
            if !is_in_doubt(&result) {
                return Ok(result);
            }
            self.answer_doubt(&result).await?;
        }
    }

    /// The same without a ledger: a person knows that a call in doubt happened, with this result.
    pub(super) async fn see_through_with(&self, text: &str) -> anyhow::Result<RunResult> {
        loop {
            let result = self.until_doubt_or_end().await?;
            if !is_in_doubt(&result) {
                return Ok(result);
            }
            let Some(pending) = result.pending_confirmations().into_iter().next() else { continue };
            let happened = Decisions::new().happened(pending.id.clone(), ToolResult::success(format!("seen: {text}")));
            let decisions = happened.shown(pending.digest).by("ana").partial();
            let _ = self.runner.resume(ResumeFrom::from(&result), decisions).await;
        }
    }

    pub(super) async fn is_over(&self) -> anyhow::Result<bool> {
        let head = self.field.store.runs.head(&Scope::All, &self.run()).await?;
        Ok(head.is_some_and(|head| matches!(head.status, Status::Finished | Status::Failed | Status::Cancelled)))
    }

    /// A person who looks at the ledger says whether the call happened.
    pub(super) async fn answer_doubt(&self, result: &RunResult) -> anyhow::Result<()> {
        let Some(pending) = result.pending_confirmations().into_iter().next() else { return Ok(()) };
        let place = self.place();
        let had_effect = self.field.records(|records| {
            let had = records.of(&place).into_iter().find(|execution| execution.effect.is_some());
            had.map(|execution| (execution.about.execution.clone(), execution.about.attempt))
        });
        let attempt = pending.doubt.as_ref().map_or(0, |doubt| doubt.attempt.0);
        let effect = had_effect.as_ref().map(|(execution, _)| execution.clone());
        self.field.bench.write(&Fact::Looked { place, attempt, effect })?;
        let decisions = match had_effect {
            Some((execution, attempt)) => {
                let receipt = Receipt { execution, attempt };
                Decisions::new().happened(pending.id.clone(), ToolResult::success(receipt.text()))
            }
            None => Decisions::new().allow(pending.id.clone()),
        };
        let decisions = decisions.shown(pending.digest).by("ana").partial();
        // Another process may move the run meanwhile: the next look tells.
        let _ = self.runner.resume(ResumeFrom::from(result), decisions).await;
        Ok(())
    }

    /// Lets the call run, as an answer to the question with this digest.
    pub(super) async fn allow(&self, result: &RunResult, who: &str, call: CallId, digest: Digest) -> bool {
        let decisions = Decisions::new().allow(call).shown(digest).by(who).partial();
        self.runner.resume(ResumeFrom::from(result).by_batch(), decisions).await.is_ok()
    }

    /// With `repeat = never`, a tool begins at most once for each time that somebody accepted that it runs.
    pub(super) async fn judge(&self) -> anyhow::Result<Found> {
        let told = check::tell(&self.field.store, &self.run()).await?;
        let Some(told) = told else { return Ok(Found::violation(format!("{}: it was never started", self.name))) };
        let place = self.place();
        let (begins, late) = self.field.records(|records| {
            let late =
                records.begun_after_a_look(&place).into_iter().map(|execution| execution.about.execution.clone());
            (records.of(&place).len() as u64, late.collect::<Vec<_>>())
        });
        let accepted = told.accepted.get(&self.place()).copied().unwrap_or(0);
        let mut violations = Vec::new();
        if begins > accepted {
            violations.push(format!("{}: {begins} begins for {accepted} accepted: {}", self.name, told.steps));
        }
        if !late.is_empty() {
            violations.push(format!("{}: {late:?} began after a person had looked: {}", self.name, told.steps));
        }
        if told.status != Status::Finished {
            violations.push(format!("{}: it ended as `{}`: {}", self.name, told.status.as_str(), told.steps));
        }
        let (takeovers, doubts, evidence) = (told.takeovers, told.doubts, told.evidence);
        Ok(Found { takeovers, doubts, begins, evidence, violations, ..Found::default() })
    }
}

pub(super) fn is_in_doubt(result: &RunResult) -> bool {
    result.pending_confirmations().first().is_some_and(holdpoint::Pending::is_uncertain)
}
