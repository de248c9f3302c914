//! Runs: started, listed, shown, cancelled, tried again.

use std::sync::Arc;

use axum::Json;
use axum::response::{IntoResponse, Response};
use holdpoint::{Context, Error, RunId, RunRequest, RunResult, SessionSoFar};
use holdpoint_api::{
    ApiCode, MessageList, PageQuery, RunBody, RunPage, RunStatus, RunSummary, RunView, SessionPage, SessionView,
};
use holdpoint_codec::view::{Moment, Name};
use holdpoint_codec::{Shown, message_view, result_from_short_text};
use holdpoint_core::{Rejection, Revision};
use holdpoint_store::{RunFilter, SessionFilter};
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::IntoParams;

use super::{Problems, resumed};
use crate::ServedAgent;
use crate::app::App;
use crate::auth::{Caller, Right};
use crate::body::{Body, NoBody};
use crate::follow::Streaming;
use crate::limits::SESSION_BYTES_MAX;
use crate::params::{Ask, Id, Params, WaitQuery, name, names};
use crate::refusal::{Answer, Refusal};

const LIST: &str = "runs";
const LIST_OF_SESSIONS: &str = "sessions";

/// Start a run.
///
/// Answers as soon as the start is durable; the run goes on by itself, whoever listens. With `Accept: text/event-stream`
/// the answer is the events of the run, until it pauses or ends.
#[utoipa::path(
    post, path = "/v1/runs", tag = "runs", operation_id = "start_run",
    params(WaitQuery), request_body = RunBody,
    responses(
        (status = 201, description = "The run, perhaps still running", headers(("Location" = String)),
            content((RunView = "application/json"), (String = "text/event-stream"))),
        Problems,
    ),
)]
pub(super) async fn start(ask: Ask, Params(wait): Params<WaitQuery>, Body(body): Body<RunBody>) -> Answer<Response> {
    ask.caller.need(Right::Submit)?;
    ask.app.expect_running()?;
    let id = match &ask.derived {
        // The same request was on its way before, and its server died after the start.
        Some(derived) if ask.app.head(&ask.caller, &derived.0).await.is_ok() => {
            return begun_before(&ask, &derived.0).await;
        }
        Some(derived) => derived.0.clone(),
        None => RunId::new(uuid::Uuid::now_v7().to_string()),
    };
    let served = served(&ask.app, &body.agent)?;
    let request = request(&ask, served, body).await?.with_run_id(id.clone());
    Ok(created(resumed::follow(&ask, &id, served.agent.chat(request), wait).await?, &id))
}

async fn begun_before(ask: &Ask, id: &RunId) -> Answer<Response> {
    let response = match resumed::permit(ask)? {
        Some(permit) => {
            let streaming = Streaming { run: id.clone(), after: Revision(0), live: None, permit };
            streaming.segment(&ask.app, &ask.caller)
        }
        None => Json(RunView::of(ask.app.run_owned(&ask.caller, id).await?.run())).into_response(),
    };
    Ok(created(response, id))
}

fn created(response: Response, id: &RunId) -> Response {
    (StatusCode::CREATED, [(header::LOCATION, format!("/v1/runs/{id}"))], response).into_response()
}

/// What the run begins with.
async fn request(ask: &Ask, served: &ServedAgent, body: RunBody) -> Answer<RunRequest> {
    let request = input(&body.input)?;
    let context = context(served, &body.context.unwrap_or_default())?.by(ask.caller.actor());
    let request = request.with_context(context);
    let request = match &ask.traceparent {
        Some(trace) => request.with_trace(trace),
        None => request,
    };
    match body.session {
        None => Ok(request),
        Some(session) => in_session(ask, served, request, session).await,
    }
}

/// What the user says: a text, or blocks whose numbers stay as they were written.
fn input(raw: &RawValue) -> Answer<RunRequest> {
    if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
        return Ok(RunRequest::new(text));
    }
    if !raw.get().starts_with('[') {
        return Err(Refusal::field("input", "`input` is neither a text nor a list of blocks"));
    }
    let content = result_from_short_text(&Shown::default().with("content", raw).to_string());
    let content = content.map_err(|_| Refusal::value("input", "`input` is neither a text nor blocks"))?;
    Ok(RunRequest::from_blocks(content.blocks))
}

/// Goes on with a conversation: what was said in its last run comes first, and no two runs of it are open at once.
async fn in_session(ask: &Ask, served: &ServedAgent, request: RunRequest, session: String) -> Answer<RunRequest> {
    if session.trim().is_empty() || session.len() > SESSION_BYTES_MAX {
        let detail = format!("`session` must be a name of 1 to {SESSION_BYTES_MAX} bytes");
        return Err(Refusal::value("session", detail));
    }
    name("session", &session)?;
    let tenant = ask.caller.tenant();
    let SessionSoFar { last, messages } = served.runner().session_so_far(tenant.as_deref(), &session).await?;
    Ok(request.after(messages).in_session(session).alone_after(last))
}

/// Only what the agent lists: anything else would be forgotten silently at the first pause.
pub(super) fn context(served: &ServedAgent, attributes: &Shown) -> Answer<Context> {
    let keys = &served.runner().settings().context_keys;
    let mut context = Context::new();
    for (key, raw) in attributes.iter() {
        if !keys.contains(key) {
            let detail = "the agent's `context_keys` do not list this key";
            return Err(Refusal::new(ApiCode::UnknownContextKey, detail).with("field", format!("context.{key}")));
        }
        let detail = "an integer has more than 64 bits, and rules would see another one";
        let value = exact(raw).ok_or_else(|| Refusal::value(&format!("context.{key}"), detail))?;
        context = context.with(key, value);
    }
    // What is too large is refused now, and not when the run is under way.
    context.stored(keys).map_err(Error::from)?;
    Ok(context)
}

/// The value, if it is exactly what was written: two numbers that rules tell apart must not become one.
fn exact(raw: &RawValue) -> Option<Value> {
    let (mut quoted, mut escaped) = (false, false);
    let outside_of_texts = |letter: char| {
        let opens = quoted;
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            _ => {}
        }
        if opens || quoted { '"' } else { letter }
    };
    let plain: String = raw.get().chars().map(outside_of_texts).collect();
    let mut numbers = plain.split(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter));
    let is_whole = |number: &str| {
        let digits = number.strip_prefix('-').unwrap_or(number);
        !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
    };
    let fits = |number: &str| number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    let exact = numbers.all(|number| !is_whole(number) || fits(number));
    exact.then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// Which runs to list.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct RunQuery {
    /// Only runs that are there.
    status: Option<RunStatus>,
    /// Only runs of this agent.
    agent: Option<String>,
    /// Only runs of this conversation.
    session: Option<String>,
    #[serde(flatten)]
    #[param(ignore)]
    page: PageQuery,
}

/// List runs, the last created first.
///
/// A list has what the store knows without reading the events of a run. What it takes them for (`stop_reason`, `text`, `turn`,
/// `usage`, `pending`) is in `GET /v1/runs/{id}`.
#[utoipa::path(
    get, path = "/v1/runs", tag = "runs", operation_id = "list_runs", params(RunQuery, PageQuery),
    responses((status = 200, description = "One page", body = RunPage), Problems),
)]
pub(super) async fn list(ask: Ask, Params(query): Params<RunQuery>) -> Answer<Json<RunPage>> {
    let Ask { app, caller, .. } = &ask;
    caller.need(Right::Read)?;
    let (cursor, limit) = app.page(caller, LIST, &query.page)?;
    let filter = RunFilter {
        status: query.status.map(|Name(status)| status),
        agent: names("agent", query.agent)?,
        tenant: caller.tenant(),
        session: names("session", query.session)?,
        cursor,
        limit,
    };
    let page = app.store.runs.list(&filter).await?;
    let next = app.next_page(caller, LIST, page.next.as_ref());
    Ok(Json(RunPage { runs: page.items.iter().map(RunSummary::of).collect(), next }))
}

/// List conversations, that of the last created run first.
#[utoipa::path(
    get, path = "/v1/sessions", tag = "insight", operation_id = "list_sessions", params(PageQuery),
    responses((status = 200, description = "One page", body = SessionPage), Problems),
)]
pub(super) async fn sessions(ask: Ask, Params(query): Params<PageQuery>) -> Answer<Json<SessionPage>> {
    let Ask { app, caller, .. } = &ask;
    caller.need(Right::Read)?;
    let (cursor, limit) = app.page(caller, LIST_OF_SESSIONS, &query)?;
    let page = app.store.runs.sessions(&SessionFilter { tenant: caller.tenant(), cursor, limit }).await?;
    let next = app.next_page(caller, LIST_OF_SESSIONS, page.next.as_ref());
    let sessions = page.items.into_iter().map(|row| SessionView {
        id: row.id.to_string(),
        runs: row.runs,
        updated_at: Moment(row.updated_at),
    });
    Ok(Json(SessionPage { sessions: sessions.collect(), next }))
}

/// Show a run.
#[utoipa::path(
    get, path = "/v1/runs/{id}", tag = "runs", operation_id = "show_run", params(("id" = String, Path)),
    responses((status = 200, description = "The run", body = RunView), Problems),
)]
pub(super) async fn show(ask: Ask, id: Id) -> Answer<Json<RunView>> {
    let run = ask.app.run_seen(&ask.caller, &id.run()?).await?;
    Ok(Json(RunView::of(run.run())))
}

/// Show the conversation of a run.
#[utoipa::path(
    get, path = "/v1/runs/{id}/messages", tag = "runs", operation_id = "show_messages", params(("id" = String, Path)),
    responses((status = 200, description = "The conversation", body = MessageList), Problems),
)]
pub(super) async fn messages(ask: Ask, id: Id) -> Answer<Json<MessageList>> {
    let run = ask.app.run_seen(&ask.caller, &id.run()?).await?;
    let messages = run.messages().iter().map(|message| message_view(message)).collect();
    Ok(Json(MessageList { messages }))
}

/// A run that the caller may move: with `read` or `admin` any of the tenant's, else those that it started.
pub(super) async fn moved_by(app: &App, caller: &Caller, id: &RunId) -> Answer<RunResult> {
    caller.need(Right::Submit)?;
    app.run_seen(caller, id).await
}

/// Cancel a run in any state.
///
/// Tools that run are told to stop; results that come later are refused. A run that is over stays as it is.
#[utoipa::path(
    post, path = "/v1/runs/{id}/cancel", tag = "runs", operation_id = "cancel_run", params(("id" = String, Path)),
    responses((status = 200, description = "The run", body = RunView), Problems),
)]
pub(super) async fn cancel(ask: Ask, id: Id, NoBody: NoBody) -> Answer<Json<RunView>> {
    let id = id.run()?;
    let run = moved_by(&ask.app, &ask.caller, &id).await?;
    let segment = ask.app.runner_for(&run)?.cancel(&id, ask.caller.actor()).as_read(&run);
    let result = ask.app.driving.see_through(segment.into_future()).await?;
    Ok(Json(RunView::of(result.run())))
}

/// Go on with a run that failed, without running any settled call again.
#[utoipa::path(
    post, path = "/v1/runs/{id}/retry", tag = "runs", operation_id = "retry_run",
    params(("id" = String, Path), WaitQuery),
    responses(
        (status = 200, description = "The run", content((RunView = "application/json"), (String = "text/event-stream"))),
        Problems,
    ),
)]
pub(super) async fn retry(ask: Ask, id: Id, Params(wait): Params<WaitQuery>, NoBody: NoBody) -> Answer<Response> {
    ask.app.expect_running()?;
    let id = id.run()?;
    let run = moved_by(&ask.app, &ask.caller, &id).await?;
    if run.status() == holdpoint::Status::Cancelled {
        return Err(Rejection::RunCancelled.into());
    }
    let segment = ask.app.runner_for(&run)?.retry(&id).as_read(&run);
    resumed::follow(&ask, &id, segment, wait).await
}

/// The tenant's own agents are the same for all: the name alone decides.
pub(super) fn served<'a>(app: &'a Arc<App>, agent: &str) -> Answer<&'a ServedAgent> {
    app.agents.get(agent).ok_or_else(|| {
        Refusal::new(ApiCode::UnknownAgent, "there is no such agent; `GET /v1/agents` lists them")
            .with("field", "agent")
    })
}
