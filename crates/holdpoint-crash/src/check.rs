//! Reads the log of every run and the ledger, and says where they do not agree with the promises.

mod history;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use holdpoint::{RunId, Status};
use holdpoint_codec::{decode_event, new_run};
use holdpoint_core::{Call, Digest, Event, Revision};
use holdpoint_store::{Page, Scope, Store, TaskFilter};

use crate::agents::Runners;
use crate::ledger::Place;
use crate::plan::{LAST_WORD, Plan};
use crate::records::Records;
use history::{CallHistory, RunHistory, Step};

/// What the log of one run says, for cases.
pub(crate) struct Told {
    pub(crate) status: Status,
    pub(crate) takeovers: u64,
    pub(crate) doubts: u64,
    pub(crate) evidence: u64,
    /// How often somebody accepted that a call runs.
    pub(crate) accepted: BTreeMap<Place, u64>,
    /// For people.
    pub(crate) steps: String,
}

/// Reads the log of a run. Nothing if the store does not know it.
pub(crate) async fn tell(store: &Store, run: &RunId) -> anyhow::Result<Option<Told>> {
    let Some(history) = RunHistory::load(store, run).await? else { return Ok(None) };
    let count = |wanted: fn(&Step) -> bool| {
        history.calls.values().flat_map(|call| &call.steps).filter(|step| wanted(step)).count() as u64
    };
    let accepted = history.calls.iter().map(|(place, call)| (place.clone(), call.accepted()));
    Ok(Some(Told {
        status: history.status,
        takeovers: history.takeovers,
        doubts: count(|step| matches!(step, Step::Doubted)),
        evidence: count(|step| matches!(step, Step::Evidence)),
        accepted: accepted.collect(),
        steps: format!("{:?}", history.calls.values().map(|call| &call.steps).collect::<Vec<_>>()),
    }))
}

/// Whether a result is in the log of a run, as that of a call or as evidence.
pub(crate) async fn has_result(store: &Store, run: &RunId, text: &str) -> anyhow::Result<bool> {
    for record in store.runs.load(&Scope::All, run, Revision(0)).await? {
        let found = match decode_event(&record.body)?.event {
            Event::ToolEnded { settlement, .. } => settlement.result.text() == text,
            Event::EvidenceGiven { result, .. } => result.text() == text,
            _ => false,
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many doubts were answered by answers that name this digest.
pub(crate) async fn doubts_answered_by(store: &Store, run: &RunId, digest: Digest) -> anyhow::Result<u64> {
    let mut read = new_run(run.clone());
    let mut found = 0;
    for record in store.runs.load(&Scope::All, run, Revision(0)).await? {
        let entry = decode_event(&record.body)?;
        if let Event::CallAnswered(answered) = &entry.event
            && answered.digest == Some(digest)
            && read.call(answered.call).is_some_and(Call::is_uncertain)
        {
            found += 1;
        }
        read.apply(&entry);
    }
    Ok(found)
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) violations: Vec<String>,
    pub(crate) counts: Counts,
}

/// What the logs and the ledger hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) finished: u64,
    pub(crate) cancelled: u64,
    pub(crate) calls: u64,
    pub(crate) executions: u64,
    pub(crate) effects: u64,
    pub(crate) doubts: u64,
    /// Doubts that a person answered with the result.
    pub(crate) happened: u64,
    /// Doubts that a person answered by letting it run.
    pub(crate) allowed_again: u64,
    pub(crate) takeovers: u64,
    pub(crate) evidence: u64,
    /// Effects that a stopped process had after a person had looked.
    pub(crate) late_effects: u64,
}

/// Checks all runs: each with its agent and its plan.
pub(crate) async fn judge(
    runners: &Runners,
    records: &Records,
    runs: Vec<(String, &'static str, Plan)>,
) -> anyhow::Result<Judged> {
    let mut judged = Judged::default();
    let mut known = BTreeSet::new();
    for (run, agent, plan) in runs {
        let id = RunId::new(run.as_str());
        let Some(history) = RunHistory::load(runners[agent].store(), &id).await? else {
            judged.violations.push(format!("{run} was never started"));
            continue;
        };
        judged.judge_run(&history, plan, records);
        known.extend(history.calls.into_keys());
    }
    judged.count_executions(records, &known);
    let store = runners.values().next().context("no agents")?.store();
    let Page { items: tasks, .. } = store.tasks.list(&TaskFilter::default()).await?;
    judged.violations.extend(tasks.iter().map(|task| format!("a task is left over: {:?}", task.key)));
    Ok(judged)
}

impl Judged {
    fn judge_run(&mut self, history: &RunHistory, plan: Plan, records: &Records) {
        self.counts.takeovers += history.takeovers;
        match history.status {
            Status::Finished => {
                self.counts.finished += 1;
                self.judge_end(history, plan);
            }
            Status::Cancelled => {
                self.counts.cancelled += 1;
                if plan.cancelled_after_ms().is_none() {
                    self.violations.push(format!("{} was cancelled, and nobody did that", history.run));
                }
            }
            Status::Running | Status::AwaitingToolConfirmation | Status::AwaitingToolResults | Status::Failed => {
                let status = history.status.as_str();
                self.violations.push(format!("{} ended as `{status}`: {}", history.run, history.tail()));
            }
        }
        for (place, call) in &history.calls {
            self.counts.calls += 1;
            self.count_steps(call);
            let planned = plan.calls(place.turn).get(place.index as usize).copied();
            let Some(planned) = planned.filter(|_| place.turn <= plan.turns()) else {
                self.violations.push(format!("{place}: the model never asked for it"));
                continue;
            };
            let executions = records.of(place);
            self.judge_call(&rules::Case { place, call, planned, status: history.status, executions, records });
        }
    }

    fn judge_end(&mut self, history: &RunHistory, plan: Plan) {
        if history.text.as_deref() != Some(LAST_WORD) {
            self.violations.push(format!("{} ended with another text", history.run));
        }
        let planned: usize = (1..=plan.turns()).map(|turn| plan.calls(turn).len()).sum();
        if planned != history.calls.len() {
            let found = history.calls.len();
            self.violations.push(format!("{} has {found} calls, planned were {planned}", history.run));
        }
    }

    fn judge_call(&mut self, case: &rules::Case<'_>) {
        let (late_effects, problems) = rules::check(case);
        self.counts.late_effects += late_effects;
        let told = problems
            .into_iter()
            .map(|problem| format!("{} `{}`: {problem}\n    {}", case.place, case.call.tool, case.tell()));
        self.violations.extend(told);
    }

    fn count_steps(&mut self, call: &CallHistory) {
        for step in &call.steps {
            match step {
                Step::Doubted => self.counts.doubts += 1,
                Step::AllowedAgain => self.counts.allowed_again += 1,
                Step::Happened => self.counts.happened += 1,
                Step::Evidence => self.counts.evidence += 1,
                Step::Permitted(_)
                | Step::Deferred { .. }
                | Step::Started { .. }
                | Step::Taken { .. }
                | Step::Requeued
                | Step::Settled { .. } => {}
            }
        }
    }

    /// Everything that ran must be in some log.
    fn count_executions(&mut self, records: &Records, known: &BTreeSet<Place>) {
        let mut strangers: BTreeMap<&Place, u64> = BTreeMap::new();
        for execution in records.executions() {
            self.counts.executions += 1;
            self.counts.effects += u64::from(execution.effect.is_some());
            if !known.contains(&execution.about.place) {
                *strangers.entry(&execution.about.place).or_default() += 1;
            }
        }
        let told =
            strangers.into_iter().map(|(place, times)| format!("{place} ran {times} times, and no log knows it"));
        self.violations.extend(told);
    }
}
