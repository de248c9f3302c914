//! What must be true of one call, in the log and in the ledger.

use std::collections::BTreeSet;

use holdpoint::{Outcome, Repeat, RunId, Source, Status};
use holdpoint_codec::{arguments_for, idempotency_key, parse_arguments};
use holdpoint_core::{CallIndex, Digest, Turn};

use super::history::{CallHistory, Step};
use crate::ledger::Place;
use crate::plan::PlannedCall;
use crate::records::{Execution, Records};

/// A call with everything that is known of it.
pub(super) struct Case<'a> {
    pub(super) place: &'a Place,
    pub(super) call: &'a CallHistory,
    pub(super) planned: PlannedCall,
    /// Of its run.
    pub(super) status: Status,
    pub(super) executions: Vec<&'a Execution>,
    pub(super) records: &'a Records,
}

/// How many effects came late, and what is wrong.
pub(super) fn check(case: &Case<'_>) -> (u64, Vec<String>) {
    let mut problems = Vec::new();
    problems.extend(case.as_planned());
    problems.extend(case.permitted());
    problems.extend(case.attempts());
    problems.extend(case.order_of_steps());
    problems.extend(case.accepted());
    problems.extend(case.keys());
    problems.extend(case.begins());
    let late = case.effects(&mut problems);
    (late, problems)
}

impl Case<'_> {
    /// The log and the ledger, for people.
    pub(super) fn tell(&self) -> String {
        let ran = self.executions.iter().map(|execution| {
            let line = |line: Option<u64>| line.map_or_else(|| "-".to_owned(), |line| line.to_string());
            let (effect, done) = (line(execution.effect), line(execution.done));
            let about = &execution.about;
            format!(
                "{} attempt {} (begun {}, effect {effect}, done {done})",
                about.execution, about.attempt, execution.begun
            )
        });
        let looks = self.records.looks(self.place).iter().map(|look| {
            format!("attempt {} at {}: {}", look.attempt, look.at, look.effect.as_deref().unwrap_or("no effect"))
        });
        let (ran, looks): (Vec<_>, Vec<_>) = (ran.collect(), looks.collect());
        format!("log {:?}; ran {ran:?}; looked {looks:?}", self.call.steps)
    }

    fn settled(&self) -> Vec<&Step> {
        self.call.steps.iter().filter(|step| matches!(step, Step::Settled { .. })).collect()
    }

    fn was_cancelled(&self) -> bool {
        self.status == Status::Cancelled
    }

    fn expected_digest(&self) -> Option<Digest> {
        let text = parse_arguments(Some(&self.planned.expected().1)).ok()?;
        Some(arguments_for(self.planned.kind.name, &text).digest())
    }

    /// Nothing that was approved is lost, and everything ends as policy and people said.
    fn as_planned(&self) -> Option<String> {
        let (expected, _) = self.planned.expected();
        match self.settled()[..] {
            [Step::Settled { outcome, .. }] if *outcome == expected => None,
            [Step::Settled { outcome: Outcome::Cancelled, .. }] if self.was_cancelled() => None,
            [] if self.was_cancelled() => None,
            [Step::Settled { outcome, .. }] => {
                Some(format!("ended as `{}`, not as `{}`", outcome.as_str(), expected.as_str()))
            }
            [] => Some("was never settled".to_owned()),
            _ => Some("was settled more than once".to_owned()),
        }
    }

    /// Nothing ran that nobody permitted, and what ran is what was permitted.
    fn permitted(&self) -> Vec<String> {
        let mut permitted: Option<Digest> = None;
        let mut problems = Vec::new();
        for step in &self.call.steps {
            match step {
                Step::Permitted(digest) => permitted = Some(*digest),
                Step::Started { digest, .. } | Step::Taken { digest, .. } if permitted != Some(*digest) => {
                    problems.push("was started with arguments that nobody permitted".to_owned());
                }
                _ => {}
            }
        }
        if permitted.is_some() && permitted != self.expected_digest() {
            problems.push("was permitted with other arguments than people saw".to_owned());
        }
        let shown = permitted.map(|digest| digest.to_string());
        let strangers = self.executions.iter().filter(|execution| Some(&execution.about.digest) != shown.as_ref());
        problems.extend(
            strangers.map(|execution| format!("`{}` ran, and nobody permitted that", execution.about.execution)),
        );
        problems
    }

    /// Every execution has an attempt of its own, and the log knows the attempt.
    fn attempts(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        let recorded: BTreeSet<u32> = self.call.steps.iter().filter_map(started_attempt).collect();
        let last = recorded.last().copied().unwrap_or(0);
        let is_task = self.call.steps.iter().any(|step| matches!(step, Step::Deferred { .. }));
        // Whoever had a task when the run was cancelled is in no log.
        let unrecorded = is_task && self.was_cancelled() && self.settled_as(Outcome::Cancelled);
        for execution in &self.executions {
            let attempt = execution.about.attempt;
            if !seen.insert(attempt) {
                problems.push(format!("attempt {attempt} ran twice"));
            }
            // A task that may be repeated is tried again without a word in the log.
            let known =
                recorded.contains(&attempt) || (is_task && self.call.repeat != Repeat::Never && attempt <= last);
            if !known && !unrecorded {
                problems.push(format!("attempt {attempt} ran, and the log has no intent for it"));
            }
        }
        problems
    }

    fn settled_as(&self, wanted: Outcome) -> bool {
        self.settled().iter().any(|step| matches!(step, Step::Settled { outcome, .. } if *outcome == wanted))
    }

    /// What may not be repeated is asked about before it is started again; nothing happens after the end.
    fn order_of_steps(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut open: Option<u32> = None;
        let mut over = false;
        for step in &self.call.steps {
            if over {
                problems.push(format!("{step:?} after it was settled"));
            }
            match step {
                Step::Started { attempt, .. } | Step::Taken { attempt, .. } => {
                    if self.call.repeat == Repeat::Never
                        && let Some(open) = open
                    {
                        problems.push(format!("attempt {attempt} was started while attempt {open} was in doubt"));
                    }
                    open = Some(*attempt);
                }
                Step::Requeued if self.call.repeat == Repeat::Never => {
                    problems.push("was put back although it may not be repeated".to_owned());
                }
                Step::Requeued | Step::AllowedAgain => open = None,
                Step::Happened if open.is_none() => problems.push("happened, and had never started".to_owned()),
                Step::Settled { .. } => over = true,
                Step::Permitted(_) | Step::Deferred { .. } | Step::Doubted | Step::Happened | Step::Evidence => {}
            }
        }
        problems.extend(self.unasked());
        problems
    }

    /// Every start of what may not be repeated ends with a result, a question, or the end of the run.
    fn unasked(&self) -> Option<String> {
        if self.call.repeat != Repeat::Never || self.was_cancelled() {
            return None;
        }
        let steps = &self.call.steps;
        let starts = steps.iter().enumerate().filter(|(_, step)| started_attempt(step).is_some());
        let unasked = starts.filter(|(place, _)| {
            let next = steps[place + 1..].iter().find(|step| !matches!(step, Step::Evidence));
            !matches!(next, Some(Step::Doubted | Step::Settled { .. }))
        });
        let attempt = unasked.filter_map(|(_, step)| started_attempt(step)).next()?;
        Some(format!("attempt {attempt} was in doubt, and nobody was asked"))
    }

    /// The result that counts is of an execution that had its effect, and of the attempt that the log names.
    fn accepted(&self) -> Vec<String> {
        let Some(Step::Settled { outcome: Outcome::Succeeded, source, receipt }) = self.settled().first().copied()
        else {
            return self.refused();
        };
        let Some(receipt) = receipt else { return vec!["succeeded without a receipt".to_owned()] };
        let mut problems = Vec::new();
        let execution = self.records.execution(&receipt.execution);
        match execution.filter(|execution| execution.about.place == *self.place && execution.effect.is_some()) {
            None => problems.push(format!("the result is of `{}`, which had no effect here", receipt.execution)),
            Some(execution) if execution.about.attempt != receipt.attempt => {
                problems.push("the result names another attempt than the one that ran".to_owned());
            }
            Some(_) => {}
        }
        let last = self.call.steps.iter().rev().find_map(started_attempt).unwrap_or(0);
        if *source != Some(Source::Person) && receipt.attempt != last {
            problems.push(format!("the result of attempt {} was taken for attempt {last}", receipt.attempt));
        }
        let again = self.executions.iter().filter(|execution| execution.about.attempt > last);
        problems.extend(again.map(|execution| format!("attempt {} ran after the result", execution.about.attempt)));
        problems
    }

    /// What was refused, denied, or expired as a question did not run.
    fn refused(&self) -> Vec<String> {
        let ran = !self.executions.is_empty();
        let never =
            [Outcome::Refused, Outcome::Denied, Outcome::Expired].into_iter().find(|outcome| self.settled_as(*outcome));
        let told = never.filter(|_| ran).map(|outcome| format!("ran although it was {}", outcome.as_str()));
        told.into_iter().collect()
    }

    /// One key for all executions, and the right one.
    fn keys(&self) -> Option<String> {
        let run = RunId::new(self.place.run.as_str());
        let key = idempotency_key(&run, Turn(self.place.turn), CallIndex(self.place.index), self.expected_digest()?);
        let other = self.executions.iter().find(|execution| execution.about.key != key.as_str())?;
        Some(format!("`{}` ran with another idempotency key", other.about.execution))
    }

    /// What may not be repeated begins at most once for each time that somebody accepted that it runs, and no attempt begins
    /// after a person was told that it did not happen.
    fn begins(&self) -> Vec<String> {
        if self.call.repeat != Repeat::Never {
            return Vec::new();
        }
        let (begins, accepted) = (self.executions.len() as u64, self.call.accepted());
        let often = (begins > accepted).then(|| format!("began {begins} times and was accepted {accepted} times"));
        let late = self.records.begun_after_a_look(self.place).into_iter();
        let late = late.map(|execution| format!("attempt {} began after a person had looked", execution.about.attempt));
        often.into_iter().chain(late).collect()
    }

    /// What may not be repeated had one effect. Effects cannot be fenced: a process that was stopped before its effect may
    /// still have it when it goes on, after a person had looked and found nothing. Nobody else may.
    fn effects(&self, problems: &mut Vec<String>) -> u64 {
        if self.call.repeat != Repeat::Never {
            return 0;
        }
        let mut had: Vec<&Execution> = self.executions.iter().copied().filter(|it| it.effect.is_some()).collect();
        had.sort_by_key(|execution| execution.about.attempt);
        let superseded = had.split_last().map(|(_, before)| before).unwrap_or_default();
        let mut late = 0;
        for execution in superseded {
            if self.is_late(execution) {
                late += 1;
            } else {
                problems.push(format!("had an effect in attempt {} and again later", execution.about.attempt));
            }
        }
        late
    }

    fn is_late(&self, execution: &Execution) -> bool {
        let Some(effect) = execution.effect else { return false };
        let Some(life) = self.records.life(&execution.about.process) else { return false };
        let looks = self.records.looks(self.place).iter();
        let mut blind = looks.filter(|look| look.attempt == execution.about.attempt && look.effect.is_none());
        blind.any(|look| life.slept_over(look.at, effect))
    }
}

fn started_attempt(step: &Step) -> Option<u32> {
    match step {
        Step::Started { attempt, .. } | Step::Taken { attempt, .. } => Some(*attempt),
        Step::Permitted(_)
        | Step::Deferred { .. }
        | Step::Requeued
        | Step::Doubted
        | Step::AllowedAgain
        | Step::Happened
        | Step::Evidence
        | Step::Settled { .. } => None,
    }
}

#[cfg(test)]
mod tests;
