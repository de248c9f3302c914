//! The queue, for workers in any language.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use globset::{Glob, GlobMatcher};
use holdpoint::{Runner, TaskHolder, WorkerFault};
use holdpoint_api::{CompleteBody, FailBody, HeartbeatAnswer, HeartbeatBody, LeaseAnswer, LeaseBody, LeasedTaskView};
use holdpoint_codec::tasks::decode_task;
use holdpoint_core::{Attempt, CallKey, Rejection, ToolName};
use holdpoint_store::{
    Fence, LEASE_LIMIT_MAX, LEASE_MS_MAX, LEASE_TOOLS_MAX, LeaseRequest, LeaseState, LeasedTask, Release, TaskLease,
    Topic, WorkerSeen,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Problems;
use super::answers::invalid_result;
use crate::app::App;
use crate::auth::{Caller, Right};
use crate::body::Body;
use crate::limits::LEASE_PATTERNS_MAX;
use crate::params::{Ask, Id, name};
use crate::refusal::{Answer, Refusal};
use crate::seal::Purpose;

const LEASE_MS_DEFAULT: u64 = 30_000;
const LEASE_MS_MIN: u64 = 100;
const WORKER_BYTES_MAX: usize = 100;
/// How often a long poll looks although nothing woke it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a lease token holds: the task, which lease of it, which attempt, its worker, its tenant, and the agent of its run. Only
/// this server's key makes one, and only its tenant can use it.
type Lease = (String, u64, u32, String, Option<String>, String);

fn seal(app: &App, caller: &Caller, leased: &LeasedTask, worker: &str) -> String {
    let LeasedTask { lease, task, .. } = leased;
    let (key, tenant) = (lease.key.to_string(), caller.scope.tenant());
    app.sealer.seal(Purpose::LEASE, &(key, lease.fence.0, task.attempts.0, worker, tenant, &*task.agent))
}

/// The holder that a token names, and the runner of the task. A token of another task, tenant or server is as good as none.
fn open(ask: &Ask, key: &CallKey, token: &str) -> Answer<(TaskHolder, Runner)> {
    let lost = || Refusal::from(Rejection::LeaseLost);
    let (of, fence, attempt, worker, tenant, agent): Lease =
        ask.app.sealer.open(Purpose::LEASE, token).ok_or_else(lost)?;
    if tenant.as_deref() != ask.caller.scope.tenant() || of != key.to_string() {
        return Err(lost());
    }
    let lease = TaskLease { key: key.clone(), fence: Fence(fence) };
    let holder = TaskHolder { lease, attempt: Attempt(attempt), worker: worker.into() };
    // The store may be out of reach: then the runner keeps trying.
    Ok((holder, ask.app.runner_of(Some(&agent))?.clone()))
}

/// Take tasks.
///
/// From then on each may have taken effect: what is not completed, failed or prolonged in time is in doubt, and what the
/// tool says about repetition decides. Waits up to `wait_ms` if there is none. `receipt` proves to a worker that exactly
/// this call may run: verify it with the keys of `GET /v1/keys`.
#[utoipa::path(
    post, path = "/v1/tasks/lease", tag = "tasks", operation_id = "lease_tasks", request_body = LeaseBody,
    responses((status = 200, description = "The tasks, perhaps none", body = LeaseAnswer), Problems),
)]
pub(super) async fn lease(ask: Ask, Body(body): Body<LeaseBody>) -> Answer<Json<LeaseAnswer>> {
    let Ask { app, caller, .. } = &ask;
    caller.need(Right::Work)?;
    app.expect_running()?;
    let request = lease_request(app, caller, &body)?;
    let until = Instant::now() + ask.wait(body.wait_ms)?;
    note_worker(app, caller, &request).await?;
    let mut woken = app.store.runs.watch(Topic::Tasks);
    loop {
        woken.borrow_and_update();
        let Taken { tasks, any } = take(app, caller, &request).await?;
        if !tasks.is_empty() || app.stopping.is_cancelled() || Instant::now() >= until {
            return Ok(Json(LeaseAnswer { tasks }));
        }
        tokio::select! {
            () = app.stopping.cancelled() => {}
            // What was just given back wakes everybody, and nobody could do it a moment ago.
            Ok(()) = woken.changed(), if !any => {}
            () = tokio::time::sleep_until(until.min(Instant::now() + LOOK_EVERY)) => {}
        }
    }
}

/// Notes that a worker is there, not more often than anybody needs to know.
async fn note_worker(app: &App, caller: &Caller, request: &LeaseRequest) -> Answer<()> {
    let Some(name) = app.noted.due(&caller.name, &request.worker, std::time::Instant::now()) else { return Ok(()) };
    let tools = request.tools.iter().map(|(_, tool)| tool.clone()).collect();
    let seen = WorkerSeen { name, tenant: request.tenant.clone(), tools };
    Ok(app.store.state.note_worker(&seen).await?)
}

/// What was leased.
struct Taken {
    /// What may be started.
    tasks: Vec<LeasedTaskView>,
    /// Whether there was anything, also if it was given back.
    any: bool,
}

/// Leases what is there, and leaves out what policy says no to by now. What cannot be handed over is given back: nobody has
/// started it.
async fn take(app: &Arc<App>, caller: &Caller, request: &LeaseRequest) -> Answer<Taken> {
    let (hand_over, handed) = oneshot::channel();
    let taking = {
        let (app, caller, request) = (Arc::clone(app), caller.clone(), request.clone());
        async move {
            let leased = app.store.tasks.lease(&request).await?;
            let any = !leased.is_empty();
            let mut views = Vec::with_capacity(leased.len());
            for task in leased {
                views.extend(admitted(&app, &caller, task, &request.worker).await);
            }
            // Somebody who went away meanwhile gets nothing.
            if let Err(views) = hand_over.send(views) {
                for (lease, _) in views {
                    give_back(&app, &lease).await;
                }
            }
            Ok(any)
        }
    };
    let any = app.driving.see_through(taking).await?;
    let views = handed.await.map_err(|_| Refusal::internal("tasks that were leased and not handed over"))?;
    Ok(Taken { tasks: views.into_iter().map(|(_, view)| view).collect(), any })
}

/// A task that may be started, as its worker sees it.
async fn admitted(app: &App, caller: &Caller, task: LeasedTask, worker: &str) -> Option<(TaskLease, LeasedTaskView)> {
    let lease = task.lease.clone();
    let view = match app.agents.get(&task.task.agent) {
        None => None,
        Some(served) => match served.runner().admit(task).await {
            // Policy says no by now, and the runner settled it.
            Ok(None) => return None,
            Ok(Some(task)) => view(app, caller, &task, worker),
            Err(error) => {
                tracing::warn!(target: "holdpoint", run = %lease.key.run, code = %error.code(), "a task could not be handed over");
                None
            }
        },
    };
    if view.is_none() {
        give_back(app, &lease).await;
    }
    Some((lease, view?))
}

async fn give_back(app: &App, lease: &TaskLease) {
    if let Err(error) = app.store.tasks.release(lease, Release::Unstarted).await {
        tracing::warn!(target: "holdpoint", run = %lease.key.run, code = %error.code(), "a task could not be given back");
    }
}

/// One task as its worker sees it, with its lease.
fn view(app: &App, caller: &Caller, leased: &LeasedTask, worker: &str) -> Option<LeasedTaskView> {
    let stored = decode_task(&leased.body).ok()?;
    let lease = seal(app, caller, leased, worker);
    Some(LeasedTaskView::of(&leased.lease.key, stored, leased.task.attempts.0, lease))
}

fn lease_request(app: &App, caller: &Caller, body: &LeaseBody) -> Answer<LeaseRequest> {
    let worker = match &body.worker {
        Some(name) if name.trim().is_empty() || name.len() > WORKER_BYTES_MAX => {
            return Err(Refusal::value("worker", format!("a worker's name has 1 to {WORKER_BYTES_MAX} bytes")));
        }
        Some(text) => {
            name("worker", text)?;
            format!("{}/{text}", caller.name).into()
        }
        None => Arc::clone(&caller.name),
    };
    let limit = usize::try_from(body.max.unwrap_or(1)).unwrap_or(usize::MAX);
    if !(1..=LEASE_LIMIT_MAX).contains(&limit) {
        return Err(Refusal::field("max", format!("`max` is 1 to {LEASE_LIMIT_MAX}")));
    }
    let lease_ms = lease_ms(body.lease_ms)?;
    let tools = tools(app, body.tools.as_deref())?;
    Ok(LeaseRequest { worker, tools, tenant: caller.tenant(), limit, lease_ms })
}

fn lease_ms(asked: Option<u64>) -> Answer<u64> {
    let lease_ms = asked.unwrap_or(LEASE_MS_DEFAULT);
    if !(LEASE_MS_MIN..=LEASE_MS_MAX).contains(&lease_ms) {
        return Err(Refusal::field("lease_ms", format!("`lease_ms` is {LEASE_MS_MIN} to {LEASE_MS_MAX}")));
    }
    Ok(lease_ms)
}

/// The tools that match, each with its agent. Without patterns: those that nobody but a worker elsewhere can do.
fn tools(app: &App, patterns: Option<&[String]>) -> Answer<Vec<(Arc<str>, ToolName)>> {
    let patterns = patterns.map(matchers).transpose()?;
    let mut tools = Vec::new();
    for (agent, served) in &app.agents {
        for tool in served.runner().definitions() {
            let wanted = match &patterns {
                Some(patterns) => patterns.iter().any(|pattern| pattern.is_match(tool.name.as_str())),
                None => tool.metadata.is_of_workers(),
            };
            if wanted && tools.len() < LEASE_TOOLS_MAX {
                tools.push((Arc::clone(agent), tool.name.clone()));
            }
        }
    }
    Ok(tools)
}

fn matchers(patterns: &[String]) -> Answer<Vec<GlobMatcher>> {
    if patterns.len() > LEASE_PATTERNS_MAX {
        return Err(Refusal::field("tools", format!("at most {LEASE_PATTERNS_MAX} patterns")));
    }
    let compiled = patterns.iter().map(|pattern| Glob::new(pattern).map(|glob| glob.compile_matcher()));
    compiled.collect::<Result<_, _>>().map_err(|_| Refusal::value("tools", "a pattern cannot be read"))
}

/// Prolong a lease.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/heartbeat", tag = "tasks", operation_id = "heartbeat_task",
    params(("id" = String, Path)), request_body = HeartbeatBody,
    responses((status = 200, description = "The lease is held", body = HeartbeatAnswer), Problems),
)]
pub(super) async fn heartbeat(ask: Ask, id: Id, Body(body): Body<HeartbeatBody>) -> Answer<Json<HeartbeatAnswer>> {
    ask.caller.need(Right::Work)?;
    let (holder, _) = open(&ask, &id.task()?, &body.lease)?;
    let lease_ms = lease_ms(body.lease_ms)?;
    let states = ask.app.store.tasks.heartbeat(std::slice::from_ref(&holder.lease), lease_ms).await?;
    match states.first() {
        Some(LeaseState::Held) => Ok(Json(HeartbeatAnswer { lease_ms })),
        Some(LeaseState::Lost) | None => Err(Rejection::LeaseLost.into()),
    }
}

/// Deliver the result of a task.
///
/// A result that comes after somebody else got the task is never merged; it is kept as evidence if a person is asked.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/complete", tag = "tasks", operation_id = "complete_task",
    params(("id" = String, Path)), request_body = CompleteBody,
    responses((status = 204, description = "The result is durable"), Problems),
)]
pub(super) async fn complete(ask: Ask, id: Id, Body(body): Body<CompleteBody>) -> Answer<http::StatusCode> {
    ask.caller.need(Right::Work)?;
    let key = id.task()?;
    let (holder, runner) = open(&ask, &key, &body.lease)?;
    let result = body.result().map_err(|_| invalid_result(id.as_str()))?;
    let delivering = async move { runner.queue().complete(&holder, result).await };
    ask.app.driving.see_through(delivering).await?;
    Ok(http::StatusCode::NO_CONTENT)
}

/// Say that a task was not done.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/fail", tag = "tasks", operation_id = "fail_task",
    params(("id" = String, Path)), request_body = FailBody,
    responses((status = 204, description = "It was taken back"), Problems),
)]
pub(super) async fn fail(ask: Ask, id: Id, Body(body): Body<FailBody>) -> Answer<http::StatusCode> {
    ask.caller.need(Right::Work)?;
    let key = id.task()?;
    let (holder, runner) = open(&ask, &key, &body.lease)?;
    let fault = if body.started { WorkerFault::Started } else { WorkerFault::NotStarted };
    let failing = async move { runner.queue().fail(&holder.lease, fault).await };
    ask.app.driving.see_through(failing).await?;
    Ok(http::StatusCode::NO_CONTENT)
}
