//! How a run that was moved is answered: as it is, as it will be soon, or as what happens.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use holdpoint::{RunId, RunResult, Segment, Status};
use tokio::time::Instant;

use crate::follow::Streaming;
use crate::idempotency::RequestName;
use crate::params::{Ask, WaitQuery, Wants};
use crate::refusal::Answer;
use crate::streams::StreamPermit;

/// A place for the stream that is wanted. Whoever gets none must hear of it before anything is begun.
pub(super) fn permit(ask: &Ask) -> Answer<Option<StreamPermit>> {
    (ask.wants == Wants::Events).then(|| ask.app.streams.open(&ask.caller.name)).transpose()
}

/// The same segment under the name of the request that asks for it.
pub(super) fn named(ask: &Ask, segment: Segment) -> Segment {
    match &ask.request {
        Some(RequestName(name)) => segment.requested_by(Arc::clone(name)),
        None => segment,
    }
}

/// Drives a segment here, or leaves it to the keeper where there is no room, and answers once its first commit is durable.
/// From then on there is an answer, whatever fails.
pub(super) async fn follow(ask: &Ask, id: &RunId, segment: Segment, wait: WaitQuery) -> Answer<Response> {
    let segment = named(ask, segment);
    let wait = ask.wait(wait.wait_ms)?;
    let permit = permit(ask)?;
    let room = ask.app.driving.room();
    let mut driven = None;
    let accepted = match room {
        Some(room) => driven.insert(ask.app.driving.drive(id, segment.stream(), room)).accepted().await?,
        None => ask.app.driving.see_through(segment.detach()).await?,
    };
    let after = accepted.began_after();
    let moved = accepted.revision() > after;
    if let Some(permit) = permit.filter(|_| moved) {
        let live = driven.map(|driven| driven.live);
        return Ok(Streaming { run: id.clone(), after, live, permit }.segment(&ask.app, &ask.caller));
    }
    let run = match driven {
        _ if wait.is_zero() => accepted,
        Some(_) if !moved => accepted,
        Some(mut driven) => match driven.done(wait).await {
            Some(done) => done,
            None => ask.app.run_owned(&ask.caller, id).await.unwrap_or(accepted),
        },
        None => waited(ask, accepted, wait).await,
    };
    Ok(Json(ask.caller.run_view(run.run())).into_response())
}

/// A run that is left to the keeper, when it pauses or ends, or when the client does not wait any longer.
async fn waited(ask: &Ask, left: RunResult, wait: Duration) -> RunResult {
    let until = Instant::now() + wait;
    let (id, mut status, mut revision) = (left.run_id(), left.status(), left.revision());
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
    if revision == left.revision() {
        return left;
    }
    ask.app.run_owned(&ask.caller, id).await.unwrap_or(left)
}
