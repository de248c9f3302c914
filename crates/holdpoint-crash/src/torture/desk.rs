//! The people: they look at what waits, approve or refuse by the plan, and answer doubts by looking at the ledger.

use std::time::{Duration, Instant};

use holdpoint::{Pending, RunId, RunResult, Status};
use holdpoint_core::Doubt;
use holdpoint_store::{Cursor, RunFilter};

use super::World;
use super::troop::{Pulse, SERVER, Window};
use crate::dice::mix_text;
use crate::ledger::{Fact, Place};
use crate::plan::{Permit, Saying, arguments, kind_of, number_in, saying};
use crate::roles::{Command, Verdict, Word};
use crate::tools::Receipt;

/// How many runs wait at most when people look.
const PAGES_MAX: usize = 16;
/// How long a patient person waits for a worker that is only stopped.
const PATIENCE: Duration = Duration::from_millis(400);

impl World {
    /// Looks at all questions, and answers those that were not answered a moment ago.
    pub(super) async fn answer_questions(&mut self) -> anyhow::Result<()> {
        for run in self.asking().await? {
            let Some(agent) = self.runs.get(run.as_str()).map(|known| known.agent) else { continue };
            let result = self.runners[agent].result(&run).await?;
            let Some(continuation) = result.continuation() else { continue };
            let continuation = continuation.id().to_string();
            if !self.may_say(&continuation) {
                continue;
            }
            let verdicts = self.verdicts(&result).await?;
            if verdicts.is_empty() {
                continue;
            }
            self.said(continuation.clone());
            let person = "ana".to_owned();
            let command = Command::Answer { agent: agent.to_owned(), continuation, person, verdicts };
            self.say(&command).await?;
        }
        Ok(())
    }

    async fn asking(&self) -> anyhow::Result<Vec<RunId>> {
        let mut found = Vec::new();
        let mut cursor: Option<Cursor> = None;
        for _ in 0..PAGES_MAX {
            let status = Some(Status::AwaitingToolConfirmation);
            let page = self.store.runs.list(&RunFilter { status, cursor, ..RunFilter::default() }).await?;
            found.extend(page.items.into_iter().map(|head| head.run));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(found)
    }

    async fn verdicts(&mut self, result: &RunResult) -> anyhow::Result<Vec<Verdict>> {
        let mut verdicts = Vec::new();
        for pending in result.pending_confirmations() {
            let word = match &pending.doubt {
                Some(doubt) => self.resolve(result, &pending, doubt).await?,
                None => by_plan(&pending),
            };
            if let Some(word) = word {
                let digest = pending.digest.to_string();
                verdicts.push(Verdict { call: pending.id.to_string(), digest, word });
            }
        }
        Ok(verdicts)
    }

    /// Did it happen? The ledger knows, once nobody can write to it any more.
    async fn resolve(&mut self, result: &RunResult, pending: &Pending, doubt: &Doubt) -> anyhow::Result<Option<Word>> {
        let run = result.run_id().to_string();
        let place = Place { run, turn: result.run().turn().0, index: pending.index.0 };
        let repeatable = kind_of(pending.tool.as_str()).is_some_and(|kind| kind.repeat.may_repeat());
        if self.patience.get(&place).is_some_and(|until| Instant::now() < *until) {
            return Ok(None);
        }
        if !repeatable && let Some(slot) = self.holder(&place, doubt) {
            // Whoever had it may still do it: a careful person makes sure that they cannot.
            self.tally.doubts_of_the_living += 1;
            self.kill(slot, Window::Anywhere).await?;
            return Ok(None);
        }
        if self.is_patient(&place, doubt) {
            return Ok(None);
        }
        self.read_ledger()?;
        let executions = self.records.of(&place);
        let effect = executions.iter().find(|execution| execution.effect.is_some());
        let receipt =
            effect.map(|found| Receipt { execution: found.about.execution.clone(), attempt: found.about.attempt });
        let looked = receipt.as_ref().map(|receipt| receipt.execution.clone());
        self.ledger.write(&Fact::Looked { place, attempt: doubt.attempt.0, effect: looked })?;
        Ok(Some(receipt.map_or(Word::Allow, |receipt| Word::Happened(receipt.text()))))
    }

    /// Some people wait a while for a worker that is only stopped: perhaps it brings what it has.
    fn is_patient(&mut self, place: &Place, doubt: &Doubt) -> bool {
        let stopped = doubt.worker.as_ref().is_some_and(|worker| self.troop.pulse(worker) == Pulse::Stopped);
        let patient = mix_text(self.options.seed, &place.to_string()).is_multiple_of(3);
        if !stopped || !patient || self.patience.contains_key(place) {
            return false;
        }
        self.patience.insert(place.clone(), Instant::now() + PATIENCE);
        self.call_back(place);
        true
    }

    /// The slot of the process that may still be at it, if it runs. One that is stopped is taken for dead, as people would.
    fn holder(&self, place: &Place, doubt: &Doubt) -> Option<usize> {
        let begun = self.records.of(place).into_iter().find(|execution| execution.about.attempt == doubt.attempt.0);
        let process = begun.map(|execution| &*execution.about.process).or(doubt.worker.as_deref());
        match process {
            Some(process) => self.troop.slot_of(process).filter(|_| self.troop.pulse(process) == Pulse::Running),
            // The intent of a server: of the present one, unless that is younger.
            None => (self.troop.server().born_us <= doubt.started_at.0).then_some(SERVER),
        }
    }
}

/// What a person says to a question that is no doubt.
fn by_plan(pending: &Pending) -> Option<Word> {
    let kind = kind_of(pending.tool.as_str())?;
    match kind.permit {
        Permit::Ask => {}
        Permit::Allow | Permit::Ignore | Permit::Deny => return None,
    }
    Some(match saying(number_in(pending.arguments.expose())?) {
        Saying::Approve => Word::Allow,
        Saying::Edit(number) => Word::Edit(arguments(number)),
        Saying::Refuse => Word::Deny,
    })
}
