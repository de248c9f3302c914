//! What waits for people, over all runs of a store, as the inbox has it.

use crate::common;
use crate::interrupted::{AFTER_EFFECT, Interrupted};

use std::sync::Arc;

use common::{Counter, Inboxed, asking, by_name, check_inbox, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::{Actor, Agent, AgentBuilder, Code, Decisions, RunId, RunRequest, Siblings, Status};
use holdpoint_codec::view::{DecisionWord, Text};
use holdpoint_codec::{decode_question, decode_question_note};
use holdpoint_core::{CallKey, Revision};
use holdpoint_store::{
    CommitError, Layer, ManualClock, MemoryStore, QuestionEnd, QuestionFilter, QuestionKind, QuestionRow,
    QuestionStatus, RunLogLayer, Scope, Store, Transition,
};
use serde_json::json;

fn inboxed() -> Store {
    Arc::new(Inboxed(Store::from(MemoryStore::new()))).store()
}

fn tools(builder: AgentBuilder, counter: &Counter) -> AgentBuilder {
    builder.tool(echo("ask_pay", counter)).tool(echo("ask_mail", counter)).tool(echo("free", counter))
}

fn request(id: &str) -> RunRequest {
    RunRequest::new("go").with_run_id(RunId::new(id))
}

fn person(id: &str, roles: &[&str]) -> Actor {
    Actor { id: Some(id.into()), roles: roles.iter().map(|role| Arc::from(*role)).collect(), tenant: None }
}

async fn of(store: &Store, status: QuestionStatus) -> Vec<QuestionRow> {
    store.approvals.list(&QuestionFilter { status, ..QuestionFilter::default() }).await.unwrap().items
}

#[tokio::test]
async fn a_question_shows_what_is_asked_and_by_whom_it_was_answered() {
    let (store, counter) = (inboxed(), Counter::default());
    let (builder, _) = asking(&[("a", "ask_pay", r#"{"amount":5}"#), ("b", "ask_mail", "{}")]);
    let agent = tools(builder.name("support").store(store.clone()), &counter).build().unwrap();
    let by = Actor { tenant: Some("acme".into()), ..person("zoe", &[]) };
    let paused = agent.chat(request("r").in_session("talk").by(by)).await.unwrap();

    let rows = of(&store, QuestionStatus::Pending).await;
    assert_eq!(rows.len(), 2);
    let row = &rows[0];
    assert_eq!(
        (row.key.to_string().as_str(), &*row.agent, row.tenant.as_deref()),
        ("r.b1.c0", "support", Some("acme"))
    );
    assert_eq!(CallKey::parse("r.b1.c0").as_ref(), Some(&row.key));
    assert_eq!((row.tool.as_str(), row.kind), ("ask_pay", QuestionKind::Permission));
    let question = decode_question(&row.body).unwrap();
    assert_eq!(question.continuation.as_ref(), Some(paused.continuation().unwrap().id()));
    assert_eq!((question.requester.as_deref(), question.session.as_deref()), (Some("zoe"), Some("talk")));
    assert_eq!(serde_json::to_value(&question.pending).unwrap(), paused.pending()[0].to_json());
    assert_eq!(question.pending.arguments.as_str(), r#"{"amount":5}"#);
    assert!(!format!("{row:?} {question:?}").contains("amount"));

    let decisions = Decisions::new().allow("a").deny("b", "no mail").by("ana");
    agent.resume(&paused, decisions).await.unwrap();
    assert!(of(&store, QuestionStatus::Pending).await.is_empty());
    let rows = of(&store, QuestionStatus::Answered).await;
    let mut notes: Vec<_> = rows.iter().map(|row| decode_question_note(&row.note).unwrap().unwrap()).collect();
    notes.sort_by_key(|note| note.decision);
    let [allowed, denied] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!(
        (allowed.decision, allowed.actor.as_deref(), &allowed.reason),
        (DecisionWord::Allow, Some("ana"), &None)
    );
    assert_eq!((denied.decision, denied.reason.as_deref()), (DecisionWord::Deny, Some("no mail")));
}

#[tokio::test]
async fn what_is_left_of_a_partial_answer_stays_and_names_the_next_pause() {
    for siblings in [Siblings::Hold, Siblings::Run] {
        let (store, counter) = (inboxed(), Counter::default());
        let (builder, _) = asking(&[("a", "ask_pay", "{}"), ("b", "ask_mail", "{}"), ("c", "free", "{}")]);
        let agent = tools(builder.siblings(siblings).store(store.clone()), &counter).build().unwrap();
        let paused = agent.chat(request("r")).await.unwrap();
        let before = of(&store, QuestionStatus::Pending).await;
        let again = agent.resume(&paused, Decisions::new().allow("a").partial()).await.unwrap();
        let after = of(&store, QuestionStatus::Pending).await;
        assert_eq!((before.len(), after.len(), &after[0].key), (2, 1, &before[1].key));
        assert_eq!(after[0].asked_at, before[1].asked_at);
        let question = decode_question(&after[0].body).unwrap();
        assert_eq!(question.continuation.as_ref(), Some(again.continuation().unwrap().id()));
    }
}

#[tokio::test]
async fn approvals_of_a_quorum_are_shown_as_they_come() {
    let (store, counter) = (inboxed(), Counter::default());
    let (builder, _) = asking(&[("a", "ask_pay", "{}")]);
    let rules =
        "[[rule]]\ntool = \"ask_pay\"\ndecide = \"confirm\"\napprovers = [\"finance\"]\nquorum = 2\nfour_eyes = true\n";
    let rules = holdpoint::policy::Rules::parse(rules, "policy.toml").unwrap();
    let builder = builder.policy(rules).tool(echo("ask_pay", &counter)).store(store.clone());
    let agent = builder.build().unwrap();
    let paused = agent.chat(request("r").by(person("zoe", &["finance"]))).await.unwrap();
    let shown = decode_question(&of(&store, QuestionStatus::Pending).await[0].body).unwrap();
    let may = ["zoe", "ana"].map(|name| shown.admits(&person(name, &["finance"])));
    assert_eq!((may, shown.admits(&person("ana", &["sales"]))), ([false, true], false));

    let first = agent.resume(&paused, Decisions::new().allow("a").by(person("ana", &["finance"]))).await.unwrap();
    let rows = of(&store, QuestionStatus::Pending).await;
    let question = decode_question(&rows[0].body).unwrap();
    let approvals: Vec<_> = question.pending.approvals.iter().flatten().map(Text::as_str).collect();
    assert_eq!(approvals, ["ana"]);
    let last = agent.resume(&first, Decisions::new().allow("a").by(person("ben", &["finance"]))).await.unwrap();
    assert_eq!(last.status(), Status::Finished);
    let rows = of(&store, QuestionStatus::Answered).await;
    assert_eq!(decode_question_note(&rows[0].note).unwrap().unwrap().actor.as_deref(), Some("ben"));
}

#[tokio::test]
async fn questions_end_when_their_time_is_over_or_their_run_is() {
    let clock = Arc::new(ManualClock::default());
    let store: Store = Arc::new(Inboxed(Store::from(MemoryStore::with_clock(clock.clone())))).store();
    let counter = Counter::default();
    let rules = "[[rule]]\ntool = \"*\"\ndecide = \"confirm\"\nexpires_in = \"1s\"\n";
    let policy = holdpoint::policy::Rules::parse(rules, "policy.toml").unwrap();
    let (builder, _) = asking(&[("a", "ask_pay", "{}")]);
    let agent = tools(builder.policy(policy).store(store.clone()), &counter).build().unwrap();
    agent.chat(request("late")).await.unwrap();
    clock.advance_ms(2_000);
    agent.runner().expire(&RunId::new("late")).await.unwrap();
    assert_eq!(of(&store, QuestionStatus::Expired).await.len(), 1);

    let (builder, _) = asking(&[("a", "ask_pay", "{}")]);
    let agent = tools(builder.store(store.clone()), &counter).build().unwrap();
    agent.chat(request("cancelled")).await.unwrap();
    agent.runner().cancel(&RunId::new("cancelled"), person("ops", &[])).await.unwrap();
    let gone = of(&store, QuestionStatus::Gone).await;
    assert_eq!((gone.len(), gone[0].key.run.as_str(), gone[0].note.len()), (1, "cancelled", 0));
    assert!(of(&store, QuestionStatus::Pending).await.is_empty());
}

#[tokio::test]
async fn a_call_in_doubt_is_a_question_that_an_admin_can_requeue() {
    let (store, counter) = (inboxed(), Counter::default());
    let script = vec![ScriptedReply::call("p", "free", "{}"), ScriptedReply::text("done")];
    let model = ScriptedModel::new(script);
    let agent = |store: Store| {
        let builder = Agent::builder().shared_model(Arc::new(model.clone())).policy(by_name());
        builder.tool(echo("free", &counter)).store(store).build().unwrap()
    };
    let dying = Interrupted::new(store.clone());
    let lived = dying.dies(AFTER_EFFECT, agent(dying.store()).chat(request("r"))).await;
    assert!(lived.is_none());
    let second = agent(store.clone());
    second.runner().recover(&RunId::new("r")).await.unwrap();
    let rows = of(&store, QuestionStatus::Pending).await;
    assert_eq!((rows.len(), rows[0].kind), (1, QuestionKind::Doubt));

    let shown = decode_question(&rows[0].body).unwrap().digest();
    let other = CallKey::parse("r.b1.c7").unwrap();
    let refused = second.runner().requeue(other, shown, person("ops", &[])).detach().await.unwrap_err();
    assert_eq!(refused.code(), Code::NotRetryable);
    let mistaken = second
        .runner()
        .requeue(rows[0].key.clone(), holdpoint_core::Digest([7; 32]), person("ops", &[]))
        .detach()
        .await
        .unwrap_err();
    assert_eq!(mistaken.code(), Code::DigestMismatch);
    let left = second.runner().requeue(rows[0].key.clone(), shown, person("ops", &[])).detach().await.unwrap();
    // Whoever looks after the agent goes on.
    assert_eq!((left.status(), counter.count()), (Status::Running, 1));
    let again = second.runner().requeue(rows[0].key.clone(), shown, person("ops", &[])).detach().await.unwrap_err();
    assert_eq!(again.code(), Code::NotRetryable);
    let done = second.runner().recover(&RunId::new("r")).await.unwrap();
    assert_eq!((done.status(), counter.count()), (Status::Finished, 2));
    let key = CallKey::parse("r.b1.c0").unwrap();
    let row = store.approvals.find(&Scope::All, &key).await.unwrap().unwrap();
    assert_eq!(decode_question_note(&row.note).unwrap().unwrap().actor.as_deref(), Some("ops"));
}

/// Forgets that questions ended.
struct NeverEnds(Store);

impl Layer for NeverEnds {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait::async_trait]
impl RunLogLayer for NeverEnds {
    async fn commit(&self, run: &RunId, at: Revision, mut step: Transition) -> Result<Revision, CommitError> {
        step.questions.retain(|change| {
            !matches!(change, holdpoint_store::QuestionChange::Close { how: QuestionEnd::Answered, .. })
        });
        self.0.runs.commit(run, at, step).await
    }
}

impl NeverEnds {
    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, ..self.0.clone() }
    }
}

#[tokio::test]
async fn the_check_of_these_tests_can_fail() {
    let store: Store = Arc::new(NeverEnds(MemoryStore::new().into())).store();
    let (builder, _) = asking(&[("a", "ask_pay", "{}")]);
    let agent = tools(builder.store(store.clone()), &Counter::default()).build().unwrap();
    let paused = agent.chat(request("r")).await.unwrap();
    assert_eq!(check_inbox(&store, &RunId::new("r")).await, Ok(()));
    agent.resume(&paused, Decisions::new().allow("a")).await.unwrap();
    assert!(check_inbox(&store, &RunId::new("r")).await.is_err());
}

#[tokio::test]
async fn the_reason_of_an_approval_is_kept_in_the_event_the_audit_log_and_the_inbox() {
    let (store, counter) = (inboxed(), Counter::default());
    let (builder, _) = asking(&[("a", "ask_pay", "{}"), ("b", "ask_mail", "{}")]);
    let agent = tools(builder.store(store.clone()), &counter).build().unwrap();
    let paused = agent.chat(request("r")).await.unwrap();
    let decisions = json!({ "a": { "allow": { "reason": "seen the order" } }, "b": { "allow": { "arguments": {} } } });
    let decisions = Decisions::from_json(&decisions).unwrap().because("seen the mail").by("ana");
    let done = agent.resume(&paused, decisions).await.unwrap();
    assert_eq!(done.status(), Status::Finished);

    let rows = of(&store, QuestionStatus::Answered).await;
    let mut kept: Vec<_> = rows.iter().map(|row| decode_question_note(&row.note).unwrap().unwrap().reason).collect();
    kept.sort();
    let wanted = ["seen the mail", "seen the order"];
    assert_eq!(kept.iter().map(|reason| reason.as_deref().unwrap()).collect::<Vec<_>>(), wanted);
    let audit = store.audit.rows(&Scope::All, paused.run_id()).await.unwrap();
    let audit: String = audit.iter().map(|row| String::from_utf8_lossy(&row.body).into_owned()).collect();
    let events = agent.runner().events(paused.run_id(), Revision(0)).await.unwrap();
    let events = events.iter().map(ToString::to_string).collect::<String>();
    for reason in wanted {
        assert!(audit.contains(reason), "{audit}");
        assert!(events.contains(reason), "{events}");
    }
    // It is for people: the model is told nothing of it.
    assert!(!format!("{:?}", done.messages()).contains("seen the"));
}
