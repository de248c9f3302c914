//! Whether the statements use the indexes that were made for them, on tables that have grown.

use holdpoint_core::Status;
use holdpoint_store::{
    GrantFilter, Migrate, QuestionFilter, QuestionStatus, RunFilter, Search, SessionFilter, StoreError,
};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

use crate::options::Address;
use crate::pool::SESSION;
use crate::testing::Scratch;
use crate::{approvals, audit_log, commit, grants, prune, run_leases, run_log, schema, server_state, task_queue};

/// Most tasks are of a tool that the worker lacks; most runs are over.
const ROWS: &str = "
    insert into holdpoint_runs
        (run_id, revision, status, agent, tenant, deadline, lease_until, lease_ms, created_at, updated_at, last_commit,
         audit_revision, audit_rows, audit_link, sealed_revision, seal_no, alone)
    select 'run-' || n, 1, case when n % 100 < 6 then n % 6 else 3 end, 'agent-' || n % 5, '=tenant-' || n % 7,
        case when n % 50 = 1 then n end, n, 0, n, n, n, 1, 1, 'x', case when n % 100 = 0 then 0 else 1 end, 1, false
    from generate_series(1, 30000) as n;
    insert into holdpoint_log (run_no, last_seq, at, body) select n, 1, n, 'x' from generate_series(1, 30000) as n;
    insert into holdpoint_tasks
        (run_no, turn, call_index, agent, tenant, tool, attempts, attempts_max, repeat, created_at, state, ready_at, fence,
         last_request, body)
    select n, 1, 0, 'agent-' || n % 5, '=tenant-' || n % 7, case when n % 100 = 0 then 'rare' else 'common' end, 0, 3, 0,
        n, case when n % 300 = 0 then 2 when n % 200 = 0 then 1 else 0 end, n, 0, 0, 'x'
    from generate_series(1, 30000) as n;
    insert into holdpoint_seals select '=tenant-' || n % 7, n, n, 'x', 'x' from generate_series(1, 30000) as n;
    insert into holdpoint_tombstones
    select '=tenant-' || n % 7, 'gone-' || n, 1, 'x', 1, n from generate_series(1, 30000) as n;
    insert into holdpoint_grants (grant_id, tenant, tool, created_at, last_request, body)
    select 'g' || n, '=tenant-' || n % 7, 'tool-' || n % 50, n, 0, 'x' from generate_series(1, 30000) as n;
    update holdpoint_runs set session = 'talk-' || run_no % 1000 where run_no % 3 = 0;
    insert into holdpoint_approvals
    select n, 1, 0, 'agent-' || n % 5, '=tenant-' || n % 7, 'tool', 0, case when n % 100 = 0 then 0 else 1 + n % 3 end,
        null, n, n, n, n, n, 'x', '' from generate_series(1, 30000) as n;
    insert into holdpoint_responses (request, digest, begun_at, last_request, response) select 'r' || n, 'x', n, n, 'x' from generate_series(1, 30000) as n;
    insert into holdpoint_workers select '', 'w' || n, 'x', n, n from generate_series(1, 1000) as n;
    analyze";

struct Case {
    name: &'static str,
    sql: String,
    /// The index that it is to use.
    index: &'static str,
}

fn case(name: &'static str, sql: &str, index: &'static str) -> Case {
    Case { name, sql: sql.to_owned(), index }
}

fn list(name: &'static str, search: Result<Search, StoreError>, index: &'static str) -> Case {
    Case { name, sql: search.unwrap().sql, index }
}

fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("lease", task_queue::LEASE, "holdpoint_tasks_waiting "),
        case("lease of a tenant", task_queue::LEASE_OF_TENANT, "holdpoint_tasks_waiting_of_tenant "),
        case("lapsed", task_queue::LAPSED, "holdpoint_tasks_leased "),
        case("collectable", task_queue::COLLECTABLE, "holdpoint_tasks_delivered "),
        case("claim", run_leases::CLAIM, "holdpoint_runs_claimable "),
        case("overlong", run_leases::OVERLONG, "holdpoint_tasks_leased "),
        case("due", run_log::DUE, "holdpoint_runs_due "),
        case("prune", prune::PRUNE, "holdpoint_runs_over "),
        case("seal", audit_log::TO_SEAL, "holdpoint_runs_to_seal "),
        case("last seal", audit_log::LAST, "holdpoint_seals_pkey "),
        case("seals", audit_log::SEALS, "holdpoint_seals_pkey "),
        case("audit log", audit_log::AUDIT_AFTER, "holdpoint_log_pkey "),
        case("audit log of a tenant", audit_log::AUDIT_OF_TENANT, "holdpoint_log_pkey "),
        case("audit log of a run", audit_log::AUDIT_OF_RUN, "holdpoint_runs_run_id_key "),
        case("unsealed", audit_log::UNSEALED, "holdpoint_runs_to_seal "),
        case("traces", audit_log::TRACES, "holdpoint_tombstones_pkey "),
        case("tombstones", audit_log::TOMBSTONES, "holdpoint_tombstones_pkey "),
        case("tenants", audit_log::TENANTS, "holdpoint_runs_audited "),
        case("grants for a call", grants::MATCHING, "holdpoint_grants_open "),
        case("kept response", server_state::KEPT, "holdpoint_responses_pkey "),
        case("sweep", server_state::SWEEP, "holdpoint_responses_by_age "),
        case("workers", server_state::WORKERS, "holdpoint_tasks_by_worker "),
        case("changes of questions", approvals::CHANGED, "holdpoint_approvals_changed "),
        case("changes of a tenant", approvals::CHANGED_OF_TENANT, "holdpoint_approvals_changed_of_tenant "),
    ];
    cases.extend(list_cases());
    cases
}

fn list_cases() -> Vec<Case> {
    let open = RunFilter { status: Some(Status::AwaitingToolConfirmation), ..RunFilter::default() };
    let own_sessions = SessionFilter { tenant: Some("acme".into()), ..SessionFilter::default() };
    let pending = QuestionFilter::default;
    let own = QuestionFilter { tenant: Some("acme".into()), ..pending() };
    let ended = QuestionFilter { status: QuestionStatus::Answered, ..pending() };
    let own_ended = QuestionFilter { tenant: Some("acme".into()), ..ended.clone() };
    let questions = approvals::search;
    vec![
        list("runs", RunFilter::default().search(run_log::RUNS), "holdpoint_runs_pkey "),
        list("runs that are open", open.search(run_log::RUNS), "holdpoint_runs_open "),
        list("grants", GrantFilter::default().search(grants::GRANTS), "holdpoint_grants_pkey "),
        list("sessions", SessionFilter::default().search(run_log::SESSIONS), "holdpoint_runs_by_session "),
        list("sessions of a tenant", own_sessions.search(run_log::SESSIONS), "holdpoint_runs_with_session "),
        list("questions", questions(&pending()), "holdpoint_approvals_pending "),
        list("questions of a tenant", questions(&own), "holdpoint_approvals_pending_of_tenant "),
        list("questions that ended", questions(&ended), "holdpoint_approvals_changed "),
        list("questions of a tenant that ended", questions(&own_ended), "holdpoint_approvals_ended_of_tenant "),
    ]
}

/// The highest number of a parameter in a statement.
fn parameters(sql: &str) -> usize {
    let numbers =
        sql.split('$').skip(1).map(|rest| rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]));
    numbers.filter_map(|number| number.parse().ok()).max().unwrap_or(0)
}

async fn plan(connection: &mut PgConnection, case: &Case) -> String {
    let values = match parameters(&case.sql) {
        0 => String::new(),
        count => format!("({})", vec!["null"; count].join(", ")),
    };
    let prepare = format!("deallocate all; prepare asked as {}", case.sql);
    sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut *connection).await.unwrap();
    let rows =
        sqlx::raw_sql(AssertSqlSafe(format!("explain execute asked {values}"))).fetch_all(connection).await.unwrap();
    rows.iter().map(|row| row.get::<String, _>(0) + "\n").collect()
}

/// As the server plans by itself, and as it does for our connections.
#[tokio::test]
async fn what_looks_for_work_never_scans_a_table() {
    let scratch = Scratch::new().await.unwrap();
    let mut connection = Address::parse(scratch.url()).unwrap().options().connect().await.unwrap();
    schema::prepare(&mut connection, Migrate::Auto).await.unwrap();
    sqlx::raw_sql(ROWS).execute(&mut connection).await.unwrap();
    for session in ["set plan_cache_mode = force_generic_plan", SESSION] {
        sqlx::raw_sql(session).execute(&mut connection).await.unwrap();
        // Removing may take a large part of a table, and then the server by itself rather reads all of it.
        for case in cases().iter().filter(|case| !["prune", "sweep"].contains(&case.name) || session == SESSION) {
            let plan = plan(&mut connection, case).await;
            assert!(!plan.contains("Seq Scan"), "{} scans a table:\n{plan}", case.name);
            assert!(plan.contains(case.index), "{} does not use {}:\n{plan}", case.name, case.index);
        }
    }
    connection.close().await.unwrap();
    scratch.close().await.unwrap();
}

/// Many rows, and none of them in a partial index: what the statistics say when everything that was open was just answered.
const NOTHING_OPEN: &str = "
    insert into holdpoint_runs
        (run_id, revision, status, agent, tenant, lease_until, lease_ms, created_at, updated_at, last_commit, audit_revision,
         audit_rows, audit_link, alone)
    select 'run-' || n, 1, 3, 'agent', '=tenant', n, 0, n, n, n, 0, 0, 'x', false from generate_series(1, 3000) as n;
    insert into holdpoint_approvals
    select n, 1, 0, 'agent', '=tenant', 'tool', 0, 1, null, n, n, n, n, n, 'x', '' from generate_series(1, 3000) as n;
    analyze";

/// Statements that find rows by their keys.
fn keyed() -> Vec<Case> {
    let [one_move, many_moves, many_with_tasks] = commit::statements();
    let (run, task) = ("holdpoint_runs_run_id_key ", "holdpoint_tasks_run_no_turn_call_index_key ");
    vec![
        case("commit of one", one_move, run),
        case("commit of many", many_moves, run),
        case("commit with tasks", many_with_tasks, task),
        case("commit with approvals", many_with_tasks, "holdpoint_approvals_pkey on "),
        case("renew", run_leases::RENEW, run),
        case("end the lease of a run", run_leases::END_RUN_LEASE, run),
        case("end the lease of a task", run_leases::END_TASK_LEASE, task),
        case("heartbeat", task_queue::HEARTBEAT, task),
        case("complete", task_queue::COMPLETE, task),
        case("release", task_queue::RELEASE, task),
        case("completed", task_queue::COMPLETED, task),
        case("task", task_queue::TASK, task),
    ]
}

/// The keys that rows are found by, with their leading columns. An index that is not entered by its leading column is read whole.
const KEYS: [(&str, &str); 6] = [
    ("holdpoint_runs_run_id_key", "run_id = "),
    ("holdpoint_runs_pkey", "run_no = "),
    ("holdpoint_runs_by_session", "session = "),
    ("holdpoint_tasks_run_no_turn_call_index_key", "run_no = "),
    ("holdpoint_tasks_pkey", "task_no = "),
    ("holdpoint_approvals_pkey", "run_no = "),
];

/// The first scan of a plan that is not by a key.
fn scan_without_key(plan: &str) -> Option<&str> {
    let lines: Vec<&str> = plan.lines().collect();
    let scans = lines
        .iter()
        .zip(lines.iter().skip(1))
        .filter(|(line, _)| line.contains("Scan using") || line.contains("Seq Scan"));
    let by_key = |line: &str, condition: &str| {
        let key = KEYS.iter().find(|(index, _)| line.contains(&format!("using {index} ")));
        key.is_some_and(|(_, leading)| condition.trim_start().starts_with("Index Cond:") && condition.contains(leading))
    };
    scans.filter(|(line, condition)| !by_key(line, condition)).map(|(line, _)| *line).next()
}

/// A plan is kept while tables and indexes grow, whatever the statistics were when it was made.
#[tokio::test]
async fn rows_are_found_by_key_whatever_the_statistics_say() {
    let scratch = Scratch::new().await.unwrap();
    let mut connection = Address::parse(scratch.url()).unwrap().options().connect().await.unwrap();
    schema::prepare(&mut connection, Migrate::Auto).await.unwrap();
    sqlx::raw_sql(SESSION).execute(&mut connection).await.unwrap();
    for (statistics, setup) in [("none", "select 1"), ("nothing open", NOTHING_OPEN)] {
        sqlx::raw_sql(setup).execute(&mut connection).await.unwrap();
        for case in keyed() {
            let plan = plan(&mut connection, &case).await;
            let bad =
                ["Hash Join", "Merge Join"].into_iter().find(|join| plan.contains(join)).or(scan_without_key(&plan));
            assert_eq!(bad, None, "{}, statistics: {statistics}:\n{plan}", case.name);
            assert!(
                plan.contains(case.index),
                "{}, statistics: {statistics}, does not use {}:\n{plan}",
                case.name,
                case.index
            );
        }
    }
    connection.close().await.unwrap();
    scratch.close().await.unwrap();
}
