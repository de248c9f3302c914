//! How a run that was moved is answered: as it is, as it will be soon, or as what happens.

use std::sync::Arc;

use axum::Json;
use axum::response::{IntoResponse, Response};
use holdpoint::{RunId, RunResult, Segment, Status};
use holdpoint_core::Revision;
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::driving::{Accepted, Driven, Live};
use crate::follow::{Follower, Place, Until};
use crate::idempotency::{RequestName, Streamed};
use crate::params::{Ask, WaitQuery, Wants};
use crate::refusal::Answer;
use crate::sse;
use crate::streams::StreamPermit;
use crate::view::run_view_for;

/// How a moved run is to be answered.
pub(super) struct Reply {
    pub(super) permit: Option<StreamPermit>,
    pub(super) wait: WaitQuery,
}

/// The part of a run that a response streams.
pub(super) struct Streaming {
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
pub(super) fn stream(ask: &Ask, streaming: Streaming) -> Response {
    let Streaming { run, after, live, permit } = streaming;
    let place = Place { scope: &ask.caller.scope, run: &run };
    let mut follower = Follower::new(&ask.app, place, after, Until::SegmentEnds, permit);
    if let Some(live) = live {
        follower = follower.listening(live);
    }
    let mut response = sse::response(&ask.app, &ask.caller, follower.frames());
    response.extensions_mut().insert(Streamed { run, after });
    response
}

/// Drives what was resumed, and answers once that is durable.
pub(super) async fn follow(ask: &Ask, id: &RunId, segment: Segment, wait: WaitQuery) -> Answer<Response> {
    let segment = named(ask, segment);
    let reply = Reply { permit: permit(ask)?, wait };
    let Some(room) = ask.app.driving.room() else {
        return leave(ask, id, segment, reply).await;
    };
    let mut driven = ask.app.driving.drive(id, segment.stream(), room);
    let accepted = driven.accepted().await?;
    if let (Some(permit), Accepted::Moved(run)) = (reply.permit, &accepted) {
        let after = run.began_after();
        return Ok(stream(ask, Streaming { run: id.clone(), after, live: Some(driven.live), permit }));
    }
    let run = waited(ask, accepted, driven, wait).await;
    Ok(Json(run_view_for(&ask.caller, run.run())).into_response())
}

/// The run when its segment is over, or as it is when the client does not wait any longer. It is durable, so there is an answer
/// whatever fails from here on.
pub(super) async fn waited(ask: &Ask, accepted: Accepted, mut driven: Driven, wait: WaitQuery) -> RunResult {
    let wait = ask.wait(&wait);
    match accepted {
        Accepted::Still(run) => *run,
        Accepted::Moved(run) if wait.is_zero() => *run,
        Accepted::Moved(run) => match driven.done(wait).await {
            Some(done) => done,
            None => ask.app.run_owned(&ask.caller, run.run_id()).await.unwrap_or(*run),
        },
    }
}

/// The same segment under the name of the request that asks for it.
pub(super) fn named(ask: &Ask, segment: Segment) -> Segment {
    match &ask.request {
        Some(RequestName(name)) => segment.requested_by(Arc::clone(name)),
        None => segment,
    }
}

/// Leaves what was moved to the keeper, and answers once that is durable, or when the keeper was so far.
pub(super) async fn leave(ask: &Ask, id: &RunId, segment: Segment, reply: Reply) -> Answer<Response> {
    let result = ask.app.driving.see_through(segment.detach()).await?;
    let after = result.began_after();
    if let Some(permit) = reply.permit
        && result.revision() > after
    {
        return Ok(stream(ask, Streaming { run: id.clone(), after, live: None, permit }));
    }
    let until = Instant::now() + ask.wait(&reply.wait);
    let (mut status, mut revision) = (result.status(), result.revision());
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
    let now = if revision > result.revision() {
        // It is durable, so there is an answer whatever fails from here on.
        ask.app.run_owned(&ask.caller, id).await.unwrap_or(result)
    } else {
        result
    };
    Ok(Json(run_view_for(&ask.caller, now.run())).into_response())
}
