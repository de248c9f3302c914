use std::path::Path;

use holdpoint_core::{Status, Timestamp, ToolName};
use holdpoint_store::{Cursor, GrantFilter, QuestionFilter, QuestionStatus, RunFilter, SessionFilter, TaskFilter};
use sqlx::{AssertSqlSafe, Executor, Row, SqliteConnection};

use crate::{Options, approvals, audit_log, grants, group, prune, run_leases, run_log, server_state, task_queue, wait};

async fn database(folder: &Path) -> SqliteConnection {
    super::open(&folder.join("runs.db"), &Options::default(), Timestamp(0)).await.unwrap()
}

/// How SQLite would go about it.
async fn plan(connection: &mut SqliteConnection, sql: &str) -> Vec<String> {
    let rows = connection.fetch_all(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"))).await;
    let rows = rows.unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.iter().map(|row| row.get::<String, _>("detail")).collect()
}

/// The rows that a statement was given are gone through one by one. Nothing else is.
fn is_scan(step: &str) -> bool {
    step.starts_with("SCAN") && !step.contains("VIRTUAL TABLE") && step != "SCAN CONSTANT ROW"
}

fn statements() -> Vec<&'static str> {
    let mut all = vec![group::LAST_NUMBERS, group::LOOK_RUNS, group::LOOK_TASKS, group::LOOK_SESSIONS];
    all.extend(group::STATEMENTS);
    all.extend([run_leases::CLAIMABLE, run_leases::ANY_CLAIMABLE, run_leases::CLAIM, run_leases::OVERLONG]);
    all.extend([run_leases::END_RUN_LEASE, run_leases::END_TASK_LEASE]);
    for sql in [task_queue::OF_ANY_TENANT, task_queue::OF_ONE_TENANT] {
        all.extend([sql.any, sql.first, sql.take]);
    }
    all.extend([task_queue::KEEP_TICKET_IF_USED, task_queue::LAPSED, task_queue::COLLECTABLE]);
    all.extend([task_queue::COMPLETED, task_queue::TASK]);
    all.extend(prune::PRUNE.into_iter().chain([prune::PRUNED]));
    all.extend([run_log::HEAD, run_log::REVISION, run_log::LOAD, run_log::DUE, wait::REVISIONS]);
    all.extend([audit_log::ANY_TO_SEAL, audit_log::TO_SEAL, audit_log::LAST_SEAL, audit_log::ADD_SEAL]);
    all.extend([audit_log::SEAL_RUNS, audit_log::SEALS, audit_log::AUDIT]);
    all.extend([audit_log::AUDIT_AFTER, audit_log::AUDIT_OF_TENANT, audit_log::AUDIT_OF_RUN]);
    all.extend([audit_log::AUDITED_RUNS, audit_log::TRACES, audit_log::TOMBSTONES]);
    all.extend([grants::OPEN_GRANTS, grants::REVOKE, grants::MATCHING, grants::GRANT]);
    all.extend([approvals::OPEN, approvals::CLOSE, approvals::QUESTION, approvals::LAST_SEQ]);
    all.extend([approvals::CHANGED, approvals::CHANGED_OF_TENANT]);
    all.extend([server_state::RESERVE, server_state::RESERVED, server_state::KEEP, server_state::DROP]);
    all.extend([server_state::SEEN, server_state::WORKERS]);
    all.extend([server_state::SWEEP_RESPONSES, server_state::SWEEP_WORKERS]);
    all.extend([server_state::FIRST_SETTING, server_state::CHANGE_SETTING]);
    all
}

fn run_lists() -> Vec<RunFilter> {
    let mut filters = Vec::new();
    for status in Status::ALL.into_iter().map(Some).chain([None]) {
        for agent in [None, Some("support".into())] {
            for tenant in [None, Some("acme".into())] {
                let cursor = Some(Cursor::new("r9"));
                filters.push(RunFilter { status, agent: agent.clone(), tenant, cursor, ..RunFilter::default() });
            }
        }
    }
    filters
}

#[tokio::test]
async fn no_statement_goes_through_a_whole_table() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = database(folder.path()).await;
    let mut all: Vec<String> = statements().into_iter().map(str::to_owned).collect();
    for filter in run_lists() {
        all.push(filter.search(run_log::RUNS).unwrap().sql);
    }
    for tool in [None, Some(ToolName::new("refund"))] {
        let filter = GrantFilter { tool, tenant: Some("acme".into()), ..GrantFilter::default() };
        all.push(filter.search(grants::GRANTS).unwrap().sql);
    }
    for tool in [None, Some(ToolName::new("refund"))] {
        let filter = TaskFilter { tool, tenant: Some("acme".into()), ..TaskFilter::default() };
        all.push(filter.search(task_queue::TASKS).unwrap().sql);
    }
    for tenant in [None, Some("acme".into())] {
        let cursor = Some(Cursor::new("s9"));
        let filter = SessionFilter { tenant: tenant.clone(), cursor, limit: None };
        all.push(filter.search(run_log::SESSIONS).unwrap().sql);
        for status in QuestionStatus::ALL {
            let filter = QuestionFilter { status, tenant: tenant.clone(), ..QuestionFilter::default() };
            all.push(approvals::search(&filter).unwrap().sql);
        }
    }
    for sql in all {
        let plan = plan(&mut connection, &sql).await;
        assert!(!plan.iter().any(|step| is_scan(step)), "{sql}\n{}", plan.join("\n"));
    }
    // The check itself can fail.
    let whole = plan(&mut connection, "SELECT * FROM runs WHERE revision = 3").await;
    assert!(whole.iter().any(|step| is_scan(step)), "{whole:?}");
}

#[tokio::test]
async fn what_is_asked_often_has_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = database(folder.path()).await;
    let cases = [
        (run_leases::CLAIMABLE, "runs_to_claim (agent=? AND lease_until<?)"),
        (run_leases::ANY_CLAIMABLE, "runs_to_claim (agent=? AND lease_until<?)"),
        (task_queue::OF_ANY_TENANT.first, "tasks_waiting (agent=? AND tool=? AND ready_at<?)"),
        (task_queue::OF_ANY_TENANT.any, "tasks_waiting (agent=? AND tool=? AND ready_at<?)"),
        (task_queue::OF_ONE_TENANT.first, "tasks_waiting_of_tenant (tenant=? AND agent=? AND tool=? AND ready_at<?)"),
        (run_log::DUE, "runs_due (agent=? AND deadline<?)"),
        (task_queue::LAPSED, "tasks_leased (agent=? AND ready_at<?)"),
        (task_queue::COLLECTABLE, "tasks_delivered (agent=?)"),
        (run_log::LOAD, "log_by_run (run_no=? AND last_seq>?)"),
        (prune::PRUNED, "runs_over (updated_at<?)"),
        (audit_log::TO_SEAL, "runs_to_seal (tenant=?)"),
        (audit_log::AUDIT_AFTER, "log_by_run (run_no=? AND last_seq>?)"),
        (audit_log::AUDIT_OF_TENANT, "log_by_run (run_no=? AND last_seq>?)"),
        (audit_log::AUDIT_OF_RUN, "sqlite_autoindex_runs_1 (run_id=?"),
        (audit_log::UNSEALED, "runs_to_seal (tenant>?)"),
        (audit_log::UNSEALED, "seals_by_tenant (tenant=?)"),
        (audit_log::TRACES, "tombstones_by_run (tenant=? AND run_id=?)"),
        (audit_log::TENANTS, "runs_audited (tenant>?)"),
        (grants::MATCHING, "grants_open (tenant=? AND tool=?)"),
        (approvals::CHANGED, "approvals_changed (seq>?)"),
        (approvals::CHANGED_OF_TENANT, "approvals_changed_of_tenant (tenant=? AND seq>?)"),
        (approvals::QUESTION, "approvals_by_call (run_no=? AND turn=? AND call_index=?)"),
        (group::LOOK_SESSIONS, "runs_by_session (session=? AND tenant=?)"),
        (group::LOOK_SESSIONS, "runs_alone (session=? AND tenant=?)"),
        (server_state::KEPT, "responses_1 (request=?)"),
        (server_state::SWEEP_RESPONSES, "responses_by_age (begun_at<?)"),
        (server_state::WORKERS, "tasks_by_worker (worker=?)"),
    ];
    for (sql, index) in cases {
        let plan = plan(&mut connection, sql).await;
        assert!(plan.iter().any(|step| step.contains(index)), "{sql}\n{}", plan.join("\n"));
    }
    let own = Some("acme".into());
    let ended = QuestionStatus::Answered;
    let pending = QuestionFilter::default;
    for (filter, index) in [
        (pending(), "approvals_pending ((due,asked_no)>"),
        (QuestionFilter { tenant: own.clone(), ..pending() }, "approvals_pending_of_tenant (tenant=?"),
        (QuestionFilter { status: ended, ..pending() }, "approvals_ended (status=?"),
        (
            QuestionFilter { status: ended, tenant: own, ..pending() },
            "approvals_ended_of_tenant (tenant=? AND status=?",
        ),
    ] {
        let plan = plan(&mut connection, &approvals::search(&filter).unwrap().sql).await;
        assert!(plan.iter().any(|step| step.contains(index)), "{filter:?}\n{}", plan.join("\n"));
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{filter:?}\n{}", plan.join("\n"));
    }
    let paused = RunFilter { status: Some(Status::AwaitingToolConfirmation), ..RunFilter::default() };
    let of_tenant = RunFilter { tenant: Some("acme".into()), ..RunFilter::default() };
    for (filter, index) in
        [(paused, "runs_paused"), (of_tenant, "runs_by_tenant"), (RunFilter::default(), "PRIMARY KEY")]
    {
        let plan = plan(&mut connection, &filter.search(run_log::RUNS).unwrap().sql).await;
        assert!(plan.iter().any(|step| step.contains(index)), "{filter:?}\n{}", plan.join("\n"));
    }
}
