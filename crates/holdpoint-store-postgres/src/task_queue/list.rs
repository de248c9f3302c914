//! Finding tasks, and runs by their tasks.

use holdpoint_core::{CallKey, RunId, ToolName};
use holdpoint_store::{List, Page, Scope, StoreError, TaskFilter, TaskHead, TaskStage, page_size};
use sqlx::AssertSqlSafe;

use crate::clock::StoreClock;
use crate::pool::Pool;
use crate::row::{AFTER_TASK, TASK, column, limit, run_ids, task};

/// Delivered tasks are few: they go as soon as their run takes them.
pub(crate) const ARRIVALS: &str = "select r.run_id from ( \
        select distinct t.run_no from unnest($1::text[]) as a(agent) \
        join holdpoint_tasks t on t.agent = a.agent and t.state = 2) t \
    join holdpoint_runs r on r.run_no = t.run_no and r.status in (1, 2) limit $2";

/// The longest ago of each agent, so that the index gives them in order, and then the longest ago of all.
pub(crate) fn lapsed_sql() -> String {
    format!(
        "select {TASK} from unnest($1::text[]) as a(agent) cross join lateral ( \
            select * from holdpoint_tasks where state = 1 and agent = a.agent \
            and ready_at <= coalesce($3::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) \
            order by ready_at, task_no limit $2) t \
         join holdpoint_runs r on r.run_no = t.run_no order by t.ready_at, t.task_no limit $2"
    )
}

pub(crate) async fn arrivals(pool: &Pool, agents: &[&str], most: i64) -> Result<Vec<RunId>, StoreError> {
    let rows = pool.rows("find results", || sqlx::query(ARRIVALS).bind(agents).bind(most)).await?;
    run_ids(&rows)
}

pub(crate) async fn lapsed(
    pool: &Pool,
    clock: &StoreClock,
    agents: &[&str],
    most: i64,
) -> Result<Vec<TaskHead>, StoreError> {
    let sql = || AssertSqlSafe(lapsed_sql());
    let rows = pool.rows("find lapsed leases", || sqlx::query(sql()).bind(agents).bind(most).bind(clock.given_us()));
    rows.await?.iter().map(task).collect()
}

pub(crate) async fn find(pool: &Pool, scope: &Scope, key: &CallKey) -> Result<Option<TaskHead>, StoreError> {
    let sql = || {
        AssertSqlSafe(format!(
            "select {TASK} from holdpoint_runs r join holdpoint_tasks t on t.run_no = r.run_no \
             where r.run_id = $1 and t.turn = $2 and t.place = $3 and ($4::text is null or t.tenant = $4)"
        ))
    };
    let (turn, place) = (i64::from(key.turn.0), i64::from(key.index.0));
    let rows = pool
        .rows("read a task", || sqlx::query(sql()).bind(key.run.as_str()).bind(turn).bind(place).bind(scope.tenant()));
    rows.await?.first().map(task).transpose()
}

pub(crate) async fn tasks(pool: &Pool, filter: &TaskFilter) -> Result<Page<TaskHead>, StoreError> {
    let [from] = List::Tasks.position(filter.cursor.as_ref(), [0])?;
    let size = page_size(filter.limit);
    let sql = || {
        AssertSqlSafe(format!(
            "select {TASK}, t.task_no from holdpoint_tasks t join holdpoint_runs r on r.run_no = t.run_no \
             where t.task_no >= $1 and ($2::text is null or t.tenant = $2) and ($3::text is null or t.tool = $3) \
             and ($5::smallint is null or t.state = $5) order by t.task_no limit $4"
        ))
    };
    let rows = pool.rows("list tasks", || {
        let list = sqlx::query(sql()).bind(from).bind(filter.tenant.as_deref());
        list.bind(filter.tool.as_ref().map(ToolName::as_str)).bind(limit(size + 1)).bind(filter.stage.map(stage_number))
    });
    let read = |row| Ok(([column(row, AFTER_TASK)?], task(row)?));
    Page::collect(List::Tasks, size, rows.await?.iter().map(read))
}

fn stage_number(stage: TaskStage) -> i16 {
    match stage {
        TaskStage::Waiting => 0,
        TaskStage::Leased => 1,
        TaskStage::Delivered => 2,
    }
}
