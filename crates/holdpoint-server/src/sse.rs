//! Server-sent events on the wire.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{Stream, StreamExt};
use http::{HeaderName, header};
use serde::Serialize;

use crate::app::App;
use crate::auth::{Caller, ConsoleSession};
use crate::limits::{KEEP_ALIVE, SESSION_CHECK_MIN};

/// How long a client waits before it connects again, in milliseconds.
const RECONNECT_MS: u32 = 1_000;

/// What a stream begins with, so that proxies and clients see it at once. With its place, if that is a number already: a client
/// that loses the stream before the first event names it.
pub(crate) fn opening(place: Option<u64>) -> Bytes {
    let place = place.map(|place| format!("id: {place}\n")).unwrap_or_default();
    Bytes::from(format!("retry: {RECONNECT_MS}\n{place}\n"))
}

/// One event. Those with an id are durable: a client that connects again names the last one that it saw.
pub(crate) fn event(id: Option<u64>, data: &impl Serialize) -> Bytes {
    let mut text = String::new();
    if let Some(id) = id {
        // Writing to memory does not fail.
        let _ = writeln!(text, "id: {id}");
    }
    // JSON in one line has no line break of its own.
    let data = serde_json::to_string(data).unwrap_or_default();
    let _ = write!(text, "data: {data}\n\n");
    Bytes::from(text)
}

/// A line that clients skip.
pub(crate) fn comment(text: &str) -> Bytes {
    Bytes::from(format!(": {text}\n\n"))
}

/// The answer whose body is a stream of events. It is read only as fast as the client reads, and a session of the console
/// hears nothing any more soon after it is over.
pub(crate) fn response(
    app: &Arc<App>,
    caller: &Caller,
    frames: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let over: BoxFuture<'static, ()> = match &caller.session {
        Some(session) => Box::pin(session_is_over(Arc::clone(app), Arc::clone(session))),
        None => Box::pin(std::future::pending()),
    };
    let body = Body::from_stream(frames.take_until(over).map(Ok::<_, Infallible>));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        // Proxies that collect answers before they hand them on would hold events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, body).into_response()
}

/// Waits until a session is over. It is looked at when somebody logs out here, and as often as a silent stream says that it is
/// there. A store that does not answer says nothing: what the stream tells needs it too.
async fn session_is_over(app: Arc<App>, session: Arc<ConsoleSession>) {
    let mut logged_out = app.logged_out.subscribe();
    loop {
        let left = Duration::from_millis(session.expires_at.ms_since(app.store.runs.now()));
        let wait = tokio::time::sleep(left.clamp(SESSION_CHECK_MIN, KEEP_ALIVE));
        tokio::select! {
            () = wait => {}
            Ok(()) = logged_out.changed() => {}
        }
        if let Ok(true) = session.is_over(&app.store).await {
            return;
        }
    }
}
