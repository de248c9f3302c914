//! Raw arguments, results and context values are data: no `Debug`, no error and no trace shows them (I8).
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

// One test only: a subscriber of one thread does not hear call sites that another thread saw first.
#[path = "behaviour/common.rs"]
mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::Traced;
use holdpoint::hooks::around_fn;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::policy_fn;
use holdpoint::tools::{ToolCall, ToolError, raw_tool};
use holdpoint::{
    Agent, Context, Decision, Decisions, Error, ExportOptions, Happening, Results, ResumeFrom, RunRequest, RunResult,
    RunStream, ToolResult,
};
use holdpoint_core::Revision;
use holdpoint_store::Scope;
use serde_json::json;

/// What must never be seen.
const CANARY: &str = "s3cret-canary";

/// Everything that was ever formatted.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<String>>);

impl Seen {
    fn debug(&self, value: &dyn std::fmt::Debug) {
        let mut seen = self.0.lock().unwrap();
        seen.push_str(&format!("{value:?}\n{value:#?}\n"));
    }

    fn error(&self, error: &Error) {
        self.debug(error);
        let mut seen = self.0.lock().unwrap();
        seen.push_str(&error.to_string());
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            seen.push_str(&error.to_string());
            cause = error.source();
        }
    }

    fn result(&self, result: &RunResult) {
        self.debug(result);
        self.debug(&result.records());
        self.debug(&result.pending());
        self.debug(&result.continuation());
        self.debug(&result.messages());
    }
}

fn tool(name: &str) -> holdpoint::tools::MadeTool {
    let name_of = name.to_owned();
    raw_tool(name, "Does something", json!({"type": "object", "maxProperties": 2}), move |call: ToolCall| {
        let name = name_of.clone();
        async move {
            call.progress(&format!("half {CANARY}"));
            match name.as_str() {
                "fail" => Err(ToolError::new(format!("no {CANARY}"))),
                "panic" => panic!("oh {CANARY}"),
                "hang" => std::future::pending().await,
                _ => Ok(ToolResult::success(format!("gave {CANARY}"))),
            }
        }
    })
}

fn script() -> ScriptedModel {
    let arguments = format!(r#"{{"key": "{CANARY}"}}"#);
    let call = |id: &'static str, name: &'static str| (id, name, arguments.as_str());
    let calls = ScriptedReply::calls(&[
        call("fail", "fail"),
        call("panic", "panic"),
        call("hang", "hang"),
        call("deferred", "deferred"),
        call("revoked", "revoked"),
        call("nobody", "nobody"),
        ("broken", "fail", &format!("{CANARY} is no object")),
        ("misfit", "fail", &format!(r#"{{"a": "{CANARY}", "b": "{CANARY}", "c": "{CANARY}"}}"#)),
        call("edited", "ask_edit"),
        call("answered", "ask_answer"),
        call("denied", "ask_deny"),
    ]);
    ScriptedModel::new(vec![calls, ScriptedReply::call("hooked", "hooked", &arguments), ScriptedReply::text("done")])
}

fn agent(seen: &Seen) -> Agent {
    let revoked = Mutex::new(0);
    let policy = policy_fn(move |request| match request.tool.as_str() {
        name if name.starts_with("ask") => Decision::confirm("a person must say yes"),
        "revoked" => {
            let mut asked = revoked.lock().unwrap();
            *asked += 1;
            if *asked > 1 { Decision::deny("not any more") } else { Decision::allow() }
        }
        _ => Decision::allow(),
    });
    let hook = around_fn(|call, next| {
        let fails = call.definition().name.as_str() == "hooked";
        Box::pin(async move {
            let settlement = next.run().await?;
            if fails { panic!("the hook saw {CANARY}") } else { Ok(settlement) }
        })
    });
    let names = ["fail", "panic", "deferred", "revoked", "ask_edit", "ask_answer", "ask_deny", "hooked"];
    let hang = tool("hang").timeout(Duration::from_millis(5));
    let builder = names.iter().fold(Agent::builder().model(script()).policy(policy), |all, name| all.tool(tool(name)));
    let (a, b, c, d) = (seen.clone(), seen.clone(), seen.clone(), seen.clone());
    builder
        .tool(hang)
        .around(hook)
        .route("deferred", "defer_all")
        .context_keys(["kept"])
        .on_tool_call(move |call| a.debug(call))
        .on_tool_result(move |ended| b.debug(ended))
        .on_end_message(move |message| c.debug(message))
        .instrument(Arc::new(move |happening: &Happening| d.debug(happening)))
        .build()
        .unwrap()
}

async fn follow(seen: &Seen, mut stream: RunStream) -> RunResult {
    while let Some(event) = stream.next().await {
        seen.debug(&event);
    }
    let result = stream.result().await.unwrap();
    seen.result(&result);
    result
}

#[tokio::test]
async fn nothing_that_is_formatted_or_traced_holds_raw_arguments_results_or_context() {
    let (seen, traced) = (Seen::default(), Traced::default());
    let listening = traced.listen();
    let agent = agent(&seen);
    let context = Context::new().with("kept", CANARY).with("not_kept", CANARY);
    let request = RunRequest::new("go").with_context(context.clone());
    seen.debug(&request);
    seen.debug(&agent.session());
    let paused = follow(&seen, agent.chat(request).stream()).await;
    assert!(paused.is_awaiting_confirmation());

    let payload = agent.runner().export(&paused.continuation().unwrap(), &ExportOptions::default()).unwrap();
    seen.debug(&ResumeFrom::from(payload.as_str()));
    seen.debug(&ResumeFrom::from(&paused));
    seen.debug(&agent.runner().read(&payload).unwrap());
    let broken = payload.replace("schema_version", "schema_versio");
    seen.error(&agent.resume(broken.as_str(), [("edited", true)]).await.unwrap_err());
    let misfit = json!({"a": CANARY, "b": CANARY, "c": CANARY});
    seen.error(&agent.resume(&paused, Decisions::new().allow_edited("edited", &misfit)).await.unwrap_err());
    let wrong = json!({"edited": {"allowed": CANARY}});
    seen.error(&Decisions::from_json(&wrong).unwrap_err());
    seen.error(&Results::from_json(&json!({"edited": {"texts": CANARY}})).unwrap_err());

    let decisions = Decisions::new()
        .allow_edited("edited", &json!({"edited": CANARY}))
        .answer("answered", ToolResult::success(CANARY))
        .deny("denied", "no");
    seen.debug(&decisions);
    let resuming = agent.resume(&paused, decisions).with_context(context);
    seen.debug(&resuming);
    let deferred = follow(&seen, resuming.stream()).await;
    assert!(deferred.is_awaiting_results());
    let tasks = agent.runner().export_tasks(&deferred.continuation().unwrap(), &ExportOptions::default()).unwrap();
    seen.debug(
        &holdpoint_codec::tasks::load(
            &tasks,
            &holdpoint_codec::LoadOptions { unsigned: holdpoint_codec::Unsigned::Accept, ..Default::default() },
        )
        .unwrap(),
    );
    let results = Results::new().result("deferred", ToolResult::success(CANARY));
    seen.debug(&results);
    let failed = follow(&seen, agent.resume_with_tool_results(&deferred, results).stream()).await;
    assert_eq!(failed.stop_reason().unwrap().as_str(), "hook_failed");
    let outcomes: Vec<&str> = failed.records().iter().map(|record| record.progress.as_str()).collect();
    assert_eq!(
        outcomes,
        [
            "failed",
            "failed",
            "timed_out",
            "succeeded",
            "denied",
            "failed",
            "failed",
            "failed",
            "succeeded",
            "succeeded",
            "refused",
            "succeeded"
        ]
    );
    let stored = agent.runner().store().runs.load(&Scope::All, failed.run_id(), Revision(0)).await.unwrap();
    stored.iter().for_each(|record| seen.debug(&holdpoint_codec::decode_event(&record.body).unwrap()));
    drop(listening);

    expect_clean(&seen.0.lock().unwrap(), &traced.text());
}

fn expect_clean(seen: &str, traced: &str) {
    let near = |text: &str| {
        let at = text.find(CANARY).unwrap_or(0);
        text.chars().skip(text[..at].chars().count().saturating_sub(300)).take(500).collect::<String>()
    };
    assert!(!seen.contains(CANARY), "formatted: {}", near(seen));
    assert!(!traced.contains(CANARY), "traced: {}", near(traced));
    // A tool that is not registered is warned of with its name only.
    let warning = traced.lines().find(|line| line.contains("security")).expect("a warning");
    assert!(warning.contains("WARN") && warning.contains("nobody"), "{warning}");
    // What is looked at is not empty: names and sizes are told.
    assert!(seen.contains("key") && traced.contains("holdpoint.tool.execute") && traced.contains("arguments_summary"));
}
