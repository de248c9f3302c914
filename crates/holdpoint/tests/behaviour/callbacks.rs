//! Callbacks and instruments, with and without a stream.

use crate::common;

use std::sync::{Arc, Mutex};

use common::{Counter, asking, echo};
use holdpoint::{Decisions, Happening};

type Log = Arc<Mutex<Vec<String>>>;

fn push(log: &Log) -> impl Fn(String) + Send + Sync + 'static {
    let log = Arc::clone(log);
    move |line| log.lock().unwrap().push(line)
}

#[tokio::test]
async fn callbacks_follow_a_run_without_a_stream() {
    let log = Log::default();
    let (builder, _) = asking(&[("c1", "work", "{}"), ("c2", "deny_it", "{}")]);
    let (new, call, result, end) = (push(&log), push(&log), push(&log), push(&log));
    let agent = builder
        .tool(echo("work", &Counter::default()))
        .tool(echo("deny_it", &Counter::default()))
        .on_new_message(move |role| new(format!("new {role:?}")))
        .on_tool_call(move |started| call(format!("call {}", started.call.id)))
        .on_tool_result(move |ended| result(format!("result {} {}", ended.call.id, ended.settlement.outcome.as_str())))
        .on_end_message(move |message| end(format!("end {:?}", message.role())))
        .build()
        .unwrap();
    agent.chat("go").await.unwrap();
    let log = log.lock().unwrap();
    assert_eq!(
        *log,
        [
            "new Assistant",
            "end Assistant",
            "new Tool",
            "call c1",
            "result c1 succeeded",
            "end Tool",
            "new Tool",
            "end Tool",
            "new Assistant",
            "end Assistant"
        ]
    );
}

#[tokio::test]
async fn a_callback_that_panics_disturbs_nothing() {
    let (builder, _) = asking(&[("c1", "work", "{}")]);
    let agent = builder
        .tool(echo("work", &Counter::default()))
        .on_tool_call(|_| panic!("oh no"))
        .on_tool_result(|_| panic!("oh no"))
        .on_new_message(|_| panic!("oh no"))
        .on_end_message(|_| panic!("oh no"))
        .instrument(Arc::new(|_| panic!("oh no")))
        .build()
        .unwrap();
    assert_eq!(agent.chat("go").await.unwrap().text().as_deref(), Some("done"));
}

async fn happenings() -> Vec<Happening> {
    let seen: Arc<Mutex<Vec<Happening>>> = Arc::default();
    let sink = {
        let seen = Arc::clone(&seen);
        move |h: &Happening| seen.lock().unwrap().push(h.clone())
    };
    let (builder, _) = asking(&[("c1", "ask_pay", r#"{"secret": "hunter2-sentinel"}"#)]);
    let agent = builder.tool(echo("ask_pay", &Counter::default())).instrument(Arc::new(sink)).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    agent.resume(&paused, Decisions::new().allow("c1").by("ana")).await.unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[tokio::test]
async fn every_named_happening_is_told_with_its_fields() {
    let seen = happenings().await;
    let fields = |name: &str| {
        let happening = seen.iter().find(|happening| happening.name == name);
        happening.unwrap_or_else(|| panic!("{name} was not told")).fields.clone()
    };
    for (name, wanted) in [
        ("holdpoint.run", vec!["run_id"]),
        ("holdpoint.turn", vec!["run_id", "turn_number"]),
        ("holdpoint.llm.call", vec!["run_id", "turn_number", "duration_ms"]),
        (
            "holdpoint.tool.task.created",
            vec!["run_id", "turn_number", "tool_call_id", "name", "executed_name", "executor"],
        ),
        (
            "holdpoint.tool.authorize",
            vec!["run_id", "tool_call_id", "name", "executed_name", "arguments_summary", "outcome", "reason", "stage"],
        ),
        ("holdpoint.tool.confirmation", vec!["run_id", "tool_call_id", "outcome", "actor_id", "reason"]),
        (
            "holdpoint.tool.execute",
            vec![
                "run_id",
                "tool_call_id",
                "name",
                "executed_name",
                "arguments_summary",
                "source",
                "result_error",
                "result_summary",
                "duration_ms",
            ],
        ),
        (
            "holdpoint.pause",
            vec![
                "run_id",
                "turn_number",
                "pause_reason",
                "continuation_id",
                "parent_continuation_id",
                "pending_confirmations_count",
                "pending_executions_count",
            ],
        ),
        ("holdpoint.resume", vec!["run_id", "paused_turn_number", "pause_reason", "continuation_id", "resumed"]),
    ] {
        let fields = fields(name);
        for field in wanted {
            assert!(fields.contains_key(field), "{name} has no {field}");
        }
    }
    assert_eq!(fields("holdpoint.tool.confirmation")["actor_id"], "ana");
    let stages: Vec<_> = seen.iter().filter_map(|h| h.fields.get("stage").cloned()).collect();
    assert_eq!(stages, ["policy", "confirmation"]);
}

#[tokio::test]
async fn raw_arguments_are_never_told() {
    let text = format!("{:?}", happenings().await);
    assert!(!text.contains("hunter2-sentinel"));
    assert!(text.contains("secret"), "argument names are told: {text}");
}

/// An agent whose callbacks go to a log.
fn logged(builder: holdpoint::AgentBuilder, log: &Log) -> holdpoint::AgentBuilder {
    let (new, call, result, end) = (push(log), push(log), push(log), push(log));
    builder
        .on_new_message(move |role| new(format!("new {role:?}")))
        .on_tool_call(move |started| call(format!("call {}", started.call.id)))
        .on_tool_result(move |ended| result(format!("result {}", ended.call.id)))
        .on_end_message(move |message| end(format!("end {:?}", message.role())))
}

#[tokio::test]
async fn every_message_begins_and_ends_once_over_a_pause() {
    let log = Log::default();
    let (builder, _) = asking(&[("ran", "work", "{}"), ("denied", "deny_it", "{}"), ("asked", "ask_pay", "{}")]);
    let names = ["work", "deny_it", "ask_pay"];
    let builder = names.iter().fold(builder, |builder, name| builder.tool(echo(name, &Counter::default())));
    let agent = logged(builder.siblings(holdpoint::Siblings::Run), &log).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    agent.resume(&paused, [("asked", false)]).await.unwrap();
    let log = log.lock().unwrap();
    let first = ["new Assistant", "end Assistant", "new Tool", "call ran", "result ran", "end Tool"];
    let second = ["new Tool", "end Tool", "new Tool", "end Tool", "new Assistant", "end Assistant"];
    assert_eq!(*log, [first, second].concat());
}

#[tokio::test]
async fn results_from_outside_and_from_hooks_have_their_messages_too() {
    let log = Log::default();
    let (builder, _) = asking(&[("far", "far", "{}"), ("cached", "work", "{}")]);
    let hook = holdpoint::hooks::around_fn(|call, _| {
        let answer = call.answered(holdpoint::Source::Cache, holdpoint::ToolResult::success("kept"));
        Box::pin(async move { Ok(answer) })
    });
    let builder = builder.tool(echo("work", &Counter::default())).tool(echo("far", &Counter::default()));
    let agent = logged(builder.around(hook).route("far", "defer_all"), &log).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    agent.resume_with_tool_results(&paused, [("far", holdpoint::ToolResult::success("x"))]).await.unwrap();
    let log = log.lock().unwrap();
    let cached = ["new Assistant", "end Assistant", "new Tool", "call cached", "result cached", "end Tool"];
    let far = ["new Tool", "result far", "end Tool", "new Assistant", "end Assistant"];
    assert_eq!(*log, [&cached[..], &far[..]].concat());
}

#[tokio::test]
async fn a_word_that_policy_takes_back_and_a_deferral_are_told() {
    let seen: Arc<Mutex<Vec<Happening>>> = Arc::default();
    let sink = {
        let seen = Arc::clone(&seen);
        move |h: &Happening| seen.lock().unwrap().push(h.clone())
    };
    let (_, model) = asking(&[("a", "work", "{}"), ("b", "far", "{}")]);
    let asked = Mutex::new(0);
    let policy = holdpoint::policy::policy_fn(move |request| {
        let mut asked = asked.lock().unwrap();
        *asked += u32::from(request.tool.as_str() == "work");
        if *asked > 1 && request.tool.as_str() == "work" {
            holdpoint::Decision::deny("not any more")
        } else {
            holdpoint::Decision::allow()
        }
    });
    let builder = holdpoint::Agent::builder().model(model).policy(policy).instrument(Arc::new(sink));
    let builder = builder.tool(echo("work", &Counter::default())).tool(echo("far", &Counter::default()));
    let agent = builder.route("far", "defer_all").build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    assert_eq!(paused.records()[0].code, Some(holdpoint::Code::PolicyRevoked));
    let seen = seen.lock().unwrap();
    let recheck = seen.iter().find(|h| h.fields.get("stage").is_some_and(|stage| stage == "recheck")).unwrap();
    assert_eq!((&recheck.fields["outcome"], &recheck.fields["tool_call_id"]), (&"deny".into(), &"a".into()));
    let deferred = seen.iter().find(|h| h.name == "holdpoint.tool.task.deferred").unwrap();
    for field in ["run_id", "turn_number", "tool_call_id", "name", "executed_name", "executor"] {
        assert!(!deferred.fields[field].is_null(), "{field}");
    }
    assert_eq!(deferred.fields["executor"], "defer_all");
    let pause = seen.iter().find(|h| h.name == "holdpoint.pause").unwrap();
    assert_eq!(
        (&pause.fields["pending_executions_count"], &pause.fields["pending_confirmations_count"]),
        (&1.into(), &0.into())
    );
}
