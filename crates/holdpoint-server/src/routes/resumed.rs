//! How a run that was moved is answered: as it is, as it will be soon, or as what happens.

use std::sync::Arc;

use axum::Json;
use axum::response::{IntoResponse, Response};
use holdpoint::{RunId, Segment, Status};
use holdpoint_core::{LogEntry, Revision, Run};
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::driving::{Accepted, Live};
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
    let mut follower = Follower::new(&ask.app, place, (after, Until::SegmentEnds), permit);
    if let Some(live) = live {
        follower = follower.listening(live);
    }
    let mut response = sse::response(&ask.app, &ask.caller, follower.frames());
    response.extensions_mut().insert(Streamed { run, after });
    response
}

/// Drives what was resumed, and answers once that is durable.
pub(super) async fn follow(ask: &Ask, before: &Run, segment: Segment, wait: WaitQuery) -> Answer<Response> {
    let id = before.id();
    let segment = named(ask, segment);
    let reply = Reply { permit: permit(ask)?, wait };
    let Some(room) = ask.app.driving.room() else {
        return leave(ask, id, segment, reply).await;
    };
    let mut driven = ask.app.driving.drive(id, segment.stream(), room);
    let accepted = driven.accepted().await?;
    if let (Some(permit), Accepted::Moved(first, _)) = (reply.permit, &accepted) {
        // Others may have moved the run since it was read: the segment begins where its own first event is.
        let after = Revision(first.0.saturating_sub(1));
        return Ok(stream(ask, Streaming { run: id.clone(), after, live: Some(driven.live), permit }));
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

/// The same segment under the name of the request that asks for it.
pub(super) fn named(ask: &Ask, segment: Segment) -> Segment {
    match &ask.request {
        Some(RequestName(name)) => segment.requested_by(Arc::clone(name)),
        None => segment,
    }
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
pub(super) async fn leave(ask: &Ask, id: &RunId, segment: Segment, reply: Reply) -> Answer<Response> {
    let result = ask.app.driving.see_through(segment.detach()).await?;
    let after = result.began_after();
    if let Some(permit) = reply.permit
        && result.run().revision() > after
    {
        return Ok(stream(ask, Streaming { run: id.clone(), after, live: None, permit }));
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
