//! An agent whose model decides from the conversation alone, so that any number of its runs may go on at once.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint::{Agent, AgentBuilder, Decision, Message};
use holdpoint_model::{DeltaSink, Model, ModelCall, ModelError, ModelReply, ModelRequest};
use holdpoint_policy::{AllowAll, policy_fn};
use holdpoint_store::Store;
use holdpoint_tools::raw_tool;
use serde_json::{Value, json};

use crate::parts::Says;

/// What runs of an agent look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Turns with one call each; then comes a final text.
    pub(crate) turns: usize,
    /// The bytes of a result.
    pub(crate) result_bytes: usize,
    /// Tools that are there beside the one that is called.
    pub(crate) more_tools: usize,
    /// The bytes of the schema of each of those.
    pub(crate) schema_bytes: usize,
}

impl Shape {
    /// Short results, one tool.
    pub(crate) fn of(turns: usize) -> Self {
        Self { turns, result_bytes: 2, more_tools: 0, schema_bytes: 0 }
    }
}

/// Asks for the next call until there were enough.
struct Turns(usize);

#[async_trait]
impl Model for Turns {
    async fn reply(&self, request: &ModelRequest<'_>, _: &dyn DeltaSink) -> Result<Option<ModelReply>, ModelError> {
        let done = request.messages.iter().filter(|message| matches!(***message, Message::Tool(_))).count();
        if done >= self.0 {
            return Ok(Some(ModelReply { text: format!("done after {done}").into(), ..ModelReply::default() }));
        }
        let call = ModelCall {
            id: Some(format!("call_{done}").into()),
            name: "work".into(),
            arguments: Some(format!("{{\"i\":{done},\"ms\":0}}").into()),
        };
        Ok(Some(ModelReply { calls: vec![call], ..ModelReply::default() }))
    }
}

/// An agent on a store.
pub(crate) fn agent(shape: Shape, says: Says, store: Store) -> anyhow::Result<Agent> {
    Ok(builder(shape, says)?.store(store).build()?)
}

/// An agent that has no store yet.
pub(crate) fn builder(shape: Shape, says: Says) -> anyhow::Result<AgentBuilder> {
    let text: Arc<str> = "result ".repeat(shape.result_bytes / 7 + 1)[..shape.result_bytes].into();
    let work = raw_tool("work", "do work", work_schema(), move |_| std::future::ready(text.to_string()));
    let mut builder =
        Agent::builder().name("bench").max_turns(u32::try_from(shape.turns + 1)?).model(Turns(shape.turns)).tool(work);
    for tool in 0..shape.more_tools {
        let schema = large_schema(tool, shape.schema_bytes);
        builder = builder.tool(raw_tool(format!("other_{tool}"), "is never called", schema, async |_| "ok"));
    }
    Ok(match says {
        Says::Allow => builder.policy(AllowAll),
        Says::Confirm => builder.policy(policy_fn(|_| Decision::confirm("a person must say yes"))),
    })
}

fn work_schema() -> Value {
    let integer = json!({"type": "integer"});
    json!({"type": "object", "properties": {"i": integer, "ms": integer}, "required": ["i", "ms"]})
}

/// A schema of about so many bytes.
fn large_schema(tool: usize, bytes: usize) -> Value {
    let about = format!("What the field number of tool {tool} means, ").repeat(3);
    let field = json!({"type": "string", "description": about});
    let fields = bytes / (field.to_string().len() + 12);
    let properties: serde_json::Map<String, Value> =
        (0..fields).map(|index| (format!("field_{index}"), field.clone())).collect();
    json!({"type": "object", "properties": properties})
}
