//! What servers and terminals ask of a runner, beside driving runs: answers that others act on, sessions, requeueing.

use std::sync::Arc;

use holdpoint_core::{BatchId, Message, Missing, QuestionKind, Rejection, RunId, Status};
use holdpoint_store::{Cursor, Head, LIST_LIMIT_MAX, RunFilter, StoreError};

use crate::driver::{Driver, load_run};
use crate::entry::opening::Opening;
use crate::entry::session::{closed, durable};
use crate::{Decisions, Error, Requeue, Results, ResumeFrom, Retry, RunRequest, RunResult, Runner};

/// How many pages of a session's runs are looked through for one of the tenant.
const PAGES_MAX: usize = 50;

/// How far a session is.
#[derive(Clone, Debug, Default)]
pub struct SessionSoFar {
    /// Its last run. Nothing for a session that has none.
    pub last: Option<RunId>,
    /// The messages of that run, with every call closed.
    pub messages: Vec<Arc<Message>>,
}

impl Runner {
    /// Starts a run and leaves it to whoever looks after its agent: a [`crate::Keeper`].
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub async fn submit(&self, request: impl Into<RunRequest>) -> Result<RunResult, Error> {
        self.open(Opening::Run(Box::new(request.into())).left(), None).await
    }

    /// As [`Runner::resume`], and leaves the run to whoever looks after its agent.
    ///
    /// # Errors
    /// When the decisions are not accepted; then nothing changed.
    pub async fn answer(
        &self,
        from: impl Into<ResumeFrom>,
        decisions: impl Into<Decisions>,
    ) -> Result<RunResult, Error> {
        self.open(Opening::decide(from, decisions).left(), None).await
    }

    /// As [`Runner::resume_with_tool_results`], and leaves the run to whoever looks after its agent.
    ///
    /// # Errors
    /// When the results are not accepted; then nothing changed.
    pub async fn deliver(&self, from: impl Into<ResumeFrom>, results: impl Into<Results>) -> Result<RunResult, Error> {
        self.open(Opening::deliver(from, results).left(), None).await
    }

    /// As [`Runner::retry`], and leaves the run to whoever looks after its agent.
    ///
    /// # Errors
    /// `not_retryable` for a run that did not fail.
    pub async fn retry_later(&self, run: impl Into<Retry>) -> Result<RunResult, Error> {
        self.open(Opening::retry(run).left(), None).await
    }

    /// Puts a task that was given up back into the queue. Such a task is a question about a call that may have taken
    /// effect: this answers that it did not and is to be done again, with the rule's roles and quorum. What still waits, is
    /// leased or has a result is not for this.
    ///
    /// # Errors
    /// `not_retryable` unless the call is in doubt; `digest_mismatch` for another question about it; `not_an_approver` for
    /// somebody who may not answer.
    pub async fn requeue(&self, requeue: Requeue) -> Result<RunResult, Error> {
        let Requeue { key, digest, actor, request } = requeue;
        let run = load_run(&self.parts, &key.run).await?;
        let call = run.call(key.index).filter(|_| run.turn() == key.turn);
        let doubted =
            call.filter(|call| call.question().is_some_and(|question| question.kind() == QuestionKind::Doubt));
        let call = doubted.ok_or(Rejection::NotRetryable)?;
        let mut decisions = Decisions::new().allow(call.id.clone()).shown(digest).by(actor);
        decisions.missing = Missing::Wait;
        decisions.request = request;
        self.answer(BatchId { run: key.run, turn: key.turn }, decisions).await
    }

    /// The conversation of a session so far: the messages of its last run, with every call closed. Empty for a session
    /// that has none. `None` stands for runs without a tenant.
    ///
    /// # Errors
    /// `run_busy` while its last run is in progress, `run_paused` while it is paused.
    pub async fn session_history(&self, tenant: Option<&str>, session: &str) -> Result<Vec<Arc<Message>>, Error> {
        Ok(self.session_so_far(tenant, session).await?.messages)
    }

    /// As [`Runner::session_history`], with the run that it comes from: [`RunRequest::alone_after`] goes on from there.
    ///
    /// # Errors
    /// `run_busy` while its last run is in progress, `run_paused` while it is paused.
    pub async fn session_so_far(&self, tenant: Option<&str>, session: &str) -> Result<SessionSoFar, Error> {
        let Some(head) = self.last_of_session(tenant, session).await? else { return Ok(SessionSoFar::default()) };
        if let Some(error) = open_error(&head) {
            return Err(error);
        }
        let result = self.result(&head.run).await?;
        Ok(SessionSoFar { messages: closed(&durable(&result)), last: Some(head.run) })
    }

    async fn last_of_session(&self, tenant: Option<&str>, session: &str) -> Result<Option<Head>, StoreError> {
        find_run(self, (tenant, session), |_| true).await
    }
}

impl Driver {
    /// What keeps a run from being started alone in its session.
    pub(crate) async fn session_busy(&self) -> Result<Error, StoreError> {
        let run = self.run();
        let Some(session) = run.session() else { return Ok(Error::SessionBusy) };
        let runner = Runner { parts: Arc::clone(self.parts()) };
        let of = (run.actor().tenant.as_deref(), &**session);
        let open = find_run(&runner, of, |head| open_error(head).is_some()).await?;
        Ok(open.as_ref().and_then(open_error).unwrap_or(Error::SessionBusy))
    }
}

/// The last created run of a session that fits.
async fn find_run(
    runner: &Runner,
    (tenant, session): (Option<&str>, &str),
    fits: impl Fn(&Head) -> bool,
) -> Result<Option<Head>, StoreError> {
    let mut filter = RunFilter {
        tenant: tenant.map(Into::into),
        session: Some(session.into()),
        limit: Some(LIST_LIMIT_MAX),
        ..RunFilter::default()
    };
    for _ in 0..PAGES_MAX {
        let page = runner.store().runs.list(&filter).await?;
        // A list without a tenant is of all tenants.
        let mut own = page.items.into_iter().filter(|head| head.tenant.as_deref() == tenant);
        if let Some(found) = own.find(|head| fits(head)) {
            return Ok(Some(found));
        }
        let next: Option<Cursor> = page.next;
        match next {
            Some(next) => filter.cursor = Some(next),
            None => break,
        }
    }
    Ok(None)
}

/// Why nothing else may be said in a session whose run this is.
fn open_error(head: &Head) -> Option<Error> {
    match head.status {
        Status::Running => Some(Error::SessionBusy),
        Status::AwaitingToolConfirmation | Status::AwaitingToolResults => Some(match &head.continuation {
            Some(continuation) => Error::SessionPaused { continuation: continuation.clone() },
            None => Error::SessionBusy,
        }),
        Status::Finished | Status::Failed | Status::Cancelled => None,
    }
}
