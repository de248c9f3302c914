//! Rules about who asks and about the run so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdpoint_codec::ToolDefinition;
use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_core::{Actor, Arguments, Decision, RunId, ToolName, Turn};
use holdpoint_policy::{AuthorizeRequest, Guarded, PastCall, Policy, PolicyError, Rules, RunFacts, TIMEOUT_DEFAULT};
use serde_json::json;

fn rules(text: &str) -> Rules {
    Rules::parse(text, "policy.toml").unwrap()
}

fn arguments(tool: &str, text: &str) -> Arguments {
    arguments_for(tool, &parse_arguments(Some(text)).unwrap())
}

fn past(calls: &[(&str, &str)]) -> Vec<PastCall> {
    calls.iter().map(|(tool, text)| PastCall::new(ToolName::new(*tool), arguments(tool, text))).collect()
}

async fn ask(rules: &Rules, text: &str, context: &Context, run: &RunFacts) -> Result<&'static str, PolicyError> {
    let (tool, arguments) = (ToolName::new("pay"), arguments("pay", text));
    let request = AuthorizeRequest { tool: &tool, arguments: &arguments, context, run };
    Ok(match rules.authorize(&request).await? {
        Decision::Allow(_) => "allow",
        Decision::Deny(_) => "deny",
        Decision::Confirm(..) => "confirm",
    })
}

fn first_turn() -> RunFacts {
    RunFacts::new(RunId::new("r"), Turn(1))
}

async fn by(rules: &Rules, context: &Context) -> &'static str {
    ask(rules, "{}", context, &first_turn()).await.unwrap()
}

async fn after(rules: &Rules, calls: &[(&str, &str)], text: &str) -> Result<&'static str, PolicyError> {
    let calls = past(calls);
    ask(rules, text, &Context::new(), &first_turn().with_past(move || calls.clone())).await
}

fn actor(id: &str, tenant: &str, roles: &[&str]) -> Actor {
    Actor { id: Some(id.into()), tenant: Some(tenant.into()), roles: roles.iter().map(|role| (*role).into()).collect() }
}

#[tokio::test]
async fn rules_read_attributes_by_name_and_by_pointer() {
    let rules = rules(
        r#"
        [[rule]]
        tool = "pay"
        context = { user_id = 7, "/limits/daily" = { gte = 100 } }
        decide = "allow"
        "#,
    );
    let limits = json!({ "daily": 100 });
    assert_eq!(by(&rules, &Context::new().with("user_id", 7).with("limits", limits.clone())).await, "allow");
    assert_eq!(by(&rules, &Context::new().with("user_id", 7.0).with("limits", limits.clone())).await, "allow");
    assert_eq!(by(&rules, &Context::new().with("user_id", "7").with("limits", limits.clone())).await, "deny");
    assert_eq!(by(&rules, &Context::new().with("user_id", 7).with("limits", json!({ "daily": 99 }))).await, "deny");
    assert_eq!(by(&rules, &Context::new().with("limits", limits)).await, "deny");
}

#[tokio::test]
async fn rules_read_the_actor_and_not_an_attribute_of_the_same_name() {
    let rules = rules(
        r#"
        [[rule]]
        tool = "pay"
        context = { actor = "ana", tenant = { in = ["acme"] }, roles = { contains = "finance" } }
        decide = "allow"
        "#,
    );
    assert_eq!(by(&rules, &Context::new().by(actor("ana", "acme", &["finance", "x"]))).await, "allow");
    assert_eq!(by(&rules, &Context::new().by(actor("bob", "acme", &["finance"]))).await, "deny");
    assert_eq!(by(&rules, &Context::new().by(actor("ana", "other", &["finance"]))).await, "deny");
    assert_eq!(by(&rules, &Context::new().by(actor("ana", "acme", &[]))).await, "deny");
    let claimed = Context::new().with("actor", "ana").with("tenant", "acme").with("roles", json!(["finance"]));
    assert_eq!(by(&rules, &claimed).await, "deny");
    assert!(rules.check_context_keys([""; 0]).is_ok());
}

#[tokio::test]
async fn a_rule_may_hide_from_some() {
    let rules = rules(
        r#"
        [[rule]]
        tool = "admin_*"
        context = { roles = { contains = "admin" } }
        decide = "allow"
        [[rule]]
        tool = "admin_*"
        hide = true
        "#,
    );
    let tools = vec![Arc::new(ToolDefinition::new("admin_reset", "", json!({})))];
    let admin = Context::new().by(actor("ana", "acme", &["admin"]));
    assert_eq!(rules.filter(tools.clone(), &admin).await.unwrap().len(), 1);
    assert_eq!(rules.filter(tools, &Context::new()).await.unwrap().len(), 0);
}

const COUNTED: &str = r#"
    [[rule]]
    tool = "pay"
    history = { calls = { gte = 2 } }
    decide = "confirm"
    [[rule]]
    tool = "pay"
    decide = "allow"
"#;

#[tokio::test]
async fn earlier_calls_of_the_same_tool_are_counted() {
    let rules = rules(COUNTED);
    assert!(rules.needs_history());
    assert_eq!(after(&rules, &[], "{}").await.unwrap(), "allow");
    assert_eq!(after(&rules, &[("pay", "{}"), ("read", "{}")], "{}").await.unwrap(), "allow");
    assert_eq!(after(&rules, &[("pay", "{}"), ("pay", "{}")], "{}").await.unwrap(), "confirm");
}

const SUMMED: &str = r#"
    [[rule]]
    tool = "pay"
    history = { sum = { "/amount" = { gt = 1000 } } }
    decide = "confirm"
    [[rule]]
    tool = "pay"
    decide = "allow"
"#;

#[tokio::test]
async fn the_sum_has_this_call_in_it_and_is_exact() {
    let rules = rules(SUMMED);
    let earlier = [("pay", r#"{"amount":999.7}"#), ("read", r#"{"amount":5000}"#), ("pay", "{}")];
    assert_eq!(after(&rules, &earlier, r#"{"amount":0.3}"#).await.unwrap(), "allow");
    assert_eq!(after(&rules, &earlier, r#"{"amount":0.30000000001}"#).await.unwrap(), "confirm");
    assert_eq!(after(&rules, &earlier, r#"{"amount":null}"#).await.unwrap(), "allow");
    assert_eq!(after(&rules, &[], r#"{"amount":1001}"#).await.unwrap(), "confirm");
    let dimes = vec![("pay", r#"{"amount":0.1}"#); 10_000];
    assert_eq!(after(&rules, &dimes, "{}").await.unwrap(), "allow");
    assert_eq!(after(&rules, &dimes, r#"{"amount":0.1}"#).await.unwrap(), "confirm");
}

#[tokio::test]
async fn what_cannot_be_added_up_is_denied() {
    let rules = rules(SUMMED);
    for text in [r#"{"amount":"2000"}"#, r#"{"amount":[2000]}"#, r#"{"amount":true}"#] {
        let error = after(&rules, &[], text).await.unwrap_err();
        assert_eq!(error.to_string(), "a rule sums `/amount`, where a call has no number");
    }
    assert!(after(&rules, &[("pay", r#"{"amount":"x"}"#)], r#"{"amount":1}"#).await.is_err());
    let long = format!("{{\"amount\":{}}}", "9".repeat(5_000));
    assert!(after(&rules, &[("pay", &long)], r#"{"amount":1}"#).await.unwrap_err().to_string().contains("digits"));
}

#[tokio::test]
async fn a_rule_on_the_history_denies_where_nobody_knows_it() {
    let guarded = Guarded::new(Some(Arc::new(rules(COUNTED))), TIMEOUT_DEFAULT);
    assert!(guarded.needs_history());
    let (tool, arguments, run) = (ToolName::new("pay"), arguments("pay", "{}"), first_turn());
    let request = AuthorizeRequest { tool: &tool, arguments: &arguments, context: &Context::new(), run: &run };
    let (decision, fault) = guarded.authorize(&request).await;
    assert!(matches!(decision, Decision::Deny(_)) && fault.is_some());
}

#[tokio::test]
async fn the_past_is_recalled_once_and_only_if_a_rule_asks() {
    let recalls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&recalls);
    let run = first_turn().with_past(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Vec::new()
    });
    let plain = rules("[[rule]]\ntool = \"pay\"\ndecide = \"allow\"");
    assert!(!plain.needs_history());
    ask(&plain, "{}", &Context::new(), &run).await.unwrap();
    assert_eq!(recalls.load(Ordering::Relaxed), 0);
    for _ in 0..3 {
        ask(&rules(COUNTED), "{}", &Context::new(), &run.clone()).await.unwrap();
    }
    assert_eq!(recalls.load(Ordering::Relaxed), 1);
    assert!(!format!("{run:?}").contains("amount"));
}

#[test]
fn examples_have_a_context_and_a_past() {
    let text = r#"
        [[rule]]
        tool = "pay"
        context = { actor = "ana", roles = { contains = "finance" }, user_id = { gt = 5 } }
        history = { calls = { lt = 2 }, sum = { "/amount" = { lte = 10 } } }
        decide = "allow"
        [[rule.example]]
        arguments = { amount = 3 }
        context = { actor = "ana", roles = ["finance"], user_id = 6 }
        past = [{ amount = 7 }]
        decides = "allow"
        [[rule.example]]
        arguments = { amount = 3.1 }
        context = { actor = "ana", roles = ["finance"], user_id = 6 }
        past = [{ amount = 7 }]
        decides = "deny"
        [[rule.example]]
        context = { actor = "bob", roles = ["finance"], "/user_id" = 6 }
        decides = "deny"
    "#;
    assert_eq!(Rules::parse(text, "p").map(|rules| rules.len()).map_err(|error| error.to_string()), Ok(1));
    let wrong = text.replace(r#"roles = ["finance"], user_id = 6"#, r#"roles = "finance", user_id = 6"#);
    let error = Rules::parse(&wrong, "p").unwrap_err();
    assert_eq!(error.to_string(), "p:9:44: `rule[0].example[0].context.roles` must be a list of strings");
}
