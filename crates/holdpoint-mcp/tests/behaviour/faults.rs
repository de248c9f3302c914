//! Servers that die, hang, lie and shout.

use crate::common;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use common::{Calling, call, connect, faulty, tool, try_call, until};
use holdpoint_core::Outcome;
use holdpoint_mcp::{ConnectProblem, McpError, McpServers, SecretSource, ServerConfig, ToolStatus};
use holdpoint_tools::Tool;
use serde_json::{Value, json};

async fn counts(tool: &Arc<dyn Tool>) -> Value {
    serde_json::from_str(&call(tool, json!({})).await.result.text()).unwrap()
}

async fn refused(config: ServerConfig) -> ConnectProblem {
    match McpServers::connect([("s", ServerConfig { required: true, ..config })]).await.unwrap_err() {
        McpError::Connect { problem, .. } => problem,
        other => panic!("{other}"),
    }
}

/// A server that writes a line into a file for each call that it gets.
struct Noting {
    config: ServerConfig,
    calls: PathBuf,
    _folder: tempfile::TempDir,
}

impl Noting {
    fn new(mode: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let calls = folder.path().join("calls");
        let mut config = faulty(mode);
        config.command.push(calls.to_str().unwrap().to_owned());
        Self { config, calls, _folder: folder }
    }

    async fn got(&self, calls: usize) {
        until("the server has the call", || lines(&self.calls) == calls).await;
    }
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_gives_an_error_and_is_started_again() {
    let servers = connect("s", faulty("plain")).await;
    let died = call(&tool(&servers, "s__die"), json!({})).await;
    assert_eq!(died.outcome, Outcome::Failed);
    let text = died.result.text();
    assert!(text.contains("gave no answer") && text.contains("may have taken effect"), "{text}");
    let again = call(&tool(&servers, "s__work"), json!({})).await;
    assert_eq!(again.result.text(), "done");
}

#[tokio::test]
async fn a_server_that_hangs_is_told_that_nobody_waits_any_more() {
    let servers = connect("s", faulty("plain")).await;
    let calling = Calling { timeout: Duration::from_millis(200), ..Calling::default() };
    let hung = try_call(&tool(&servers, "s__hang"), json!({}), calling).await.unwrap();
    assert_eq!(hung.outcome, Outcome::TimedOut);
    let told = counts(&tool(&servers, "s__counts")).await;
    assert_eq!(told["cancelled"], 1, "{told}");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let noting = Noting::new("plain");
    let servers = connect("s", noting.config.clone()).await;
    let hang = tool(&servers, "s__hang");
    let task = tokio::spawn(async move { call(&hang, json!({})).await });
    let counting = tool(&servers, "s__counts");
    noting.got(1).await;
    task.abort();
    let told = counts(&counting).await;
    assert_eq!((&told["calls"], &told["cancelled"]), (&json!(2), &json!(1)), "{told}");
}

#[tokio::test]
async fn garbage_on_the_output_is_passed_over() {
    let servers = connect("s", faulty("plain")).await;
    let answer = call(&tool(&servers, "s__garbage"), json!({})).await;
    assert_eq!(answer.result.text(), "after garbage");
}

#[tokio::test]
async fn a_message_above_the_limit_ends_the_call_at_once_and_the_server_is_started_again() {
    let config = ServerConfig { max_message_bytes: 1_000_000, ..faulty("plain") };
    let servers = connect("s", config).await;
    let huge = call(&tool(&servers, "s__huge"), json!({})).await;
    assert!(huge.result.text().contains("a message above the limit"), "{}", huge.result.text());
    assert_eq!(call(&tool(&servers, "s__work"), json!({})).await.result.text(), "done");
}

#[tokio::test]
async fn a_storm_of_changes_lists_the_tools_a_few_times() {
    let servers = connect("s", faulty("plain")).await;
    let answer = call(&tool(&servers, "s__storm"), json!({})).await;
    assert_eq!(answer.result.text(), "after the storm");
    let told = counts(&tool(&servers, "s__counts")).await;
    assert!(told["lists"].as_u64().unwrap() <= 10, "{told}");
}

#[tokio::test]
async fn a_server_with_too_many_tools_is_refused() {
    assert_eq!(refused(faulty("many")).await, ConnectProblem::TooManyTools);
}

#[tokio::test]
async fn ten_thousand_tools_work_where_they_are_allowed() {
    let servers = connect("s", ServerConfig { max_tools: 10_000, ..faulty("many") }).await;
    assert_eq!(servers.tools().len(), 10_000);
}

#[tokio::test]
async fn hostile_names_are_offered_under_good_ones_and_called_by_their_own() {
    let servers = connect("s", faulty("hostile")).await;
    let tools = servers.tools();
    assert_eq!(tools.len(), 8);
    for tool in tools {
        let name = tool.definition().name.as_str().to_owned();
        assert!(
            name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        );
        assert_eq!(call(&tool, json!({})).await.result.text(), "done");
    }
}

#[tokio::test]
async fn tools_of_one_name_are_not_offered() {
    let servers = connect("s", faulty("duplicate")).await;
    let names: Vec<_> = servers.tools().iter().map(|tool| tool.definition().name.as_str().to_owned()).collect();
    assert_eq!(names, ["s__fine"]);
}

#[tokio::test]
async fn what_changes_after_the_start_is_neither_offered_nor_run_until_somebody_accepts_it() {
    let servers = connect("s", faulty("changing")).await;
    let (sly, steady) = (tool(&servers, "s__sly"), tool(&servers, "s__steady"));
    assert_eq!(call(&sly, json!({})).await.result.text(), "done");
    call(&tool(&servers, "s__change"), json!({})).await;
    until("the change is seen", || !sly.is_offered()).await;

    let text = call(&sly, json!({})).await.result.text();
    assert!(text.contains("nobody accepted that") && text.contains("not executed"), "{text}");
    assert_eq!(call(&steady, json!({})).await.result.text(), "done");
    let names: Vec<_> = servers.tools().iter().map(|tool| tool.definition().name.as_str().to_owned()).collect();
    assert_eq!(names, ["s__steady"]);

    let listed = servers.report().remove(0).tools;
    let of = |name: &str| listed.iter().find(|tool| tool.name == name).unwrap();
    assert_eq!(of("new").status, ToolStatus::NotAccepted);
    assert!(matches!(of("sly").status, ToolStatus::Changed { .. }));
    assert!(matches!(servers.accept("s", "sly", of("new").digest), Err(McpError::DigestMismatch { .. })));
    servers.accept("s", "sly", of("sly").digest).unwrap();
    servers.accept("s", "new", of("new").digest).unwrap();
    assert_eq!(&*tool(&servers, "s__sly").definition().description, "sends everything to somebody");
    assert_eq!(call(&tool(&servers, "s__new"), json!({})).await.result.text(), "done");
    assert!(!sly.is_offered(), "whoever holds the old one cannot call the new one");
}

#[tokio::test]
async fn servers_that_cannot_be_used_are_refused_with_a_reason() {
    let quick = |mode: &str| ServerConfig { connect_timeout_ms: 1_500, ..faulty(mode) };
    assert_eq!(refused(quick("silent")).await, ConnectProblem::TimedOut);
    assert_eq!(refused(quick("babbles")).await, ConnectProblem::TimedOut);
    assert_eq!(refused(quick("quits")).await, ConnectProblem::Closed);
    assert_eq!(refused(ServerConfig::stdio(["/no/such/program"])).await, ConnectProblem::NotStarted);
    let secret = SecretSource::Env("HOLDPOINT_NO_SUCH_VARIABLE".to_owned());
    let with_secret = ServerConfig { env_from: [("TOKEN".to_owned(), secret)].into(), ..faulty("plain") };
    assert_eq!(refused(with_secret).await, ConnectProblem::Secret);
    assert!(matches!(refused(ServerConfig::http("http://127.0.0.1:9/mcp")).await, ConnectProblem::Closed));
}

#[tokio::test]
async fn one_server_that_fails_keeps_no_other_from_working_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    let mut locked = faulty("locked");
    locked.command.push(lock.to_str().unwrap().to_owned());
    let bad = ServerConfig::stdio(["/no/such/program"]);
    let servers = McpServers::connect([("bad", bad), ("good", faulty("plain")), ("locked", locked)]).await.unwrap();
    assert_eq!(call(&tool(&servers, "good__work"), json!({})).await.result.text(), "done");
    let reached = |servers: &McpServers| {
        let report = servers.report().into_iter().map(|server| (server.server.as_str().to_owned(), server.reached));
        report.collect::<Vec<_>>()
    };
    assert_eq!(
        reached(&servers),
        [
            ("bad".to_owned(), Err(ConnectProblem::NotStarted)),
            ("good".to_owned(), Ok(())),
            ("locked".to_owned(), Err(ConnectProblem::Closed))
        ]
    );
    std::fs::write(&lock, "").unwrap();
    std::fs::write(folder.path().join("lock.stay"), "").unwrap();
    until("what failed at first is there", || servers.report()[2].reached.is_ok()).await;
    assert_eq!(call(&tool(&servers, "locked__work"), json!({})).await.result.text(), "done");
}

fn lines(path: &std::path::Path) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_server_that_ends_each_time_after_its_list_is_left_alone_until_it_is_called() {
    let folder = tempfile::tempdir().unwrap();
    // It has a line for each time that the server was started, listed its tools and ended.
    let ends = folder.path().join("ends");
    let config = ServerConfig { max_reconnects: 2, ..faulty("fleeting") };
    let mut command = config.command.clone();
    command.push(ends.to_str().unwrap().to_owned());
    let servers = connect("s", ServerConfig { command, ..config }).await;
    let work = tool(&servers, "s__work");
    until("it was started again twice", || lines(&ends) == 3).await;
    // tidy: sleeps because a start too many would come by itself, and nothing says that none comes.
    tokio::time::sleep(Duration::from_secs(2)).await;
    until("its last end is seen", || servers.report()[0].reached == Err(ConnectProblem::Closed)).await;
    assert_eq!(lines(&ends), 3);
    let called = call(&work, json!({})).await;
    assert_eq!(called.outcome, Outcome::Failed);
    until("it was started for the call, and not again", || lines(&ends) == 4).await;
}

#[tokio::test]
async fn the_first_call_of_a_server_that_was_left_alone_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    std::fs::write(&lock, "").unwrap();
    let config = ServerConfig { max_reconnects: 0, ..faulty("locked") };
    let mut command = config.command.clone();
    command.push(lock.to_str().unwrap().to_owned());
    let servers = connect("s", ServerConfig { command, ..config }).await;
    let work = tool(&servers, "s__work");
    until("it is left alone", || servers.report()[0].reached.is_err()).await;
    std::fs::write(folder.path().join("lock.stay"), "").unwrap();
    assert_eq!(call(&work, json!({})).await.result.text(), "done");
}

#[tokio::test]
async fn a_tool_that_changes_while_a_call_waits_for_its_place_is_not_called() {
    let noting = Noting::new("slow");
    let servers = connect("s", noting.config.clone()).await;
    let (hold, sly) = (tool(&servers, "s__hold"), tool(&servers, "s__sly"));
    let held = tokio::spawn(async move { call(&hold, json!({})).await });
    noting.got(1).await;
    assert!(sly.is_offered());
    let text = call(&sly, json!({})).await.result.text();
    assert!(text.contains("nobody accepted that"), "{text}");
    assert_eq!(held.await.unwrap().result.text(), "held");
    let told = counts(&tool(&servers, "s__counts")).await;
    assert_eq!(told["calls"], 2, "{told}");
}

#[tokio::test]
async fn a_program_gets_only_what_is_listed_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "hunter2\n").unwrap();
    let secret = SecretSource::File(folder.path().join("token"));
    let config = ServerConfig {
        env: vec!["PATH".to_owned()],
        env_from: [("TOKEN".to_owned(), secret)].into(),
        ..faulty("plain")
    };
    assert!(!format!("{config:?}").contains("hunter2"));
    let servers = connect("s", config).await;
    let names: Vec<String> =
        serde_json::from_str(&call(&tool(&servers, "s__env"), json!({})).await.result.text()).unwrap();
    // The interpreter sets one of its own.
    let names: Vec<_> = names.into_iter().filter(|name| name != "LC_CTYPE").collect();
    assert_eq!(names, ["PATH", "TOKEN"]);
}

fn is_alive(pid: u32) -> bool {
    // What was killed and not yet looked after by anybody is dead too.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_program_and_what_it_started_end_with_the_connection() {
    let servers = connect("s", faulty("plain")).await;
    let server = u32::try_from(counts(&tool(&servers, "s__counts")).await["pid"].as_u64().unwrap()).unwrap();
    let child: u32 = call(&tool(&servers, "s__spawn"), json!({})).await.result.text().parse().unwrap();
    assert!(is_alive(server) && is_alive(child));
    drop(servers);
    until("both are dead", || !is_alive(server) && !is_alive(child)).await;
}

#[tokio::test]
async fn calls_run_one_after_another_unless_the_configuration_says_otherwise() {
    let noting = Noting::new("plain");
    let one = connect("s", noting.config.clone()).await;
    let hang = tool(&one, "s__hang");
    let held = tokio::spawn(async move { call(&hang, json!({})).await });
    noting.got(1).await;
    let calling = Calling { timeout: Duration::from_millis(300), ..Calling::default() };
    let waits = try_call(&tool(&one, "s__work"), json!({}), calling).await.unwrap();
    assert_eq!(waits.outcome, Outcome::TimedOut);
    held.abort();

    let noting = Noting::new("plain");
    let two = connect("s", ServerConfig { max_concurrency: 2, ..noting.config.clone() }).await;
    let hang = tool(&two, "s__hang");
    let held = tokio::spawn(async move { call(&hang, json!({})).await });
    noting.got(1).await;
    assert_eq!(call(&tool(&two, "s__work"), json!({})).await.result.text(), "done");
    held.abort();
}
