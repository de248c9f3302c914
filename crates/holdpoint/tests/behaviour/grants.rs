//! Grants: what a person said once counts again, as that person's answer and as no more.

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{Counter, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::policy_fn;
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{
    Actor, Agent, AgentBuilder, Code, Decision, Decisions, RememberRequest, RunRequest, RunResult, Status,
};
use holdpoint_core::{FourEyes, Ground, Terms, Timestamp};
use holdpoint_store::{GrantFilter, MemoryStore, Scope, Store};
use serde_json::{Value, json};

const HOUR_MS: u64 = 3_600_000;

fn person(id: &str, roles: &[&str]) -> Actor {
    let roles: BTreeSet<Arc<str>> = roles.iter().map(|role| (*role).into()).collect();
    Actor { id: Some(id.into()), roles, tenant: None }
}

fn of_tenant(id: &str, tenant: &str) -> Actor {
    Actor { tenant: Some(tenant.into()), ..person(id, &[]) }
}

/// One store, and agents whose model asks for `refund` again and again.
struct World {
    store: Store,
    counter: Counter,
    terms: Terms,
}

impl World {
    fn new(terms: Terms) -> Self {
        Self { store: Store::from(MemoryStore::new()), counter: Counter::default(), terms }
    }

    fn builder(&self, arguments: &str) -> AgentBuilder {
        let calls: &[(&str, &str, &str)] = &[("tc", "refund", arguments)];
        let model = ScriptedModel::new(vec![ScriptedReply::calls(calls), ScriptedReply::text("done")]);
        let terms = self.terms.clone();
        let policy = policy_fn(move |request| match request.arguments.expose() {
            text if text.contains("forbidden") => Decision::deny("never"),
            _ => Decision::Confirm(Ground::reason("money leaves"), terms.clone()),
        });
        Agent::builder().model(model).policy(policy).store(self.store.clone())
    }

    fn agent(&self, arguments: &str) -> Agent {
        self.builder(arguments).tool(echo("refund", &self.counter)).build().unwrap()
    }

    /// A run that asks for `refund` with these arguments.
    async fn run(&self, arguments: &str, request: RunRequest) -> RunResult {
        self.agent(arguments).runner().run(request).await.unwrap()
    }

    /// The same, approved by a person who wants that to be remembered.
    async fn remembered(
        &self,
        arguments: &str,
        request: RunRequest,
        actor: Actor,
        remember: RememberRequest,
    ) -> RunResult {
        let agent = self.agent(arguments);
        let paused = agent.runner().run(request).await.unwrap();
        agent.resume(&paused, Decisions::new().allow("tc").remember(remember).by(actor)).await.unwrap()
    }
}

fn asked(result: &RunResult) -> bool {
    result.status() == Status::AwaitingToolConfirmation
}

fn in_session(session: &str) -> RunRequest {
    RunRequest::new("go").in_session(session)
}

#[tokio::test]
async fn a_grant_for_these_arguments_answers_for_them_in_its_session_and_for_nothing_else() {
    let world = World::new(Terms::default());
    let remember = RememberRequest::new().in_session();
    let first = world.remembered(r#"{"amount":5}"#, in_session("s1"), person("ana", &[]), remember).await;
    assert_eq!((first.status(), world.counter.count()), (Status::Finished, 1));

    let same = world.run(r#"{ "amount" : 5.0 }"#, in_session("s1")).await;
    assert_eq!((same.status(), world.counter.count()), (Status::Finished, 2), "the same arguments, written otherwise");
    assert!(asked(&world.run(r#"{"amount":6}"#, in_session("s1")).await), "other arguments");
    assert!(asked(&world.run(r#"{"amount":5}"#, in_session("s2")).await), "another session");
    assert!(asked(&world.run(r#"{"amount":5}"#, RunRequest::new("go")).await), "no session");
    assert_eq!(world.counter.count(), 2);
}

#[tokio::test]
async fn a_session_object_carries_its_name_into_its_runs() {
    let world = World::new(Terms::default());
    let agent = world.agent(r#"{"amount":5}"#);
    let session = agent.session();
    let paused = session.chat("go").await.unwrap();
    let remember = RememberRequest::new().in_session();
    session.resume(&paused, Decisions::new().allow("tc").remember(remember).by("ana")).await.unwrap();
    let again = world.run(r#"{"amount":5}"#, in_session(session.id())).await;
    assert_eq!((again.status(), world.counter.count()), (Status::Finished, 2));
}

#[tokio::test]
async fn a_grant_for_any_arguments_of_a_tenant_reaches_all_its_runs_and_nobody_elses() {
    let world = World::new(Terms::default());
    let remember = RememberRequest::new().any_arguments().in_tenant();
    let acme = || RunRequest::new("go").by(of_tenant("kim", "acme"));
    world.remembered(r#"{"amount":5}"#, acme(), of_tenant("ana", "acme"), remember).await;
    assert_eq!(world.run(r#"{"amount":99}"#, acme()).await.status(), Status::Finished);
    assert!(asked(&world.run(r#"{"amount":5}"#, RunRequest::new("go").by(of_tenant("kim", "other"))).await));
    assert!(asked(&world.run(r#"{"amount":5}"#, RunRequest::new("go")).await));
    assert_eq!(world.counter.count(), 2);
}

#[tokio::test]
async fn a_grant_never_lets_anything_run_that_policy_denies() {
    let world = World::new(Terms::default());
    let remember = RememberRequest::new().any_arguments().in_tenant();
    world.remembered(r#"{"amount":5}"#, RunRequest::new("go"), person("ana", &[]), remember).await;
    let denied = world.run(r#"{"amount":5,"to":"forbidden"}"#, RunRequest::new("go")).await;
    assert_eq!((denied.status(), world.counter.count()), (Status::Finished, 1));
}

#[tokio::test]
async fn a_grant_is_one_voice_of_a_quorum() {
    let world = World::new(Terms { quorum: 2, ..Terms::default() });
    let remember = || RememberRequest::new().in_tenant();
    let arguments = r#"{"amount":5}"#;
    let first = world.remembered(arguments, RunRequest::new("go"), person("ana", &[]), remember()).await;
    assert!(asked(&first), "one of two");

    let agent = world.agent(arguments);
    let second = agent.chat("go").await.unwrap();
    let pending = &second.pending_confirmations()[0];
    assert_eq!(pending.approvals().map(|actor| actor.id.as_deref()).collect::<Vec<_>>(), [Some("ana")]);
    // Ana herself adds nothing to it.
    let ana = Decisions::new().allow("tc").by("ana").partial();
    assert!(asked(&agent.resume(&second, ana).await.unwrap()));
    let bob = Decisions::new().allow("tc").remember(remember()).by("bob");
    assert_eq!(agent.resume(&second, bob).await.unwrap().status(), Status::Finished);

    assert_eq!(world.run(arguments, RunRequest::new("go")).await.status(), Status::Finished, "both stand");
    assert_eq!(world.counter.count(), 2);
}

#[tokio::test]
async fn whoever_gave_a_grant_may_still_say_no_to_one_call() {
    let world = World::new(Terms { quorum: 2, ..Terms::default() });
    let arguments = r#"{"amount":5}"#;
    let remember = RememberRequest::new().in_tenant();
    world.remembered(arguments, RunRequest::new("go"), person("ana", &[]), remember).await;
    let agent = world.agent(arguments);
    let second = agent.chat("go").await.unwrap();
    assert_eq!(second.pending_confirmations()[0].approvals().count(), 1, "her grant counts");
    let done = agent.resume(&second, Decisions::new().deny("tc", "not this one").by("ana")).await.unwrap();
    assert_eq!((done.status(), world.counter.count()), (Status::Finished, 0));
}

#[tokio::test]
async fn a_grant_needs_the_role_that_the_rule_asks_for_and_four_eyes() {
    let finance = Terms { approvers: ["finance".into()].into(), ..Terms::default() };
    let mut world = World::new(Terms::default());
    let remember = RememberRequest::new().in_tenant();
    let arguments = r#"{"amount":5}"#;
    world.remembered(arguments, RunRequest::new("go"), person("ana", &["support"]), remember).await;
    world.terms = finance;
    assert!(asked(&world.run(arguments, RunRequest::new("go")).await), "ana is not of finance");
    world.terms = Terms { four_eyes: FourEyes::On, ..Terms::default() };
    let by_ana = RunRequest::new("go").by(person("ana", &[]));
    assert!(asked(&world.run(arguments, by_ana).await), "ana may not answer her own run");
    let by_bob = RunRequest::new("go").by(person("bob", &[]));
    assert_eq!(world.run(arguments, by_bob).await.status(), Status::Finished);
}

#[tokio::test]
async fn grants_are_listed_and_taken_back_and_the_run_remembers_who_did_it() {
    let world = World::new(Terms::default());
    let arguments = r#"{"amount":5}"#;
    let remember = RememberRequest::new().in_tenant().for_ms(HOUR_MS);
    let given = world.remembered(arguments, RunRequest::new("go"), person("ana", &[]), remember).await;
    let agent = world.agent(arguments);
    let runner = agent.runner();

    let listed = runner.grants(&GrantFilter::default()).await.unwrap().grants;
    let grant = &listed[0].grant;
    assert_eq!((listed.len(), grant.actor.id.as_deref(), grant.tool.as_str()), (1, Some("ana"), "refund"));
    let now = world.store.runs.now();
    assert!(listed[0].is_valid(now) && !listed[0].is_valid(now.plus_ms(2 * HOUR_MS)));

    assert!(runner.revoke_grant(None, &grant.id, &person("eve", &[])).await.unwrap());
    assert!(!runner.revoke_grant(None, &grant.id, &person("eve", &[])).await.unwrap(), "once");
    assert!(asked(&world.run(arguments, RunRequest::new("go")).await));
    assert_eq!(world.counter.count(), 1);

    let events = runner.events(given.run_id(), holdpoint_core::Revision(0)).await.unwrap();
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["actor"]["id"]), (&json!("grant_revoked"), &json!("eve")));
    let audit = world.store.audit.rows(&Scope::All, given.run_id()).await.unwrap();
    let told: Vec<Value> = audit.iter().map(|row| serde_json::from_slice(&row.body).unwrap()).collect();
    let entries = told.iter().flat_map(|row| row["entries"].as_array().unwrap());
    let about: Vec<&str> = entries
        .filter(|entry| entry["grant_id"] == grant.id.as_str())
        .map(|entry| entry["event"].as_str().unwrap())
        .collect();
    assert_eq!(about, ["grant_given", "grant_revoked"]);
}

#[tokio::test]
async fn a_grant_that_is_over_answers_nothing() {
    let world = World::new(Terms::default());
    let arguments = r#"{"amount":5}"#;
    let agent = world.agent(arguments);
    let paused = agent.chat("go").await.unwrap();
    let past = RememberRequest::new().in_tenant().until(Timestamp(1));
    let refused = agent.resume(&paused, Decisions::new().allow("tc").remember(past).by("ana")).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidDecision);
    assert_eq!(world.counter.count(), 0, "nothing is half done");
    let nowhere = RememberRequest::new().in_session();
    let refused = agent.resume(&paused, Decisions::new().allow("tc").remember(nowhere).by("ana")).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidDecision, "the run belongs to no session");
    let deny = Decisions::new().deny("tc", "no").remember(RememberRequest::new()).by("ana");
    assert_eq!(agent.resume(&paused, deny).await.unwrap_err().code(), Code::InvalidDecision);
}

#[tokio::test]
async fn a_grant_dies_with_the_schema_of_its_tool() {
    let world = World::new(Terms::default());
    let arguments = r#"{"amount":5}"#;
    let remember = RememberRequest::new().any_arguments().in_tenant();
    world.remembered(arguments, RunRequest::new("go"), person("ana", &[]), remember).await;
    let schema = json!({"type": "object", "properties": {"amount": {"type": "number"}}});
    let changed = raw_tool("refund", "Gives its arguments back", schema, async |_: ToolCall| "ran".to_owned());
    let agent = world.builder(arguments).tool(changed).build().unwrap();
    assert!(asked(&agent.chat("go").await.unwrap()));
}

#[tokio::test]
async fn what_is_to_be_remembered_is_read_from_json() {
    let read = |value: Value| Decisions::from_json(&json!({ "tc": value }));
    for good in [
        json!({"allow": {"remember": true}}),
        json!({"allow": {"remember": {"scope": "session", "arguments": "any", "expires_in": "8h"}}}),
        json!({"allow": {"arguments": {"a": 1}, "remember": {"scope": "tenant", "until": "2099-01-01T00:00:00Z"}}}),
    ] {
        assert!(read(good.clone()).is_ok(), "{good}");
    }
    for bad in [
        json!({"allow": {}}),
        json!({"allow": {"remember": "yes"}}),
        json!({"allow": {"remember": {"scope": "world"}}}),
        json!({"allow": {"remember": {"until": "2099-01-01T00:00:00Z", "expires_in": "8h"}}}),
        json!({"allow": {"remember": {"expires_in": "8 hours"}}}),
        json!({"allow": {"remember": {"forever": true}}}),
        json!({"deny": {"remember": true}}),
    ] {
        assert_eq!(read(bad.clone()).unwrap_err().code(), Code::InvalidDecision, "{bad}");
    }
}
