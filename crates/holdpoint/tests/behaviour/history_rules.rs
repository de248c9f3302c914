//! Rules about what a run did so far, driven for real: turns, siblings, edits, workers, shadows and versions.

use crate::common;

use common::{Counter, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::{Policy, Rules, RulesFile};
use holdpoint::{Agent, AgentBuilder, Decisions, Outcome, RunResult, Status};
use holdpoint_core::Progress;
use holdpoint_store::{MemoryStore, Scope, Store};
use serde_json::{Value, json};

const SUM: &str = r#"
    [[rule]]
    tool = "refund"
    history = { sum = { "/amount" = { gt = 100 } } }
    decide = "deny"
    reason = "more than 100 in one run"

    [[rule]]
    tool = "refund"
    when = { "/amount" = { gte = 60 } }
    decide = "confirm"

    [[rule]]
    tool = "*"
    decide = "allow"
"#;

fn agent(rules: impl Policy + 'static, replies: Vec<ScriptedReply>, counter: &Counter) -> AgentBuilder {
    Agent::builder().model(ScriptedModel::new(replies)).policy(rules).tool(echo("refund", counter))
}

fn outcomes(result: &RunResult) -> Vec<Option<Outcome>> {
    let outcome = |progress| match progress {
        Progress::Settled(outcome) => Some(outcome),
        Progress::Pending | Progress::Uncertain => None,
    };
    result.records().iter().map(|record| outcome(record.progress)).collect()
}

fn refund(id: &'static str, arguments: &'static str) -> ScriptedReply {
    ScriptedReply::calls(&[(id, "refund", arguments)])
}

#[tokio::test]
async fn a_sum_counts_what_ran_in_earlier_turns_and_not_what_was_denied() {
    let counter = Counter::default();
    let replies = vec![
        refund("a", r#"{"amount":50}"#),
        refund("b", r#"{"amount":55}"#),
        refund("c", r#"{"amount":50}"#),
        ScriptedReply::text("done"),
    ];
    let agent = agent(Rules::parse(SUM, "policy.toml").unwrap(), replies, &counter).build().unwrap();
    let done = agent.chat("go").await.unwrap();
    let (ran, denied) = (Some(Outcome::Succeeded), Some(Outcome::Denied));
    assert_eq!((outcomes(&done), counter.count()), (vec![ran, denied, ran], 2));
}

#[tokio::test]
async fn a_sum_counts_earlier_calls_of_the_same_turn_even_while_they_wait() {
    let counter = Counter::default();
    let calls: &[(&str, &str, &str)] = &[
        ("a", "refund", r#"{"amount":70}"#),
        ("b", "refund", r#"{"amount":40}"#),
        ("c", "refund", r#"{"amount":30}"#),
    ];
    let replies = vec![ScriptedReply::calls(calls), ScriptedReply::text("done")];
    let agent = agent(Rules::parse(SUM, "policy.toml").unwrap(), replies, &counter).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    assert_eq!(outcomes(&paused), [None, Some(Outcome::Denied), None], "40 on top of 70 is too much, 30 is not");
    let done = agent.resume(&paused, Decisions::new().allow("a")).await.unwrap();
    assert_eq!((done.status(), counter.count()), (Status::Finished, 2));
}

#[tokio::test]
async fn a_sum_counts_what_a_person_made_of_the_arguments() {
    let counter = Counter::default();
    let replies = vec![refund("a", r#"{"amount":60}"#), refund("b", r#"{"amount":55}"#), ScriptedReply::text("done")];
    let agent = agent(Rules::parse(SUM, "policy.toml").unwrap(), replies, &counter).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let less = Decisions::new().allow_edited("a", &json!({"amount": 10}));
    let done = agent.resume(&paused, less).await.unwrap();
    assert_eq!(outcomes(&done), [Some(Outcome::Succeeded), Some(Outcome::Succeeded)], "10 and 55 ran");
}

#[tokio::test]
async fn an_edit_above_the_sum_is_denied() {
    let counter = Counter::default();
    let replies = vec![refund("a", r#"{"amount":50}"#), refund("b", r#"{"amount":60}"#), ScriptedReply::text("done")];
    let rules = SUM.replace("gt = 100", "gt = 120");
    let agent = agent(Rules::parse(&rules, "policy.toml").unwrap(), replies, &counter).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let more = Decisions::new().allow_edited("b", &json!({"amount": 90}));
    let done = agent.resume(&paused, more).await.unwrap();
    assert_eq!(outcomes(&done), [Some(Outcome::Succeeded), Some(Outcome::Denied)]);
}

#[tokio::test]
async fn a_policy_that_names_what_is_not_there_does_not_build() {
    let counter = Counter::default();
    let unknown = "[[rule]]\ntool = \"refnud\"\ndecide = \"allow\"\n";
    let refused = agent(Rules::parse(unknown, "policy.toml").unwrap(), Vec::new(), &counter).build().unwrap_err();
    assert!(refused.to_string().contains("refund"), "{refused}");
    let unkept = "[[rule]]\ntool = \"refund\"\ncontext = { plan = \"gold\" }\ndecide = \"allow\"\n";
    let refused = agent(Rules::parse(unkept, "policy.toml").unwrap(), Vec::new(), &counter).build().unwrap_err();
    assert!(refused.to_string().contains("plan"), "{refused}");
}

#[tokio::test]
async fn what_a_tried_policy_would_decide_and_which_policy_decided_is_in_the_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("now.toml", "[[rule]]\ntool = \"*\"\ndecide = \"allow\"\n");
    write(
        "new.toml",
        "mode = \"log_only\"\nbeside = \"now.toml\"\n[[rule]]\nname = \"no money\"\ntool = \"refund\"\ndecide = \"deny\"\n",
    );
    let rules = RulesFile::load(folder.path().join("new.toml")).unwrap();
    let version = Policy::version(&rules).unwrap();
    let store = Store::from(MemoryStore::new());
    let counter = Counter::default();
    let replies = vec![refund("a", "{}"), ScriptedReply::text("done")];
    let agent = agent(rules, replies, &counter).store(store.clone()).build().unwrap();
    let done = agent.chat("go").await.unwrap();
    assert_eq!(counter.count(), 1, "what is only tried stops nothing");
    let rows = store.audit.rows(&Scope::All, done.run_id()).await.unwrap();
    let rows: Vec<Value> = rows.iter().map(|row| serde_json::from_slice(&row.body).unwrap()).collect();
    let decided = rows.iter().flat_map(|row| row["entries"].as_array().unwrap());
    let decided = decided.filter(|entry| entry["event"] == "call_decided").collect::<Vec<_>>();
    assert_eq!(decided[0]["decision"], "allow");
    assert_eq!(decided[0]["policy_version"], version.as_str());
    assert_eq!(
        (&decided[0]["shadow"]["decision"], &decided[0]["shadow"]["rule"]),
        (&json!("deny"), &json!("no money"))
    );
}
