//! The queue as people see it: tasks, tasks that nobody gets any more, and the workers.

use axum::Json;
use holdpoint_api::{PageQuery, RequeueBody, RunView, TaskPage, TaskStateName, TaskView, WorkerList, WorkerView};
use holdpoint_codec::decode_question;
use holdpoint_codec::view::Moment;
use holdpoint_core::ToolName;
use holdpoint_store::{
    QuestionFilter, QuestionKind, QuestionRow, QuestionStatus, TaskFilter, TaskHead, TaskStage, TaskState,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::answers::expect_digest;
use super::{Problems, resumed};
use crate::auth::Right;
use crate::body::Body;
use crate::params::{Ask, Id, Params, names};
use crate::refusal::{Answer, Refusal};

const LIST: &str = "tasks";
const LIST_OF_DEAD: &str = "tasks-dead";

/// Which tasks.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskQuery {
    /// Only tasks that are there.
    state: Option<TaskStateName>,
    /// Only tasks of this tool.
    tool: Option<String>,
    #[serde(flatten)]
    #[param(ignore)]
    page: PageQuery,
}

/// List tasks, the first opened first.
#[utoipa::path(
    get, path = "/v1/tasks", tag = "tasks", operation_id = "list_tasks", params(TaskQuery, PageQuery),
    responses((status = 200, description = "One page", body = TaskPage), Problems),
)]
pub(super) async fn list(ask: Ask, Params(query): Params<TaskQuery>) -> Answer<Json<TaskPage>> {
    let Ask { app, caller, .. } = &ask;
    caller.need(Right::ReadTasks)?;
    let tool = names("tool", query.tool)?.map(ToolName::new);
    let stage = match query.state {
        None => None,
        Some(TaskStateName::Waiting) => Some(TaskStage::Waiting),
        Some(TaskStateName::Leased) => Some(TaskStage::Leased),
        Some(TaskStateName::Delivered) => Some(TaskStage::Delivered),
        Some(TaskStateName::Dead) => return dead(&ask, tool, &query.page).await,
    };
    let (cursor, limit) = app.page(caller, LIST, &query.page)?;
    let filter = TaskFilter { tenant: caller.tenant(), tool, stage, cursor, limit };
    let page = app.store.tasks.list(&filter).await?;
    let next = app.next_page(caller, LIST, page.next.as_ref());
    Ok(Json(TaskPage { tasks: page.items.iter().map(task_view).collect(), next }))
}

fn task_view(task: &TaskHead) -> TaskView {
    let (state, worker, until, available) = match &task.state {
        TaskState::Waiting { available_at } => (TaskStateName::Waiting, None, None, Some(*available_at)),
        TaskState::Leased { worker, until, .. } => (TaskStateName::Leased, Some(worker), Some(*until), None),
        TaskState::Delivered { worker, .. } => (TaskStateName::Delivered, Some(worker), None, None),
    };
    TaskView {
        id: task.key.to_string(),
        run_id: task.key.run.as_str().to_owned(),
        agent: (!task.agent.is_empty()).then(|| task.agent.to_string()),
        tool: task.tool.as_str().to_owned(),
        state,
        worker: worker.map(ToString::to_string),
        attempts: task.attempts.0,
        attempts_max: task.attempts_max.0,
        leased_until: until.map(Moment),
        available_at: available.map(Moment),
        deadline: task.deadline.map(Moment),
        created_at: Moment(task.created_at),
        digest: None,
    }
}

/// Tasks that are out of attempts, or lost with a worker: a person is asked about each.
async fn dead(ask: &Ask, tool: Option<ToolName>, query: &PageQuery) -> Answer<Json<TaskPage>> {
    let Ask { app, caller, .. } = ask;
    let (cursor, limit) = app.page(caller, LIST_OF_DEAD, query)?;
    let filter = QuestionFilter {
        tenant: caller.tenant(),
        status: QuestionStatus::Pending,
        kind: Some(QuestionKind::Doubt),
        tool,
        cursor,
        limit,
        ..QuestionFilter::default()
    };
    let page = app.store.approvals.list(&filter).await?;
    let next = app.next_page(caller, LIST_OF_DEAD, page.next.as_ref());
    Ok(Json(TaskPage { tasks: page.items.iter().map(dead_view).collect(), next }))
}

fn dead_view(row: &QuestionRow) -> TaskView {
    let stored = decode_question(&row.body).ok();
    let doubt = stored.as_ref().and_then(|stored| stored.pending.doubt.as_ref());
    let attempts = doubt.map_or(0, |doubt| doubt.attempt);
    TaskView {
        id: row.key.to_string(),
        run_id: row.key.run.as_str().to_owned(),
        agent: (!row.agent.is_empty()).then(|| row.agent.to_string()),
        tool: row.tool.as_str().to_owned(),
        state: TaskStateName::Dead,
        worker: doubt.and_then(|doubt| doubt.worker.as_ref()).map(|worker| worker.as_str().to_owned()),
        attempts,
        attempts_max: attempts,
        leased_until: None,
        available_at: None,
        deadline: row.deadline.map(Moment),
        created_at: Moment(row.asked_at),
        digest: stored.as_ref().map(|stored| stored.digest().to_string()),
    }
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

/// List the workers that asked for tasks in the last day, the last seen first.
#[utoipa::path(
    get, path = "/v1/workers", tag = "tasks", operation_id = "list_workers",
    responses((status = 200, description = "The workers", body = WorkerList), Problems),
)]
pub(super) async fn workers(ask: Ask) -> Answer<Json<WorkerList>> {
    ask.caller.need(Right::ReadTasks)?;
    let rows = ask.app.store.state.workers(&ask.caller.scope).await?;
    let workers = rows.into_iter().map(|row| WorkerView {
        name: row.name.to_string(),
        tools: row.tools.iter().map(|tool| tool.as_str().to_owned()).collect(),
        seen_at: Moment(row.seen_at),
        leases: row.leases,
    });
    Ok(Json(WorkerList { workers: workers.collect() }))
}
