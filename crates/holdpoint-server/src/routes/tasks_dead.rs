//! Tasks that nobody gets any more: out of attempts, or lost with a worker. A person is asked about each.

use axum::Json;
use holdpoint_api::{PageQuery, TaskPage, TaskStateName, TaskView, moment};
use holdpoint_codec::decode_question;
use holdpoint_store::{QuestionFilter, QuestionKind, QuestionRow, QuestionStatus};

use holdpoint_core::ToolName;

use crate::params::Ask;
use crate::refusal::Answer;

const LIST: &str = "tasks-dead";

pub(super) async fn list(ask: &Ask, tool: Option<ToolName>, query: &PageQuery) -> Answer<Json<TaskPage>> {
    let Ask { app, caller, .. } = ask;
    let (cursor, limit) = app.page(caller, LIST, query)?;
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
    let next = app.next_page(caller, LIST, page.next.as_ref());
    Ok(Json(TaskPage { tasks: page.items.iter().map(view).collect(), next }))
}

fn view(row: &QuestionRow) -> TaskView {
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
        deadline: row.deadline.map(moment),
        created_at: moment(row.asked_at),
        digest: stored.as_ref().map(|stored| stored.digest().to_string()),
    }
}
