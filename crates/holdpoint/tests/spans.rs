//! A run as spans: operators see where time went.
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

// One test only: a subscriber of one thread does not hear call sites that another thread saw first.
#[path = "behaviour/common.rs"]
mod common;

use common::{Counter, asking, echo};

#[tokio::test]
async fn runs_turns_model_calls_and_executions_are_spans_within_each_other() {
    let traced = common::Traced::default();
    let listening = traced.listen();
    let (builder, _) = asking(&[("a", "work", "{}")]);
    let agent = builder.name("support").tool(echo("work", &Counter::default())).build().unwrap();
    agent.chat("go").await.unwrap();
    drop(listening);
    let text = traced.text();
    let entered = |spans: &[&str]| {
        text.lines().any(|line| {
            let mut rest = line;
            spans.iter().all(|span| rest.split_once(span).map(|(_, after)| rest = after).is_some())
        })
    };
    assert!(
        entered(&[
            "holdpoint.run{",
            "invoke_agent",
            "support",
            "holdpoint.turn{",
            "turn_number=1",
            "holdpoint.llm.call{"
        ]),
        "{text}"
    );
    assert!(
        entered(&["holdpoint.run{", "holdpoint.turn{", "turn_number=1", "holdpoint.tool.execute{", "execute_tool"]),
        "{text}"
    );
    assert!(entered(&["holdpoint.turn{", "turn_number=2"]), "{text}");
    assert!(text.contains("gen_ai.usage.input_tokens"), "{text}");
}
