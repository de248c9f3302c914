//! The sample agent: no key, no network, a run, a question and a result within a minute.

use std::sync::Arc;

use holdpoint::Agent;
use holdpoint_config::ConfigError;
use holdpoint_model::ScriptedReply;
use holdpoint_policy::{Rules, RulesFile};
use holdpoint_tools::{Tool, ToolCall, ToolDefinition, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::assemble::{Ready, Shared};
use crate::config::Script;

/// The policy of the sample: reading is free, money needs a person.
const POLICY: &str = r#"
[[rule]]
tool = "find_order"
decide = "allow"

[[rule]]
tool = "refund"
when = { "/amount" = { gt = 100 } }
decide = "confirm"
reason = "refund above 100"
[[rule.example]]
arguments = { order = "A-42", amount = 180 }
decides = "confirm"

[[rule]]
tool = "refund"
decide = "allow"
"#;

/// The sample agent's name, as its runs carry it.
pub(crate) const NAME: &str = "sample";
/// What a customer might say to it.
pub(crate) const INPUT: &str = "My kettle from order A-42 arrived broken. I want my money back.";

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The order's number.
    order: String,
}

#[derive(Deserialize, JsonSchema)]
struct Refund {
    /// The order's number.
    order: String,
    /// What to pay back.
    amount: u32,
}

/// The sample agent, with its runs in this store.
pub(crate) fn ready(shared: &Shared) -> Result<Ready, ConfigError> {
    build(shared).map_err(|error| ConfigError::of_file("the sample agent", format_args!("cannot be built: {error:#}")))
}

fn build(shared: &Shared) -> anyhow::Result<Ready> {
    let rules = Arc::new(RulesFile::from(Rules::parse(POLICY, "the sample's policy")?));
    let tools = tools();
    let definitions = tools.iter().map(|tool| Arc::new(ToolDefinition::clone(tool.definition()))).collect();
    let mut builder = Agent::builder()
        .name(NAME)
        .system_prompt("You help customers with their orders.")
        .model(script())
        .tools(tools)
        .shared_policy(Some(Arc::clone(&rules) as _))
        .store(shared.store.clone());
    if let Some(key) = &shared.receipt_key {
        builder = builder.receipt_key(key.clone());
    }
    let description = "Looks orders up, and pays back; above 100 only if a person says so. Its model is scripted.";
    Ok(Ready {
        name: NAME.to_owned(),
        description: Some(description.to_owned()),
        agent: builder.build()?,
        rules: Some(rules),
        tools: definitions,
        withheld: Vec::new(),
    })
}

fn script() -> Script {
    let replies = vec![
        ScriptedReply::call("look", "find_order", r#"{"order": "A-42"}"#).costing(210, 18),
        ScriptedReply::call("pay", "refund", r#"{"order": "A-42", "amount": 180}"#).costing(260, 21),
        ScriptedReply::text("I have looked into order A-42 and told you what happened.").costing(310, 24),
    ];
    Script::new("scripted:sample", replies)
}

fn tools() -> Vec<Arc<dyn Tool>> {
    let find = tool("find_order", "Looks an order up", async |order: Order| {
        format!("order {}: 1 kettle, 180, delivered broken", order.order)
    });
    let refund = tool("refund", "Pays money back", async |refund: Refund, call: ToolCall| {
        let key = &call.idempotency_key().as_str()[..8];
        format!("paid {} back for {} (receipt {key})", refund.amount, refund.order)
    });
    vec![Arc::new(find), Arc::new(refund)]
}
