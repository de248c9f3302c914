//! An agent whose model follows a script and whose tool does nothing.

use std::sync::Arc;

use holdpoint::{Agent, AgentBuilder};
use holdpoint_model::{ModelCall, ModelReply, ScriptedModel, ScriptedReply};
use holdpoint_policy::{AllowAll, policy_fn};
use holdpoint_tools::raw_tool;

/// What the policy of a bench says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Says {
    Allow,
    Confirm,
}

/// One turn with so many calls, then a final text; again and again.
pub(crate) fn agent(calls: usize, says: Says) -> anyhow::Result<Agent> {
    agent_of(1, calls, says)
}

/// So many turns with so many calls each, then a final text; again and again.
pub(crate) fn agent_of(turns: usize, calls: usize, says: Says) -> anyhow::Result<Agent> {
    Ok(builder_of(turns, calls, says)?.build()?)
}

/// The same without a store yet.
pub(crate) fn builder_of(turns: usize, calls: usize, says: Says) -> anyhow::Result<AgentBuilder> {
    let call = |index: usize| ModelCall {
        id: Some(format!("call_{index}").into()),
        name: "work".into(),
        arguments: Some(format!("{{\"i\":{index}}}").into()),
    };
    let asks = ModelReply { calls: (0..calls).map(call).collect(), ..ModelReply::default() };
    // A run that waits for a person takes one reply, the others two.
    let script = match says {
        Says::Allow if calls == 0 => vec![ScriptedReply::text("done")],
        Says::Allow => {
            let asking = std::iter::repeat_n(ScriptedReply::Say(asks), turns);
            asking.chain([ScriptedReply::text("done")]).collect()
        }
        Says::Confirm => vec![ScriptedReply::Say(asks)],
    };
    let schema = serde_json::json!({"type": "object", "properties": {"i": {"type": "integer"}}});
    let builder = Agent::builder()
        .max_turns(u32::try_from(turns + 1)?)
        .model(ScriptedModel::repeating(script))
        .tool(raw_tool("work", "Does nothing", schema, async |_| "ok"));
    Ok(match says {
        Says::Allow => builder.policy(AllowAll),
        Says::Confirm => builder.policy(policy_fn(|_| holdpoint::Decision::confirm("a person must say yes"))),
    })
}

/// A history of messages of about so many bytes each.
pub(crate) fn history(messages: usize, bytes: usize) -> Vec<Arc<holdpoint::Message>> {
    let text = "lorem ipsum dolor sit amet ".repeat(bytes / 27 + 1);
    let text = &text[..bytes];
    let message = |index: usize| match index % 2 {
        0 => holdpoint::Message::user(text),
        _ => holdpoint::Message::assistant(text),
    };
    (0..messages).map(|index| Arc::new(message(index))).collect()
}

/// Prints one line of results.
pub(crate) fn print(line: &serde_json::Value) {
    println!("{line}");
}
