//! What people and programs are shown of the core's values.

use holdpoint_api::{RunView, TaskStateName, TaskView, moment};
use holdpoint_codec::Pending;
use holdpoint_core::{Run, Status};
use holdpoint_store::{TaskHead, TaskState};

use crate::auth::Caller;

fn text(value: Option<&std::sync::Arc<str>>) -> Option<String> {
    value.map(ToString::to_string)
}

/// What somebody is told of a run that they answered. Who may not see the run sees nothing of it but the questions that they
/// may answer.
pub(crate) fn run_view_for(caller: &Caller, run: &Run) -> RunView {
    if caller.sees(run) {
        return RunView::of(run);
    }
    let asks = run.status() == Status::AwaitingToolConfirmation;
    let pending = holdpoint_codec::pending(run);
    let own = pending
        .iter()
        .filter(|pending| asks && pending.admits(&caller.answerer(pending.approvers.iter().cloned()), run.actor()));
    let pending = own.map(Pending::view).collect();
    RunView { text: None, pending, ..RunView::of(run) }
}

pub(crate) fn task_view(task: &TaskHead) -> TaskView {
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
        worker: text(worker),
        attempts: task.attempts.0,
        attempts_max: task.attempts_max.0,
        leased_until: until.map(moment),
        available_at: available.map(moment),
        deadline: task.deadline.map(moment),
        created_at: moment(task.created_at),
        digest: None,
    }
}
