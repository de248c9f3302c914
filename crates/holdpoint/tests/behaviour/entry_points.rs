//! Run, resume and resume with results, each in its plain and its streaming form, from every form of a continuation.

use crate::common;

use common::{Counter, asking, echo, lines};
use holdpoint::{Code, Decisions, ExportOptions, ResumeFrom, SigningKey, Status, StopReason, ToolResult};
use holdpoint_core::ModelStop;

async fn paused() -> (holdpoint::Agent, holdpoint::RunResult, Counter) {
    let counter = Counter::default();
    let (builder, _) = asking(&[("c1", "ask_pay", r#"{"amount": 5}"#)]);
    let agent = builder.tool(echo("ask_pay", &counter)).signing_key(SigningKey::new("k", [1; 32])).build().unwrap();
    let paused = agent.chat("pay").await.unwrap();
    assert!(paused.is_awaiting_confirmation());
    assert_eq!(counter.count(), 0);
    (agent, paused, counter)
}

#[tokio::test]
async fn a_run_without_calls_ends_with_the_models_reason() {
    let (builder, model) = asking(&[]);
    let result = builder.build().unwrap().chat("hello").await.unwrap();
    assert_eq!(result.stop_reason(), Some(StopReason::Model(ModelStop::EndTurn)));
    assert_eq!(result.text(), None);
    assert_eq!(model.requests(), 1);
}

#[tokio::test]
async fn an_allowed_call_runs_and_its_result_reaches_the_model() {
    let counter = Counter::default();
    let (builder, model) = asking(&[("c1", "work", r#"{"b": 1, "a": 2}"#)]);
    let result = builder.tool(echo("work", &counter)).build().unwrap().chat("go").await.unwrap();
    assert_eq!(lines(&result), ["assistant: ", r#"tool: {"a":2,"b":1}"#, "assistant: done"]);
    assert_eq!((result.turns(), result.model_calls(), result.tool_executions()), (2, 2, 1));
    assert_eq!(counter.count(), 1);
    assert_eq!(model.latest().unwrap().messages.len(), 3);
    assert_eq!(result.status(), Status::Finished);
    assert!(result.continuation().is_none());
}

#[tokio::test]
async fn a_result_resumes() {
    let (agent, paused, counter) = paused().await;
    let done = agent.resume(&paused, [("c1", true)]).await.unwrap();
    assert_eq!(done.text().as_deref(), Some("done"));
    assert_eq!(done.run_id(), paused.run_id());
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn a_continuation_resumes() {
    let (agent, paused, counter) = paused().await;
    let continuation = paused.continuation().unwrap();
    agent.resume(continuation, Decisions::new().allow("c1").by("ana")).await.unwrap();
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn exported_json_resumes() {
    let (agent, paused, counter) = paused().await;
    let json = agent.runner().export(&paused.continuation().unwrap(), &ExportOptions::default()).unwrap();
    agent.resume(json.as_str(), [("c1", true)]).await.unwrap();
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn a_continuation_id_resumes() {
    let (agent, paused, counter) = paused().await;
    let id = paused.continuation().unwrap().id().clone();
    agent.resume(id, [("c1", true)]).await.unwrap();
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn a_batch_resumes_partially_only() {
    let (agent, paused, counter) = paused().await;
    let batch = paused.continuation().unwrap().batch_id();
    let error = agent.resume(batch.clone(), [("c1", true)]).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidDecision);
    let error = agent.resume(batch.clone(), Decisions::new().allow("c1").partial()).await.unwrap_err();
    assert_eq!(error.code(), Code::DigestMismatch, "a batch has many questions: the answer must name one");
    let shown = paused.pending_confirmations()[0].digest;
    agent.resume(batch, Decisions::new().allow("c1").shown(shown).partial()).await.unwrap();
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn a_finished_result_cannot_be_resumed() {
    let (agent, paused, counter) = paused().await;
    let done = agent.resume(&paused, [("c1", true)]).await.unwrap();
    let error = agent.resume(&done, [("c1", true)]).await.unwrap_err();
    assert_eq!(error.code(), Code::StaleContinuation);
    assert_eq!(counter.count(), 1);
}

#[tokio::test]
async fn the_paused_object_is_not_changed_by_a_resume() {
    let (agent, paused, _) = paused().await;
    let before = format!("{:?}", paused.run());
    agent.resume(&paused, [("c1", true)]).await.unwrap();
    assert_eq!(format!("{:?}", paused.run()), before);
}

#[tokio::test]
async fn an_unknown_run_is_not_found() {
    let (agent, _, _) = paused().await;
    let id = holdpoint_core::ContinuationId::parse("nobody.p1").unwrap();
    let error = agent.resume(ResumeFrom::Id(id), [("c1", true)]).await.unwrap_err();
    assert_eq!(error.code(), Code::ContinuationNotFound);
}

#[tokio::test]
async fn deferred_calls_are_resumed_with_results_in_any_order() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "work", "{}"), ("b", "work", "{}")]);
    let agent = builder.tool(echo("work", &counter)).with_tool_concurrency("defer_all", None).build().unwrap();
    let first = agent.chat("go").await.unwrap();
    assert!(first.is_awaiting_results());
    assert_eq!(first.pending_executions().len(), 2);
    let partial = holdpoint::Results::new().result("b", ToolResult::success("two")).partial();
    let second = agent.resume_with_tool_results(&first, partial).await.unwrap();
    assert_eq!(second.pending_executions().len(), 1);
    let parent = second.continuation().unwrap().parent_id();
    assert_eq!(parent.as_ref(), Some(first.continuation().unwrap().id()));
    let done = agent.resume_with_tool_results(&second, [("a", ToolResult::error("no"))]).await.unwrap();
    assert_eq!(lines(&done), ["tool: no", "tool: two", "assistant: done"]);
    assert_eq!(counter.count(), 0);
}

#[tokio::test]
async fn a_result_of_the_wrong_kind_names_both_kinds() {
    let (agent, paused, _) = paused().await;
    let error = agent.resume_with_tool_results(&paused, [("c1", ToolResult::success("x"))]).await.unwrap_err();
    assert_eq!(error.code(), Code::WrongPause);
    let text = error.to_string();
    assert!(text.contains("awaiting_tool_confirmation") && text.contains("awaiting_tool_results"), "{text}");
}

#[tokio::test]
async fn a_stale_continuation_says_which_one_followed() {
    let counter = Counter::default();
    let (builder, _) = asking(&[("a", "ask_a", "{}"), ("b", "ask_b", "{}")]);
    let agent = builder.tool(echo("ask_a", &counter)).tool(echo("ask_b", &counter)).build().unwrap();
    let first = agent.chat("go").await.unwrap();
    let second = agent.resume(&first, Decisions::new().allow("a").partial()).await.unwrap();
    let error = agent.resume(&first, [("a", true), ("b", true)]).await.unwrap_err();
    assert_eq!(error.code(), Code::StaleContinuation);
    assert!(error.to_string().contains(&second.continuation().unwrap().id().to_string()));
    assert_eq!(counter.count(), 0);
}

#[tokio::test]
async fn of_many_resumes_at_once_exactly_one_wins() {
    let (agent, paused, counter) = paused().await;
    let resumes = (0..16).map(|_| {
        let (agent, paused) = (agent.clone(), paused.clone());
        tokio::spawn(async move { agent.resume(&paused, [("c1", true)]).await })
    });
    let mut won = 0;
    for resume in resumes.collect::<Vec<_>>() {
        match resume.await.unwrap() {
            Ok(_) => won += 1,
            Err(error) => assert_eq!(error.code(), Code::StaleContinuation),
        }
    }
    assert_eq!((won, counter.count()), (1, 1));
}

#[tokio::test]
async fn people_who_answer_different_calls_by_batch_do_not_collide() {
    let counter = Counter::default();
    let calls: Vec<(String, String)> = (0..8).map(|i| (format!("c{i}"), format!("ask_{i}"))).collect();
    let refs: Vec<(&str, &str, &str)> = calls.iter().map(|(id, tool)| (&**id, &**tool, "{}")).collect();
    let (builder, _) = asking(&refs);
    let builder = calls.iter().fold(builder, |builder, (_, tool)| builder.tool(echo(tool, &counter)));
    let agent = builder.build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let batch = paused.continuation().unwrap().batch_id();
    let answers = paused.pending_confirmations().into_iter().map(|question| {
        let (agent, batch) = (agent.clone(), batch.clone());
        let decisions = Decisions::new().allow(question.id.clone()).shown(question.digest).partial();
        tokio::spawn(async move { agent.resume(batch, decisions).await })
    });
    let mut finished = 0;
    for answer in answers.collect::<Vec<_>>() {
        finished += u32::from(answer.await.unwrap().unwrap().status() == Status::Finished);
    }
    assert_eq!((finished, counter.count()), (1, 8));
}

#[tokio::test]
async fn a_runner_has_the_same_six_entry_points_and_shows_what_is_pending() {
    use holdpoint::model::{ScriptedModel, ScriptedReply};
    let script = vec![ScriptedReply::call("c", "ask.pay", r#"{"amount": 5}"#), ScriptedReply::text("done")];
    let builder = holdpoint::Runner::builder().model(ScriptedModel::repeating(script)).policy(common::by_name());
    let builder = builder.tool(echo("ask_pay", &Counter::default())).with_tool_concurrency("defer_all", None);
    let runner = builder.build().unwrap();
    let paused = runner.run("pay").await.unwrap();
    let question = &paused.pending_confirmations()[0];
    assert_eq!((question.id.as_str(), question.name.as_str(), question.tool.as_str()), ("c", "ask.pay", "ask_pay"));
    assert_eq!(
        (question.arguments.expose(), question.reason.as_deref()),
        (r#"{"amount":5}"#, Some("a person must say yes"))
    );
    assert!(question.arguments_summary.contains("amount") && !question.arguments_summary.contains('5'));
    let denied: Decisions = paused.pending().iter().map(|call| (call.id.clone(), false)).collect();
    assert_eq!(runner.resume(&paused, denied).await.unwrap().records()[0].progress.as_str(), "refused");

    let paused = runner.run("pay").stream().result().await.unwrap();
    let far = runner.resume(&paused, [("c", true)]).stream().result().await.unwrap();
    let task = &far.pending_executions()[0];
    assert_eq!((task.id.as_str(), &*task.tool_source, task.attempt.0), ("c", "native", 1));
    let results: holdpoint::Results = [("c", ToolResult::success("paid"))].into_iter().collect();
    let done = runner.resume_with_tool_results(&far, results).await.unwrap();
    assert_eq!((done.text().as_deref(), done.model_calls(), done.tool_executions()), (Some("done"), 2, 1));

    let paused = runner.run("pay").await.unwrap();
    let far = runner.resume(&paused, [("c", true)]).await.unwrap();
    let stream = runner.resume_with_tool_results(&far, [("c", ToolResult::success("x"))]).stream();
    assert_eq!(stream.result().await.unwrap().text().as_deref(), Some("done"));
}

#[tokio::test]
async fn a_run_that_somebody_drives_has_no_reason_to_have_stopped() {
    let started = std::sync::Arc::new(tokio::sync::Notify::new());
    let notify = std::sync::Arc::clone(&started);
    let tool = holdpoint::tools::raw_tool("work", "Never ends", serde_json::json!({"type": "object"}), move |_| {
        notify.notify_one();
        std::future::pending::<String>()
    });
    let (builder, _) = asking(&[("c", "work", "{}")]);
    let agent = builder.tool(tool).build().unwrap();
    let id = holdpoint::RunId::new("run-1");
    let stream = agent.chat(holdpoint::RunRequest::new("go").with_run_id(id.clone())).stream();
    started.notified().await;
    let running = agent.runner().result(&id).await.unwrap();
    assert_eq!((running.status(), running.stop_reason()), (Status::Running, None));
    agent.runner().cancel(&id, holdpoint::Actor::default()).await.unwrap();
    assert_eq!(stream.result().await.unwrap().stop_reason(), Some(StopReason::Cancelled));
}
