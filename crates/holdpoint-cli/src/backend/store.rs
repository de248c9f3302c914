//! A store as a backend: a caller that reaches it may do everything, in all tenants.

use async_trait::async_trait;
use holdpoint::{Agent, CallAnswer, Decisions};
use holdpoint_api::{ApprovalView, RunSummary, RunView};
use holdpoint_codec::view::{EventView, MessageView, Text};
use holdpoint_codec::{Narrator, decode_event, decode_question, message_view, new_run};
use holdpoint_config::printable;
use holdpoint_core::{BatchId, CallId, CallKey, Revision, Run, RunId, Status};
use holdpoint_model::ScriptedModel;
use holdpoint_store::{Page, QuestionFilter, QuestionRow, QuestionStatus, RunFilter, Scope, Store, StoreError};

use super::{AnswerGiven, Backend, Filter, GivenDecision, Part, no_such_approval, no_such_run};
use crate::assemble::Shared;
use crate::failure::{Failure, Outcome};
use crate::person::PersonArgs;
use crate::setup::Setup;
use crate::stores::{self, StoreArgs};

/// A store, and the configuration that has its agents.
pub(super) struct StoreBackend {
    setup: Setup,
    store: Store,
}

impl StoreBackend {
    pub(super) async fn open(args: &StoreArgs) -> Outcome<Self> {
        let setup = Setup::find(&args.config)?;
        let store = stores::existing(setup.store_url(args.store.as_deref())).await?;
        Ok(Self { setup, store })
    }

    /// The run as its log says, and its events after a number.
    async fn read(&self, id: &str, after: u64) -> Outcome<(Run, Vec<EventView>)> {
        let run = RunId::new(id);
        let records = self.store.runs.load(&Scope::All, &run, Revision(0)).await.map_err(|error| failed(id, error))?;
        let mut narrator = Narrator::new(new_run(run));
        let mut events = Vec::new();
        for record in &records {
            let entry = decode_event(&record.body);
            let unreadable = |error| Failure::new(format!("event {} of the run cannot be read: {error}", record.seq));
            let event = narrator.view(&entry.map_err(unreadable)?);
            if event.seq > after {
                events.push(event);
            }
        }
        Ok((narrator.run().clone(), events))
    }
}

#[async_trait(?Send)]
impl Backend for StoreBackend {
    async fn runs(&self, filter: &Filter, part: Part) -> Outcome<Page<RunSummary>> {
        let filter = RunFilter {
            status: Status::ALL.into_iter().find(|status| Some(status.as_str()) == filter.status.as_deref()),
            agent: filter.agent.as_deref().map(Into::into),
            tenant: filter.tenant.as_deref().map(Into::into),
            cursor: part.cursor,
            limit: Some(part.limit),
            ..RunFilter::default()
        };
        let page = self.store.runs.list(&filter).await?;
        Ok(Page { items: page.items.iter().map(RunSummary::of).collect(), next: page.next })
    }

    async fn run(&self, id: &str) -> Outcome<RunView> {
        Ok(RunView::of(&self.read(id, u64::MAX).await?.0))
    }

    async fn messages(&self, id: &str) -> Outcome<Vec<MessageView>> {
        Ok(self.read(id, u64::MAX).await?.0.messages().iter().map(|message| message_view(message)).collect())
    }

    async fn events(&self, id: &str, after: u64) -> Outcome<Vec<EventView>> {
        Ok(self.read(id, after).await?.1)
    }

    async fn changed(&self, id: &str, after: u64) -> Outcome<()> {
        let changed = self.store.runs.changed(&RunId::new(id), Revision(after)).await;
        changed.map(drop).map_err(|error| failed(id, error))
    }

    async fn cancel(&self, id: &str, person: &PersonArgs) -> Outcome<RunView> {
        let run = RunId::new(id);
        let head = self.store.runs.head(&Scope::All, &run).await?.ok_or_else(|| no_such_run(id))?;
        // To cancel a run neither its model nor its tools are needed.
        let mut stand_in = Agent::builder().model(ScriptedModel::new(Vec::new())).store(self.store.clone());
        if let Some(agent) = head.agent {
            stand_in = stand_in.name(agent);
        }
        let actor = person.actor(head.tenant.as_deref());
        let cancelled = stand_in.build()?.runner().cancel(&run, actor).await?;
        Ok(RunView::of(cancelled.run()))
    }

    async fn approvals(&self, filter: &Filter, part: Part) -> Outcome<Page<ApprovalView>> {
        let filter = QuestionFilter {
            tenant: filter.tenant.as_deref().map(Into::into),
            status: filter.status.as_deref().and_then(QuestionStatus::parse).unwrap_or_default(),
            agent: filter.agent.as_deref().map(Into::into),
            run: filter.run.as_deref().map(RunId::new),
            cursor: part.cursor,
            limit: Some(part.limit),
            ..QuestionFilter::default()
        };
        let page = self.store.approvals.list(&filter).await?;
        Ok(Page { items: page.items.iter().map(approval).collect::<Outcome<_>>()?, next: page.next })
    }

    async fn approval(&self, id: &str) -> Outcome<ApprovalView> {
        let key = CallKey::parse(id).ok_or_else(|| no_such_approval(id))?;
        let found = self.store.approvals.find(&Scope::All, &key).await?;
        approval(&found.ok_or_else(|| no_such_approval(id))?)
    }

    async fn answer(&self, approval: &ApprovalView, answer: AnswerGiven, person: &PersonArgs) -> Outcome<()> {
        let name = approval.agent.as_ref().map_or("", Text::as_str);
        let receipt_key = self.setup.receipt_key_of(&self.store).await?;
        let shared = Shared { store: self.store.clone(), receipt_key };
        let agents = self.setup.agents(&shared, Some(name)).await?;
        let ready = agents.iter().find(|ready| ready.name == name).ok_or_else(|| {
            let message = format!("the agent `{}` is not in the configuration", printable::line(name));
            Failure::new(message).hint("name the configuration that has it with --config")
        })?;
        let call = CallId::new(approval.call_id.as_str());
        let decided = match answer.decision {
            GivenDecision::Allow => CallAnswer::Allow,
            GivenDecision::Deny => CallAnswer::Deny(answer.reason.as_deref().map(Into::into)),
        };
        let mut decisions = Decisions::new().decide(call, decided).shown(answer.digest);
        if let Some(reason) = &answer.reason {
            decisions = decisions.because(reason.as_str());
        }
        let actor = person.actor(approval.tenant.as_ref().map(Text::as_str));
        let key = CallKey::parse(&approval.id).ok_or_else(|| no_such_approval(&approval.id))?;
        let batch = BatchId { run: key.run, turn: key.turn };
        ready.agent.runner().resume(batch, decisions.by(actor).partial()).detach().await?;
        Ok(())
    }
}

fn failed(id: &str, error: StoreError) -> Failure {
    match error {
        StoreError::NotFound { .. } => no_such_run(id),
        error => error.into(),
    }
}

/// A caller that reaches the store may answer every pending approval.
fn approval(row: &QuestionRow) -> Outcome<ApprovalView> {
    let stored = decode_question(&row.body)
        .map_err(|error| Failure::new(format!("the approval `{}` cannot be read: {error}", row.key)))?;
    Ok(ApprovalView::of(row, stored, row.status == QuestionStatus::Pending))
}
