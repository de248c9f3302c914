//! How a run that was moved is answered: as it is, as it will be soon, or as what happens.

use axum::Json;
use axum::response::{IntoResponse, Response};
use holdpoint::{Agent, Decisions, Error, Results, ResumeFrom, Retry, RunId, RunRequest, RunResult, RunStream, Status};
use holdpoint_core::{LogEntry, Revision, Run};
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::driving::{Accepted, Live};
use crate::follow::{Follower, Place, Until};
use crate::idempotency::Streamed;
use crate::params::{Ask, WaitQuery, Wants};
use crate::refusal::Answer;
use crate::sse;
use crate::streams::StreamPermit;
use crate::view::run_view_for;

/// What moves a run.
pub(super) enum Move {
    Start(Box<RunRequest>),
    Answer(ResumeFrom, Decisions),
    Deliver(ResumeFrom, Results),
    Retry(Retry),
}

impl Move {
    /// Begins it here.
    pub(super) fn begin(self, agent: &Agent) -> Result<RunStream, Error> {
        let runner = agent.runner();
        match self {
            Move::Start(request) => agent.chat_stream(*request),
            Move::Answer(from, decisions) => runner.resume_stream(from, decisions),
            Move::Deliver(from, results) => runner.resume_stream_with_tool_results(from, results),
            Move::Retry(retry) => runner.retry_stream(retry),
        }
    }

    /// Makes it durable and leaves what follows to the keeper.
    async fn leave(self, agent: &Agent) -> Result<RunResult, Error> {
        let runner = agent.runner();
        match self {
            Move::Start(request) => agent.submit(*request).await,
            Move::Answer(from, decisions) => runner.answer(from, decisions).await,
            Move::Deliver(from, results) => runner.deliver(from, results).await,
            Move::Retry(retry) => runner.retry_later(retry).await,
        }
    }
}

/// How a moved run is to be answered.
pub(super) struct Reply {
    pub(super) permit: Option<StreamPermit>,
    pub(super) wait: WaitQuery,
}

/// A segment that is to be streamed.
pub(super) struct Segment {
    pub(super) run: RunId,
    /// What came before it.
    pub(super) after: Revision,
    /// Hears the driver from its first word on.
    pub(super) live: Option<broadcast::Receiver<Live>>,
    /// Taken before anything was begun.
    pub(super) permit: StreamPermit,
}

/// A place for the stream that is wanted. Whoever gets none must hear of it before anything is begun.
pub(super) fn permit(ask: &Ask) -> Answer<Option<StreamPermit>> {
    (ask.wants == Wants::Events).then(|| ask.app.streams.open(&ask.caller.name)).transpose()
}

/// The events of a segment.
pub(super) fn stream(ask: &Ask, segment: Segment) -> Response {
    let Segment { run, after, live, permit } = segment;
    let place = Place { scope: &ask.caller.scope, run: &run };
    let mut follower = Follower::new(&ask.app, place, (after, Until::SegmentEnds), permit);
    if let Some(live) = live {
        follower = follower.listening(live);
    }
    let mut response = sse::response(&ask.app, &ask.caller, follower.frames());
    response.extensions_mut().insert(Streamed { run, after });
    response
}

/// Drives what was resumed, and answers once that is durable.
pub(super) async fn follow(ask: &Ask, before: &Run, step: Move, wait: WaitQuery) -> Answer<Response> {
    let id = before.id();
    let agent = &ask.app.served_of(before.agent().map(|agent| &**agent))?.agent;
    let reply = Reply { permit: permit(ask)?, wait };
    let Some(room) = ask.app.driving.room() else {
        return leave(ask, (agent, before), step, reply).await;
    };
    let mut driven = ask.app.driving.drive(id, (step.begin(agent)?, room));
    let accepted = driven.accepted().await?;
    if let (Some(permit), Accepted::Moved(first, _)) = (reply.permit, &accepted) {
        // Others may have moved the run since it was read: the segment begins where its own first event is.
        let segment =
            Segment { run: id.clone(), after: Revision(first.0.saturating_sub(1)), live: Some(driven.live), permit };
        return Ok(stream(ask, segment));
    }
    let view = match accepted {
        Accepted::Still(result) => run_view_for(&ask.caller, result.run()),
        Accepted::Moved(seq, first) => match driven.done(ask.wait(&wait)).await {
            Some(result) => run_view_for(&ask.caller, result.run()),
            None => run_view_for(&ask.caller, &moved(ask, before, (seq, &first)).await),
        },
    };
    Ok(Json(view).into_response())
}

/// A run that was moved, as it is now. What was asked is durable, so there is an answer whatever fails from here on: then it
/// is what this server knows.
pub(super) async fn moved(ask: &Ask, before: &Run, (seq, first): (Revision, &LogEntry)) -> Run {
    if let Ok(run) = ask.app.run_owned(&ask.caller, before.id()).await {
        return run;
    }
    let mut known = before.clone();
    if seq.0 == before.revision().0 + 1 {
        known.apply(first);
    }
    known
}

/// Leaves what was moved to the keeper, and answers once that is durable, or when the keeper was so far.
pub(super) async fn leave(ask: &Ask, (agent, before): (&Agent, &Run), step: Move, reply: Reply) -> Answer<Response> {
    let agent = agent.clone();
    let result = ask.app.driving.see_through(async move { step.leave(&agent).await }).await?;
    let (id, after) = (before.id(), result.began_after());
    if let Some(permit) = reply.permit
        && result.run().revision() > after
    {
        return Ok(stream(ask, Segment { run: id.clone(), after, live: None, permit }));
    }
    let until = Instant::now() + ask.wait(&reply.wait);
    let (mut status, mut revision) = (result.run().status(), result.run().revision());
    while status == Status::Running && !ask.app.stopping.is_cancelled() {
        let moved = tokio::time::timeout_at(until, ask.app.store.runs.changed(id, revision));
        tokio::select! {
            () = ask.app.stopping.cancelled() => break,
            moved = moved => if !matches!(moved, Ok(Ok(_))) {
                break;
            },
        }
        let Ok(head) = ask.app.head(&ask.caller, id).await else { break };
        (status, revision) = (head.status, head.revision);
    }
    // It is durable, so there is an answer whatever fails from here on.
    let now = ask.app.run_owned(&ask.caller, id).await;
    let view = run_view_for(&ask.caller, now.as_ref().unwrap_or(result.run()));
    Ok(Json(view).into_response())
}
