//! The inbox.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use holdpoint_api::{ApprovalChanges, ApprovalPage, ApprovalStatus, ApprovalView, PageQuery};
use holdpoint_codec::decode_question;
use holdpoint_store::{QuestionFilter, QuestionRow, QuestionSeq, QuestionStatus, Scope, StoreError, Topic};
use serde::Deserialize;
use tokio::sync::watch;
use utoipa::IntoParams;

use super::Problems;
use crate::app::App;
use crate::auth::{Caller, Right};
use crate::limits::KEEP_ALIVE;
use crate::params::{Ask, Params, Wants, names};
use crate::refusal::Answer;
use crate::sse;
use crate::streams::StreamPermit;

const LIST: &str = "approvals";
/// How many changes are read at a time.
const CHANGES_AT_ONCE: usize = 100;
/// How long a stream waits for a wake-up before it looks by itself.
const LOOK_EVERY: Duration = KEEP_ALIVE;

/// Which questions.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalQuery {
    /// Where they are: `pending` unless said otherwise.
    status: Option<ApprovalStatus>,
    /// Only questions of this agent.
    agent: Option<String>,
    /// Only questions of this run.
    run: Option<String>,
    #[serde(flatten)]
    #[param(ignore)]
    page: PageQuery,
}

/// List questions to people.
///
/// Those that wait come with the earliest deadline first. Whoever reads everything sees all of them, others those that they
/// may answer: `answerable` says whether the caller may.
#[utoipa::path(
    get, path = "/v1/approvals", tag = "approvals", operation_id = "list_approvals", params(ApprovalQuery, PageQuery),
    responses((status = 200, description = "One page", body = ApprovalPage), Problems),
)]
pub(super) async fn list(ask: Ask, Params(query): Params<ApprovalQuery>) -> Answer<Json<ApprovalPage>> {
    let Ask { app, caller, .. } = &ask;
    caller.need(Right::ReadApprovals)?;
    let (cursor, limit) = app.page(caller, LIST, &query.page)?;
    let filter = QuestionFilter {
        tenant: caller.tenant(),
        status: query.status.unwrap_or_default().0,
        agent: names("agent", query.agent)?,
        run: names("run", query.run)?.map(holdpoint::RunId::new),
        cursor,
        limit,
        ..QuestionFilter::default()
    };
    let page = app.store.approvals.list(&filter).await?;
    let next = app.next_page(caller, LIST, page.next.as_ref());
    let approvals = page.items.iter().filter_map(|row| seen(row, caller)).collect();
    Ok(Json(ApprovalPage { approvals, next }))
}

/// What somebody sees of a question: whoever reads everything sees all of them, others those that they may answer.
fn seen(row: &QuestionRow, caller: &Caller) -> Option<ApprovalView> {
    let stored = decode_question(&row.body);
    let stored =
        stored.inspect_err(|_| tracing::error!(target: "holdpoint", question = %row.key, "a question cannot be read"));
    let stored = stored.ok()?;
    let admitted = stored.admits(&caller.answerer(stored.approvers()));
    if !(admitted || caller.may(Right::Read)) {
        return None;
    }
    let answerable = row.status == QuestionStatus::Pending && caller.may(Right::Approve) && admitted;
    Some(ApprovalView::of(row, stored, answerable))
}

/// Follow the inbox.
///
/// Each event is a question that was asked, changed or ended, as it is now. `Last-Event-ID` goes on where a stream broke;
/// without it the stream begins now. Without `Accept: text/event-stream`: the changes since then, and where to go on.
#[utoipa::path(
    get, path = "/v1/approvals/events", tag = "approvals", operation_id = "follow_approvals",
    params(("Last-Event-ID" = Option<String>, Header, pattern = "^([0-9]{1,18}|null)?$", description = "The last number seen")),
    responses(
        (status = 200, description = "The changes",
            content((ApprovalChanges = "application/json"), (String = "text/event-stream"))),
        Problems,
    ),
)]
pub(super) async fn changes(ask: Ask) -> Answer<Response> {
    ask.caller.need(Right::ReadApprovals)?;
    let after = ask.last_event()?.map(QuestionSeq);
    let begin = ask.app.store.approvals.changes(&ask.caller.scope, after, CHANGES_AT_ONCE).await?;
    if ask.wants == Wants::Json {
        let approvals = begin.questions.iter().filter_map(|row| seen(row, &ask.caller)).collect();
        return Ok(Json(ApprovalChanges { approvals, seq: begin.seq.0 }).into_response());
    }
    let permit = ask.app.streams.open(&ask.caller.name)?;
    // Whoever went on from somewhere is told what came since, and is no further before.
    let place = after.unwrap_or(begin.seq);
    let mut inbox = Inbox {
        woken: ask.app.store.runs.watch(Topic::Questions),
        app: Arc::clone(&ask.app),
        caller: ask.caller.clone(),
        after: begin.seq,
        ready: VecDeque::from([sse::opening(Some(place.0))]),
        over: false,
        _permit: permit,
    };
    inbox.tell(&begin.questions);
    let frames = stream::unfold(inbox, |mut inbox| async move {
        let frame = inbox.next().await?;
        Some((frame, inbox))
    });
    Ok(sse::response(&ask.app, &ask.caller, frames))
}

/// Somebody who follows the inbox. Only its place is kept for a slow reader.
struct Inbox {
    app: Arc<App>,
    caller: Caller,
    after: QuestionSeq,
    woken: watch::Receiver<u64>,
    ready: VecDeque<Bytes>,
    over: bool,
    _permit: StreamPermit,
}

impl Inbox {
    fn tell(&mut self, questions: &[QuestionRow]) {
        let told = questions.iter().filter_map(|row| Some((row.seq, seen(row, &self.caller)?)));
        let told: Vec<(QuestionSeq, ApprovalView)> = told.collect();
        // Questions of one commit share a number: only the last that is told of them may be gone on from.
        let ends = |index: usize, seq| told.get(index + 1).is_none_or(|(next, _)| *next != seq);
        for (index, (seq, view)) in told.iter().enumerate() {
            self.ready.push_back(sse::event(ends(index, *seq).then_some(seq.0), view));
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.over {
                return None;
            }
            self.woken.borrow_and_update();
            match self.look().await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(_) => {
                    self.over = true;
                    return Some(sse::comment("the inbox cannot be read; connect again"));
                }
            }
            tokio::select! {
                () = self.app.stopping.cancelled() => {
                    self.over = true;
                    return Some(sse::comment("the server stops; connect again"));
                }
                Ok(()) = self.woken.changed() => {}
                () = tokio::time::sleep(LOOK_EVERY) => return Some(sse::comment("still here")),
            }
        }
    }

    async fn look(&mut self) -> Result<bool, StoreError> {
        let scope: &Scope = &self.caller.scope;
        let changes = self.app.store.approvals.changes(scope, Some(self.after), CHANGES_AT_ONCE).await?;
        self.after = changes.seq;
        self.tell(&changes.questions);
        // The number alone moves with every commit of the database, whoever's it is.
        Ok(!changes.questions.is_empty())
    }
}
