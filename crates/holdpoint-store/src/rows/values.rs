//! Values as SQL databases store and compare them.

use std::collections::BTreeSet;

use holdpoint_core::{Repeat, Status, Timestamp, ToolName};

use crate::{Agents, DUE_LIMIT_MAX, QuestionKind, QuestionStatus, Scope, TaskStage, WORKER_TOOLS_MAX, packed};

/// A tenant as it is stored: empty for none, `=acme` for tenant `acme`. Sorted as tenants are.
pub fn tenant_key(tenant: Option<&str>) -> String {
    tenant.map(|tenant| format!("={tenant}")).unwrap_or_default()
}

/// The tenant of a scope as it is stored.
pub fn scope_key(scope: &Scope) -> Option<String> {
    scope.tenant().map(|tenant| tenant_key(Some(tenant)))
}

/// Each agent once, so that nothing is found twice.
pub fn distinct(agents: &Agents) -> Vec<&str> {
    agents.iter().map(|agent| &**agent).collect::<BTreeSet<_>>().into_iter().collect()
}

/// How many rows a search returns at most.
pub fn limit(limit: usize) -> i64 {
    signed(limit.min(DUE_LIMIT_MAX))
}

/// The names of a worker's tools as one value: each once, in order.
pub fn pack_tools(tools: &[ToolName]) -> Vec<u8> {
    let names: BTreeSet<&str> = tools.iter().map(ToolName::as_str).collect();
    let names: Vec<Vec<u8>> = names.into_iter().take(WORKER_TOOLS_MAX).map(Into::into).collect();
    packed::pack(&names)
}

/// A number that a database can hold. No counter of a store gets near its limit; a caller that asks for more gets nothing.
pub fn signed<N: TryInto<i64>>(number: N) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// A moment so many milliseconds before another.
pub fn before(now: Timestamp, ms: u64) -> i64 {
    now.0.saturating_sub(Timestamp(0).plus_ms(ms).0)
}

/// How a status is stored. Those from 3 on are over.
pub fn status_number(status: Status) -> i16 {
    match status {
        Status::Running => 0,
        Status::AwaitingToolConfirmation => 1,
        Status::AwaitingToolResults => 2,
        Status::Finished => 3,
        Status::Failed => 4,
        Status::Cancelled => 5,
    }
}

/// How a task's way of being repeated is stored.
pub fn repeat_number(repeat: Repeat) -> i16 {
    match repeat {
        Repeat::Never => 0,
        Repeat::Safe => 1,
        Repeat::WithKey => 2,
    }
}

/// How the stage of a task is stored.
pub fn stage_number(stage: TaskStage) -> i16 {
    match stage {
        TaskStage::Waiting => 0,
        TaskStage::Leased => 1,
        TaskStage::Delivered => 2,
    }
}

/// How the kind of a question is stored.
pub fn kind_number(kind: QuestionKind) -> i16 {
    match kind {
        QuestionKind::Permission => 0,
        QuestionKind::Doubt => 1,
        QuestionKind::Input => 2,
    }
}

/// How the status of a question is stored.
pub fn question_status_number(status: QuestionStatus) -> i16 {
    match status {
        QuestionStatus::Pending => 0,
        QuestionStatus::Answered => 1,
        QuestionStatus::Expired => 2,
        QuestionStatus::Gone => 3,
    }
}
