//! What happens in a run.

use axum::Json;
use axum::response::{IntoResponse, Response};
use holdpoint_api::EventPage;
use holdpoint_codec::{Narrator, decode_event, new_run};
use holdpoint_core::{Revision, Status};
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::auth::Right;
use crate::follow::{Streaming, Until};
use crate::limits::EVENTS_MAX;
use crate::params::{Ask, Id, Params, Wants};
use crate::refusal::{Answer, Refusal};

/// Where to begin.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct EventQuery {
    /// Only events after this number.
    #[param(maximum = 9_223_372_036_854_775_807u64)]
    after: Option<u64>,
}

/// Follow the events of a run.
///
/// With `Accept: text/event-stream` a stream: each durable event has its number as `id`, and what the model says right now
/// comes between them without one. `Last-Event-ID` goes on where a stream broke, on any server. It ends when the run is
/// over; asked again then, there is no content. Otherwise the events so far, at most 1,000 at a time.
#[utoipa::path(
    get, path = "/v1/runs/{id}/events", tag = "runs", operation_id = "follow_run",
    params(("id" = String, Path), EventQuery, ("Last-Event-ID" = Option<String>, Header, pattern = "^([0-9]{1,18}|null)?$", description = "The last number seen")),
    responses(
        (status = 200, description = "The events", content((EventPage = "application/json"), (String = "text/event-stream"))),
        (status = 204, description = "The run is over, and there are no more"),
        Problems,
    ),
)]
pub(super) async fn events(ask: Ask, id: Id, Params(query): Params<EventQuery>) -> Answer<Response> {
    let id = id.run()?;
    if query.after.is_some_and(|after| i64::try_from(after).is_err()) {
        return Err(Refusal::field("after", "`after` is too large"));
    }
    let after = Revision(ask.last_event()?.or(query.after).unwrap_or_default());
    if ask.wants == Wants::Json {
        return page(&ask, &id, after).await;
    }
    // Who reads all runs need not have this one read to be let in.
    let (revision, status) = if ask.caller.may(Right::Read) {
        let head = ask.app.head(&ask.caller, &id).await?;
        (head.revision, head.status)
    } else {
        let run = ask.app.run_seen(&ask.caller, &id).await?;
        (run.revision(), run.status())
    };
    if after >= revision && matches!(status, Status::Finished | Status::Failed | Status::Cancelled) {
        // The one answer after which browsers do not come again.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let permit = ask.app.streams.open(&ask.caller.name)?;
    let streaming = Streaming { run: id, after, live: None, permit };
    Ok(streaming.follow(&ask.app, &ask.caller, Until::RunIsOver))
}

async fn page(ask: &Ask, id: &holdpoint::RunId, after: Revision) -> Answer<Response> {
    // Read once: who may see it, what happened and how far it is belong together.
    let records = ask.app.store.runs.load(&ask.caller.scope, id, Revision(0)).await?;
    let mut narrator = Narrator::new(new_run(id.clone()));
    let mut events = Vec::new();
    for record in records {
        let event = decode_event(&record.body).map_err(holdpoint::Error::from)?;
        let told = narrator.view(&event);
        if record.seq > after && events.len() < EVENTS_MAX {
            events.push(told);
        }
    }
    ask.caller.need_to_see(narrator.run())?;
    Ok(Json(EventPage { events, revision: narrator.run().revision().0 }).into_response())
}
