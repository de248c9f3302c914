//! Whether the statements use the indexes that were made for them, on tables that have grown.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

use crate::options::{Address, Migrate};
use crate::pool::SESSION;
use crate::testing::Scratch;
use crate::{
    approvals, audit_log, commit, grants, prune, run_leases, run_log, schema, server_state, sessions, task_queue,
};

/// Most tasks are of a tool that the worker lacks; most runs are over.
const ROWS: &str = "
    insert into holdpoint_runs
        (run_id, revision, status, agent, tenant, deadline, free_at, lease_us, created_at, updated_at, last_commit,
         audit_tenant, audit_revision, audit_rows, audit_link, sealed_revision, seal_no)
    select 'run-' || n, 1, case when n % 100 < 6 then n % 6 else 3 end, 'agent-' || n % 5, 'tenant-' || n % 7,
        case when n % 50 = 1 then n end, n, 0, n, n, n, '=tenant-' || n % 7, 1, 1, 'x',
        case when n % 100 = 0 then 0 else 1 end, 1
    from generate_series(1, 30000) as n;
    insert into holdpoint_log (run_no, last_seq, at, body) select n, 1, n, 'x' from generate_series(1, 30000) as n;
    insert into holdpoint_tasks
        (run_no, turn, place, agent, tenant, tool, attempts, attempts_max, repeat, created_at, state, ready_at, fence,
         last_request, body)
    select n, 1, 0, 'agent-' || n % 5, 'tenant-' || n % 7, case when n % 100 = 0 then 'rare' else 'common' end, 0, 3, 0,
        n, case when n % 300 = 0 then 2 when n % 200 = 0 then 1 else 0 end, n, 0, 0, 'x'
    from generate_series(1, 30000) as n;
    insert into holdpoint_seals select '=tenant-' || n % 7, n, n, 'x', 'x' from generate_series(1, 30000) as n;
    insert into holdpoint_tombstones
    select '=tenant-' || n % 7, 'gone-' || n, 1, 'x', 1, n from generate_series(1, 30000) as n;
    insert into holdpoint_grants (grant_id, tenant, tool, created_at, last_request, body)
    select 'g' || n, '=tenant-' || n % 7, 'tool-' || n % 50, n, 0, 'x' from generate_series(1, 30000) as n;
    update holdpoint_runs set session = 'talk-' || run_no % 1000 where run_no % 3 = 0;
    insert into holdpoint_questions
    select n, 1, 0, 'agent-' || n % 5, '=tenant-' || n % 7, 'tool', 0, case when n % 100 = 0 then 0 else 1 + n % 3 end,
        null, n, n, n, n, n, 'x', '' from generate_series(1, 30000) as n;
    insert into holdpoint_responses (request, digest, begun_at, last_request, response) select 'r' || n, 'x', n, n, 'x' from generate_series(1, 30000) as n;
    insert into holdpoint_workers select '', 'w' || n, 'x', n, n from generate_series(1, 1000) as n;
    analyze";

struct Case {
    name: &'static str,
    sql: String,
    types: &'static str,
    /// The index that it is to use.
    index: &'static str,
}

fn case(name: &'static str, sql: &str, types: &'static str, index: &'static str) -> Case {
    Case { name, sql: sql.to_owned(), types, index }
}

fn cases() -> Vec<Case> {
    let lease = "text[], text[], bigint, text, bigint, bigint, bigint, text";
    let open = holdpoint_store::RunFilter {
        status: Some(holdpoint_core::Status::AwaitingToolConfirmation),
        ..holdpoint_store::RunFilter::default()
    };
    let list = "smallint, text, text, bigint, bigint, text";
    let mut cases = question_cases();
    cases.extend([
        case("lease", task_queue::LEASE, lease, "holdpoint_tasks_waiting "),
        case("lease of a tenant", task_queue::LEASE_OF_TENANT, lease, "holdpoint_tasks_waiting_of_tenant "),
        case("lapsed", &task_queue::lapsed_sql(), "text[], bigint, bigint", "holdpoint_tasks_leased "),
        case("arrivals", task_queue::ARRIVALS, "text[], bigint", "holdpoint_tasks_delivered "),
        case("claim", run_leases::CLAIM, "text[], bigint, text, bigint, bigint", "holdpoint_runs_claimable "),
        case("overlong", run_leases::OVERLONG, "text[], bigint, bigint", "holdpoint_tasks_leased "),
        case("due", run_log::DUE, "text[], bigint, bigint", "holdpoint_runs_due "),
        case("prune", prune::PRUNE, "bigint, text, bigint, bigint", "holdpoint_runs_over "),
        case("seal", audit_log::TO_SEAL, "text, bigint", "holdpoint_runs_to_seal "),
        case("last seal", audit_log::LAST, "text", "holdpoint_seals_pkey "),
        case("seals", audit_log::SEALS, "text, bigint, bigint", "holdpoint_seals_pkey "),
        case("audit heads", audit_log::HEADS, "text, text, bigint", "holdpoint_runs_audited "),
        case("audit log", audit_log::AUDIT_AFTER, "bigint, bigint, bigint", "holdpoint_log_pkey "),
        case(
            "audit log of a tenant",
            audit_log::AUDIT_OF_TENANT,
            "bigint, bigint, bigint, text",
            "holdpoint_log_pkey ",
        ),
        case(
            "audit log of a run",
            audit_log::AUDIT_OF_RUN,
            "bigint, bigint, bigint, text",
            "holdpoint_runs_run_id_key ",
        ),
        case("unsealed", audit_log::UNSEALED, "", "holdpoint_runs_to_seal "),
        case("traces", audit_log::TRACES, "text[], bigint[], text", "holdpoint_tombstones_pkey "),
        case("tombstones", audit_log::TOMBSTONES, "text, text, bigint", "holdpoint_tombstones_pkey "),
        case("tenants", audit_log::TENANTS, "", "holdpoint_runs_audited "),
        case("grants for a call", grants::MATCHING, "text, text, bigint, bigint", "holdpoint_grants_open "),
        case("grants", grants::LIST, "bigint, text, text, bigint", "holdpoint_grants_pkey "),
        case("list", &run_log::list_sql(&holdpoint_store::RunFilter::default()), list, "holdpoint_runs_pkey "),
        case("sessions", sessions::SESSIONS, "bigint, text, bigint", "holdpoint_runs_by_session "),
        case(
            "sessions of a tenant",
            sessions::SESSIONS_OF_TENANT,
            "bigint, text, bigint",
            "holdpoint_runs_with_session ",
        ),
        case("kept response", server_state::KEPT, "text, bigint, bigint", "holdpoint_responses_pkey "),
        case("sweep", server_state::SWEEP, "bigint, bigint, bigint, bigint", "holdpoint_responses_by_age "),
        case("workers", server_state::WORKERS, "bigint, bigint, text, bigint", "holdpoint_tasks_by_worker "),
        case("list what is open", &run_log::list_sql(&open), list, "holdpoint_runs_open "),
    ]);
    cases
}

fn question_cases() -> Vec<Case> {
    let pending = holdpoint_store::QuestionFilter::default;
    let own = holdpoint_store::QuestionFilter { tenant: Some("acme".into()), ..pending() };
    let ended = holdpoint_store::QuestionFilter { status: holdpoint_store::QuestionStatus::Answered, ..pending() };
    let own_ended = holdpoint_store::QuestionFilter { tenant: Some("acme".into()), ..ended.clone() };
    let questions = "text, text, smallint, text, bigint, bigint, bigint, text";
    vec![
        case("questions", &approvals::list_sql(&pending()), questions, "holdpoint_questions_pending "),
        case("questions of a tenant", &approvals::list_sql(&own), questions, "holdpoint_questions_pending_of_tenant "),
        case("questions that ended", &approvals::list_sql(&ended), questions, "holdpoint_questions_changed "),
        case(
            "questions of a tenant that ended",
            &approvals::list_sql(&own_ended),
            questions,
            "holdpoint_questions_ended_of_tenant ",
        ),
        case("changes of questions", approvals::CHANGED, "bigint, bigint, text", "holdpoint_questions_changed "),
        case(
            "changes of a tenant",
            approvals::CHANGED_OF_TENANT,
            "bigint, bigint, text",
            "holdpoint_questions_changed_of_tenant ",
        ),
    ]
}

async fn plan(connection: &mut PgConnection, case: &Case) -> String {
    let (types, values) = match case.types {
        "" => (String::new(), String::new()),
        types => (format!("({types})"), format!("({})", vec!["null"; types.split(", ").count()].join(", "))),
    };
    let prepare = format!("deallocate all; prepare asked {types} as {}", case.sql);
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

/// Plans of commits are made when the tables are empty, and kept.
#[tokio::test]
async fn commits_go_by_key_even_when_planned_on_empty_tables() {
    let scratch = Scratch::new().await.unwrap();
    let mut connection = Address::parse(scratch.url()).unwrap().options().connect().await.unwrap();
    schema::prepare(&mut connection, Migrate::Auto).await.unwrap();
    sqlx::raw_sql(SESSION).execute(&mut connection).await.unwrap();
    let one = "text, bigint, bigint, smallint, text, text, bigint, bigint, text, bigint, bigint, bigint, bytea, bytea, bigint";
    let many = "bigint[], text[], bigint[], bigint[], smallint[], text[], text[], bigint[], bigint[], text[], bigint[], \
        bigint[], bigint[], bytea[], bytea[], bigint";
    let link = "bytea[]";
    let with_tasks = format!(
        "{many}, bigint[], bigint[], bigint[], smallint[], bigint[], boolean[], bigint[], bigint[], bigint[], text[], \
         bigint[], bigint[], smallint[], bigint[], bytea[], {link}, text[], text[], \
         bigint[], text[], text[], bigint[], bytea[], \
         bigint[], bigint[], bigint[], text[], smallint[], smallint[], bigint[], boolean[], bytea[], bytea[], \
         bigint[], bigint[], bigint[], smallint[], bytea[], text[]"
    );
    let many = format!("{many}, {link}, text[], text[], text[]");
    let case = |name, sql: &str, types: &str| Case {
        name,
        sql: sql.to_owned(),
        types: types.to_owned().leak(),
        index: "holdpoint_runs_run_id_key ",
    };
    let [one_move, many_moves, many_with_tasks] = commit::statements();
    let cases = [
        case("one", one_move, one),
        case("many", many_moves, &many),
        case("many with tasks", many_with_tasks, &with_tasks),
    ];
    for case in &cases {
        let plan = plan(&mut connection, case).await;
        let scans = ["Seq Scan", "Hash Join", "Merge Join"].into_iter().find(|scan| plan.contains(scan));
        assert_eq!(scans, None, "{}:\n{plan}", case.name);
        assert!(plan.contains(case.index), "{} does not use {}:\n{plan}", case.name, case.index);
    }
    let tasks = plan(&mut connection, &cases[2]).await;
    assert!(tasks.contains("holdpoint_tasks_run_no_turn_place_key "), "{tasks}");
    connection.close().await.unwrap();
    scratch.close().await.unwrap();
}
