//! The queue, for workers in any language.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use globset::{Glob, GlobMatcher};
use holdpoint::{Runner, TaskHolder, WorkerFault};
use holdpoint_api::{
    CompleteBody, FailBody, HeartbeatAnswer, HeartbeatBody, LeaseAnswer, LeaseBody, LeasedTaskView, PageQuery,
    RequeueBody, RunView, TaskPage, TaskStateName,
};
use holdpoint_codec::tasks::decode_task;
use holdpoint_core::{Attempt, CallKey, Rejection, ToolName};
use holdpoint_store::{
    Fence, LEASE_LIMIT_MAX, LEASE_MS_MAX, LEASE_TOOLS_MAX, LeaseRequest, LeaseState, LeasedTask, Release, TaskFilter,
    TaskLease, TaskStage, Topic, WorkerSeen,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::Instant;
use utoipa::IntoParams;

use super::answers::{Given, expect_digest};
use super::{Problems, resumed};
use crate::app::App;
use crate::auth::{Caller, Right};
use crate::body::Body;
use crate::limits::{LEASE_PATTERNS_MAX, WAIT_MAX, WAIT_MS_MAX};
use crate::params::{Ask, Id, Params, name, names};
use crate::refusal::{Answer, Refusal};
use crate::seal::Purpose;
use crate::view::task_view;

const LIST: &str = "tasks";
const LEASE_MS_DEFAULT: u64 = 30_000;
const LEASE_MS_MIN: u64 = 100;
const WORKER_BYTES_MAX: usize = 100;
/// How often a long poll looks although nothing woke it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a lease token holds. Only this server's key makes one, and only its tenant can use it.
#[derive(Serialize, Deserialize)]
struct Lease {
    /// The task.
    k: String,
    /// Which lease of it.
    f: u64,
    /// Which attempt.
    a: u32,
    /// Who has it.
    w: String,
    /// Whose it is.
    t: Option<String>,
    /// The agent of its run.
    g: Arc<str>,
}

impl Lease {
    fn seal(app: &App, caller: &Caller, leased: &LeasedTask, worker: &str) -> String {
        let lease = Lease {
            k: leased.lease.key.to_string(),
            f: leased.lease.fence.0,
            a: leased.task.attempts.0,
            w: worker.to_owned(),
            t: caller.scope.tenant().map(str::to_owned),
            g: Arc::clone(&leased.task.agent),
        };
        app.sealer.seal(Purpose::Lease, &serde_json::to_vec(&lease).unwrap_or_default())
    }

    /// The holder that a token names, and the runner of the task. A token of another task, tenant or server is as good as none.
    fn open(ask: &Ask, key: &CallKey, token: &str) -> Answer<(TaskHolder, Runner)> {
        let lost = || Refusal::from(Rejection::LeaseLost);
        let payload = ask.app.sealer.open(Purpose::Lease, token).ok_or_else(lost)?;
        let lease: Lease = serde_json::from_slice(&payload).map_err(|_| lost())?;
        if lease.t.as_deref() != ask.caller.scope.tenant() || lease.k != key.to_string() {
            return Err(lost());
        }
        let holder = TaskHolder {
            lease: TaskLease { key: key.clone(), fence: Fence(lease.f) },
            attempt: Attempt(lease.a),
            worker: lease.w.into(),
        };
        // The store may be out of reach: then the runner keeps trying.
        Ok((holder, ask.app.runner_of(Some(&lease.g))?.clone()))
    }
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
    if body.wait_ms.is_some_and(|ms| ms > WAIT_MS_MAX) {
        return Err(Refusal::field("wait_ms", format!("`wait_ms` is at most {WAIT_MS_MAX}")));
    }
    let wait = Duration::from_millis(body.wait_ms.unwrap_or_default()).min(WAIT_MAX);
    let until = Instant::now() + wait;
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
                for (task, _) in views {
                    give_back(&app, &task).await;
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
async fn admitted(app: &App, caller: &Caller, task: LeasedTask, worker: &str) -> Option<(LeasedTask, LeasedTaskView)> {
    let Some(runner) = app.agents.find(&task.task.agent).map(crate::ServedAgent::runner) else {
        give_back(app, &task).await;
        return None;
    };
    match runner.admit(task.clone()).await {
        Ok(Some(task)) => match view(app, caller, &task, worker) {
            Some(view) => Some((task, view)),
            None => {
                give_back(app, &task).await;
                None
            }
        },
        Ok(None) => None,
        Err(error) => {
            tracing::warn!(target: "holdpoint", run = %task.lease.key.run, code = %error.code(), "a task could not be handed over");
            give_back(app, &task).await;
            None
        }
    }
}

async fn give_back(app: &App, task: &LeasedTask) {
    if let Err(error) = app.store.tasks.release(&task.lease, Release::Unstarted).await {
        tracing::warn!(target: "holdpoint", run = %task.lease.key.run, code = %error.code(), "a task could not be given back");
    }
}

/// One task as its worker sees it, with its lease.
fn view(app: &App, caller: &Caller, leased: &LeasedTask, worker: &str) -> Option<LeasedTaskView> {
    let stored = decode_task(&leased.body).ok()?;
    let lease = Lease::seal(app, caller, leased, worker);
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
    for (agent, served) in app.agents.iter() {
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
    let (holder, _) = Lease::open(&ask, &id.task()?, &body.lease)?;
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
    let (holder, runner) = Lease::open(&ask, &key, &body.lease)?;
    let CompleteBody { text, json, content, error, .. } = body;
    let result = Given { text, json, content, error }.result(id.as_str())?;
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
    let (holder, runner) = Lease::open(&ask, &key, &body.lease)?;
    let fault = if body.started { WorkerFault::Started } else { WorkerFault::NotStarted };
    let failing = async move { runner.queue().fail(&holder.lease, fault).await };
    ask.app.driving.see_through(failing).await?;
    Ok(http::StatusCode::NO_CONTENT)
}

/// Which tasks.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskQuery {
    /// Only tasks that are there.
    state: Option<TaskStateName>,
    /// Only tasks of this tool.
    tool: Option<String>,
    /// Go on where an earlier page ended: its `next`.
    #[param(max_length = 2048)]
    cursor: Option<String>,
    /// How many at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// List tasks, the first opened first.
#[utoipa::path(
    get, path = "/v1/tasks", tag = "tasks", operation_id = "list_tasks", params(TaskQuery),
    responses((status = 200, description = "One page", body = TaskPage), Problems),
)]
pub(super) async fn list(ask: Ask, Params(query): Params<TaskQuery>) -> Answer<Json<TaskPage>> {
    let Ask { app, caller, .. } = &ask;
    caller.need(Right::ReadTasks)?;
    let page = PageQuery { cursor: query.cursor, limit: query.limit };
    let tool = names("tool", query.tool)?.map(ToolName::new);
    let stage = match query.state {
        None => None,
        Some(TaskStateName::Waiting) => Some(TaskStage::Waiting),
        Some(TaskStateName::Leased) => Some(TaskStage::Leased),
        Some(TaskStateName::Delivered) => Some(TaskStage::Delivered),
        Some(TaskStateName::Dead) => return super::tasks_dead::list(&ask, tool, &page).await,
    };
    let (cursor, limit) = app.page(caller, LIST, &page)?;
    let filter = TaskFilter { tenant: caller.tenant(), tool, stage, cursor, limit };
    let page = app.store.tasks.list(&filter).await?;
    let next = app.next_page(caller, LIST, page.next.as_ref());
    Ok(Json(TaskPage { tasks: page.items.iter().map(task_view).collect(), next }))
}

/// Give a task back to the queue.
///
/// For one that is out of attempts or whose worker was lost: it is run again, as if somebody had answered the question about
/// it with `allow`, and names the digest of that question in the same way. Anything else is `not_retryable`.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/requeue", tag = "tasks", operation_id = "requeue_task", params(("id" = String, Path)),
    request_body = RequeueBody,
    responses((status = 200, description = "The run of the task, as it is now", body = RunView), Problems),
)]
pub(super) async fn requeue(ask: Ask, id: Id, Body(body): Body<RequeueBody>) -> Answer<Json<RunView>> {
    ask.caller.need(Right::Administer)?;
    let digest = expect_digest("digest", &body.digest)?;
    let key = id.task()?;
    let head = ask.app.head(&ask.caller, &key.run).await.map_err(|_| Refusal::not_found("task"))?;
    let runner = ask.app.runner_of(head.agent.as_deref())?;
    let requeued = resumed::named(&ask, runner.requeue(key, digest, ask.caller.actor()));
    let result = ask.app.driving.see_through(requeued.detach()).await?;
    Ok(Json(RunView::of(result.run())))
}
