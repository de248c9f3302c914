//! What the tests of the entry points share: a scripted agent with tools that count.
#![allow(dead_code)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::{Policy, policy_fn};
use holdpoint::tools::{MadeTool, ToolCall, raw_tool};
use holdpoint::{Agent, AgentBuilder, Decision, RunResult};
use serde_json::json;

/// Counts executions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter(Arc<AtomicU32>);

impl Counter {
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A tool that counts and answers with its arguments.
pub(crate) fn echo(name: &str, counter: &Counter) -> MadeTool {
    let counter = counter.clone();
    raw_tool(name, "Gives its arguments back", json!({"type": "object"}), move |call: ToolCall| {
        counter.add();
        async move { call.arguments().expose().to_owned() }
    })
}

/// Asks a person about tools whose name starts with `ask`, denies `deny…`, allows the others.
pub(crate) fn by_name() -> impl Policy {
    policy_fn(|request| match request.tool.as_str() {
        name if name.starts_with("ask") => Decision::confirm("a person must say yes"),
        name if name.starts_with("deny") => Decision::deny("never"),
        _ => Decision::allow(),
    })
}

/// An agent that asks for these calls and then says `done`.
pub(crate) fn asking(calls: &[(&str, &str, &str)]) -> (AgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new(vec![ScriptedReply::calls(calls), ScriptedReply::text("done")]);
    (Agent::builder().model(model.clone()).policy(by_name()), model)
}

/// The roles and texts of messages, one line each.
pub(crate) fn lines(result: &RunResult) -> Vec<String> {
    let line = |message: &Arc<holdpoint::Message>| format!("{:?}: {}", message.role(), message.text()).to_lowercase();
    result.new_messages().iter().map(line).collect()
}
