//! A store: whoever reaches it may do everything.

use std::process::ExitCode;

use async_trait::async_trait;
use holdpoint::{Agent, CallAnswer, Decisions, RunId, Status};
use holdpoint_api::{ApprovalView, RunSummary, RunView};
use holdpoint_codec::{Narrator, Shown, decode_question, message_shown, new_run};
use holdpoint_config::printable;
use holdpoint_core::{BatchId, CallId, CallKey, Revision, Run};
use holdpoint_store::{Head, QuestionFilter, QuestionRow, QuestionStatus, RunFilter, Scope, Store, StoreError};

use super::{Desk, Found, Said, Wanted, Word, text};
use crate::assemble::Shared;
use crate::config::Script;
use crate::person::PersonArgs;
use crate::setup::{ConfigArgs, Setup};
use crate::{problem, stores};

/// A store, and the configuration that has its agents.
pub(super) struct StoreDesk {
    setup: Setup,
    store: Store,
}

impl StoreDesk {
    pub(super) async fn open(config: &ConfigArgs, store: Option<&str>) -> Result<Self, ExitCode> {
        let setup = Setup::find(config).map_err(|error| problem::config(&error))?;
        let store = stores::existing(&setup.store_url(store)).await?;
        Ok(Self { setup, store })
    }

    async fn folded(&self, id: &str) -> Result<Run, ExitCode> {
        let (narrator, _) = self.told(id, u64::MAX).await?;
        Ok(narrator.run().clone())
    }

    /// The run as its log says, and its events after a number.
    async fn told(&self, id: &str, after: u64) -> Result<(Narrator, Vec<Shown>), ExitCode> {
        let id = RunId::new(id);
        let records = match self.store.runs.load(&Scope::All, &id, Revision(0)).await {
            Ok(records) => records,
            Err(error) => return Err(failed(&id, &error)),
        };
        let mut narrator = Narrator::new(new_run(id));
        let mut events = Vec::new();
        for record in &records {
            let told = narrator.tell(&stores::event(record)?);
            if record.seq > Revision(after) {
                events.push(told);
            }
        }
        Ok((narrator, events))
    }

    async fn head(&self, id: &RunId) -> Result<Head, ExitCode> {
        let head = self.store.runs.head(&Scope::All, id).await.map_err(|error| problem::failed(&error))?;
        head.ok_or_else(|| no_such_run(id))
    }

    async fn row(&self, id: &str) -> Result<QuestionRow, ExitCode> {
        let key = CallKey::parse(id).ok_or_else(|| no_such_approval(id))?;
        let found = self.store.approvals.find(&Scope::All, &key).await.map_err(|error| problem::failed(&error))?;
        found.ok_or_else(|| no_such_approval(id))
    }
}

#[async_trait]
impl Desk for StoreDesk {
    async fn runs(&self, wanted: &Wanted) -> Result<Found, ExitCode> {
        let status = Status::ALL.into_iter().find(|status| Some(status.as_str()) == wanted.status.as_deref());
        let mut filter = RunFilter {
            status,
            agent: wanted.agent.as_deref().map(Into::into),
            tenant: wanted.tenant.as_deref().map(Into::into),
            limit: Some(wanted.limit),
            ..RunFilter::default()
        };
        let mut found = Found { items: Vec::new(), more: true };
        while found.more && found.items.len() < wanted.limit {
            let page = self.store.runs.list(&filter).await.map_err(|error| problem::failed(&error))?;
            found.items.extend(page.items.iter().map(summary));
            found.more = page.next.is_some();
            filter.cursor = page.next;
        }
        found.more |= found.items.len() > wanted.limit;
        found.items.truncate(wanted.limit);
        Ok(found)
    }

    async fn run(&self, id: &str) -> Result<Shown, ExitCode> {
        Ok(Shown::of(&RunView::of(&self.folded(id).await?)))
    }

    async fn messages(&self, id: &str) -> Result<Vec<Shown>, ExitCode> {
        Ok(self.folded(id).await?.messages().iter().map(|message| message_shown(message)).collect())
    }

    async fn events(&self, id: &str, after: u64) -> Result<Vec<Shown>, ExitCode> {
        Ok(self.told(id, after).await?.1)
    }

    async fn changed(&self, id: &str, after: u64) -> Result<(), ExitCode> {
        let id = RunId::new(id);
        self.store.runs.changed(&id, Revision(after)).await.map(drop).map_err(|error| failed(&id, &error))
    }

    async fn cancel(&self, id: &str, person: &PersonArgs) -> Result<Shown, ExitCode> {
        let id = RunId::new(id);
        let head = self.head(&id).await?;
        if matches!(head.status, Status::Finished | Status::Failed | Status::Cancelled) {
            return Err(problem::failure(&format!("the run is over: it is {}", head.status.as_str()), None));
        }
        // To cancel a run neither its model nor its tools are needed.
        let mut stand_in = Agent::builder().model(Script::new("nobody", Vec::new())).store(self.store.clone());
        if let Some(agent) = head.agent {
            stand_in = stand_in.name(agent);
        }
        let stand_in = stand_in.build().map_err(|error| problem::rejected(&error))?;
        let actor = person.actor(head.tenant.as_deref());
        let result = stand_in.runner().cancel(&id, actor).await.map_err(|error| problem::rejected(&error))?;
        Ok(Shown::of(&RunView::of(result.run())))
    }

    async fn questions(&self, wanted: &Wanted) -> Result<Found, ExitCode> {
        let mut filter = QuestionFilter {
            tenant: wanted.tenant.as_deref().map(Into::into),
            status: wanted.status.as_deref().and_then(QuestionStatus::parse).unwrap_or_default(),
            agent: wanted.agent.as_deref().map(Into::into),
            run: wanted.run.as_deref().map(RunId::new),
            limit: Some(wanted.limit),
            ..QuestionFilter::default()
        };
        let mut found = Found { items: Vec::new(), more: true };
        while found.more && found.items.len() < wanted.limit {
            let page = self.store.approvals.list(&filter).await.map_err(|error| problem::failed(&error))?;
            for row in &page.items {
                found.items.push(shown(row)?);
            }
            found.more = page.next.is_some();
            filter.cursor = page.next;
        }
        found.more |= found.items.len() > wanted.limit;
        found.items.truncate(wanted.limit);
        Ok(found)
    }

    async fn question(&self, id: &str) -> Result<Shown, ExitCode> {
        shown(&self.row(id).await?)
    }

    async fn answer(&self, question: &Shown, said: &Said, person: &PersonArgs) -> Result<(), ExitCode> {
        let row = self.row(&text(question, "id")).await?;
        let receipt_key = self.setup.receipt_key_of(&self.store).await?;
        let shared = Shared { store: self.store.clone(), receipt_key };
        let agents = self.setup.agents(&shared, Some(&row.agent)).await.map_err(|error| problem::config(&error))?;
        let ready = agents.iter().find(|ready| ready.name == *row.agent).ok_or_else(|| {
            let message = format!("the agent `{}` is not in the configuration", printable::line(&row.agent));
            problem::failure(&message, Some("name the configuration that has it with --config"))
        })?;
        let call = CallId::new(text(question, "call_id"));
        let verdict = match said.word {
            Word::Allow => CallAnswer::Allow,
            Word::Deny => CallAnswer::Deny(said.reason.as_deref().map(Into::into)),
        };
        let mut decisions = Decisions::new().decide(call, verdict).shown(said.digest);
        if let Some(reason) = &said.reason {
            decisions = decisions.because(reason.as_str());
        }
        let batch = BatchId { run: row.key.run.clone(), turn: row.key.turn };
        let decisions = decisions.by(person.actor(row.tenant.as_deref())).partial();
        let answered = ready.agent.runner().resume(batch, decisions).detach().await;
        answered.map(drop).map_err(|error| problem::rejected(&error))
    }
}

fn failed(id: &RunId, error: &StoreError) -> ExitCode {
    match error {
        StoreError::NotFound { .. } => no_such_run(id),
        _ => problem::failed(error),
    }
}

fn no_such_run(id: &RunId) -> ExitCode {
    let message = format!("there is no run `{}`", printable::line(id.as_str()));
    problem::failure(&message, Some("`holdpoint runs list` shows which there are"))
}

pub(super) fn no_such_approval(id: &str) -> ExitCode {
    let message = format!("there is no approval `{}`", printable::line(id));
    problem::failure(&message, Some("`holdpoint approvals list` shows which there are"))
}

/// A run in a list. Whoever reaches the store sees all tenants.
fn summary(head: &Head) -> Shown {
    Shown::of(&RunSummary::of(head))
}

/// A question as the server shows it. A person who reaches the store may answer whatever waits.
fn shown(row: &QuestionRow) -> Result<Shown, ExitCode> {
    let stored = decode_question(&row.body)
        .map_err(|error| problem::failure(&format!("the approval `{}` cannot be read: {error}", row.key), None))?;
    Ok(Shown::of(&ApprovalView::of(row, stored, row.status == QuestionStatus::Pending)))
}
