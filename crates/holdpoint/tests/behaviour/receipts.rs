//! Receipts: a worker that verifies does exactly what was approved, whatever somebody wrote into the store.

use crate::common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use common::{Counter, PATIENCE, Traced, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::policy_fn;
use holdpoint::{
    Agent, AgentBuilder, Code, Decision, Decisions, ExportOptions, Keeper, Outcome, ReceiptKey, ReceiptKeys, RunId,
    RunResult, Status, Worker,
};
use holdpoint_codec::receipt::{Receipt, ReceiptClaim};
use holdpoint_codec::tasks::{StoredTask, decode_task, load};
use holdpoint_codec::{LoadOptions, Unsigned};
use holdpoint_core::{CallKey, Ground, Progress, Revision, Terms, Timestamp, ToolName};
use holdpoint_store::{
    CommitError, Layer, LeaseRequest, LeasedTask, MemoryStore, RunLogLayer, Store, StoreError, TaskChange,
    TaskQueueLayer, Transition,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const POLL: Duration = Duration::from_millis(20);

fn key() -> ReceiptKey {
    ReceiptKey::new("k1", &[7; 32]).unwrap()
}

fn keys() -> ReceiptKeys {
    key().public().into()
}

/// What somebody who can write to the store does to a task, given all tasks as they were opened.
type Tamper = fn(&mut Value, &BTreeMap<u64, Value>);

/// A store whose tasks somebody changes before workers get them.
struct Tampered {
    inner: Store,
    opened: Mutex<BTreeMap<u64, Value>>,
    tamper: Tamper,
}

impl Layer for Tampered {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for Tampered {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        for change in &transition.tasks {
            if let TaskChange::Open(opening) = change {
                let record: Value = serde_json::from_slice(&opening.body).unwrap();
                self.opened.lock().unwrap().insert(opening.index.0.into(), record["body"].clone());
            }
        }
        self.inner.runs.commit(run, at, transition).await
    }
}

#[async_trait]
impl TaskQueueLayer for Tampered {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        let mut leased = self.inner.tasks.lease(request).await?;
        for task in &mut leased {
            let mut record: Value = serde_json::from_slice(&task.body).unwrap();
            (self.tamper)(&mut record["body"], &self.opened.lock().unwrap());
            task.body = serde_json::to_vec(&record).unwrap().into();
        }
        Ok(leased)
    }
}

impl Tampered {
    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, tasks: Arc::clone(self) as _, ..self.inner.clone() }
    }
}

/// The other one of two tasks.
fn other<'a>(body: &Value, opened: &'a BTreeMap<u64, Value>) -> &'a Value {
    &opened[&(1 - body["index"].as_u64().unwrap())]
}

/// The task's receipt with something changed in it, signed with this key.
fn resigned(body: &mut Value, key: &ReceiptKey, change: impl FnOnce(&mut Receipt)) {
    let mut receipt = keys().open(body["receipt"].as_str().unwrap()).unwrap();
    change(&mut receipt);
    body["receipt"] = json!(&*receipt.sign(key));
}

const TAMPERS: [(&str, Tamper); 14] = [
    ("other arguments", |body, _| body["arguments"] = json!({"amount": 1_000_000})),
    ("another tool", |body, _| {
        body["name"] = json!("wipe");
        body["tool"]["name"] = json!("wipe");
    }),
    ("another tool behind the name", |body, _| body["tool"]["name"] = json!("wipe")),
    ("the receipt of another call", |body, opened| {
        let receipt = other(body, opened)["receipt"].clone();
        body["receipt"] = receipt;
    }),
    ("the whole task of another call", |body, opened| *body = other(body, opened).clone()),
    ("the receipt of a call of another run", |body, _| {
        resigned(body, &key(), |receipt| receipt.call.run = RunId::new("another"));
    }),
    ("the receipt of another turn", |body, _| resigned(body, &key(), |receipt| receipt.call.turn.0 += 1)),
    ("another run, so that the tool gets another idempotency key", |body, _| body["run"] = json!("another")),
    ("another shown id", |body, _| body["id"] = json!("c")),
    ("an expired receipt", |body, _| resigned(body, &key(), |receipt| receipt.expires_at = Some(Timestamp(1)))),
    ("a key that is not known", |body, _| resigned(body, &ReceiptKey::new("k2", &[7; 32]).unwrap(), |_| ())),
    ("another key of the same name", |body, _| resigned(body, &ReceiptKey::generate("k1").unwrap(), |_| ())),
    ("no receipt", |body, _| assert!(body.as_object_mut().unwrap().remove("receipt").is_some())),
    ("no receipt that can be read", |body, _| body["receipt"] = json!("v1.k1..")),
];

struct World {
    store: Store,
    counter: Counter,
    stop: CancellationToken,
}

impl World {
    fn on(store: Store) -> Self {
        Self { store, counter: Counter::default(), stop: CancellationToken::new() }
    }

    fn tampered(tamper: Tamper) -> Self {
        Self::on(Arc::new(Tampered { inner: MemoryStore::new().into(), opened: Mutex::default(), tamper }).store())
    }

    fn untouched() -> Self {
        Self::on(Store::from(MemoryStore::new()))
    }

    /// An agent that asks for these calls, then says `done`, and hands everything out.
    fn builder(&self, calls: &[(&str, &str, &str)]) -> AgentBuilder {
        let done = || ScriptedReply::text("done");
        let model = ScriptedModel::new(vec![ScriptedReply::calls(calls), done(), done()]);
        let tools = ["pay", "wipe", "ask_pay"].map(|name| echo(name, &self.counter));
        let builder = Agent::builder().model(model).policy(by_name()).store(self.store.clone());
        tools.into_iter().fold(builder, AgentBuilder::tool).with_tool_concurrency("defer_all", None)
    }

    fn keep(&self, agent: &Agent) {
        tokio::spawn(Keeper::new(agent.runner()).poll(POLL).run(self.stop.clone()));
    }

    fn work(&self, agent: &Agent, keys: Option<ReceiptKeys>) {
        let worker = Worker::new(agent.runner()).poll(POLL);
        let worker = keys.into_iter().fold(worker, Worker::verify);
        tokio::spawn(worker.run(self.stop.clone()));
    }

    /// The tasks as a worker gets them that is never heard of again.
    async fn lease(&self, tool: &str) -> Vec<StoredTask> {
        let tools = vec![(Arc::from(""), ToolName::new(tool))];
        let request = LeaseRequest { worker: "hand".into(), tools, tenant: None, limit: 10, lease_ms: 10 };
        let leased = self.store.tasks.lease(&request).await.unwrap();
        leased.iter().map(|task| decode_task(&task.body).unwrap()).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Waits until the run is there.
async fn until(agent: &Agent, run: &RunId, wanted: Status) -> RunResult {
    let waiting = async {
        loop {
            let result = agent.runner().result(run).await.unwrap();
            if result.status() == wanted {
                return result;
            }
            let _ = tokio::time::timeout(POLL, agent.runner().store().runs.changed(run, result.revision())).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it happens in time")
}

fn receipt_of(task: &StoredTask) -> Receipt {
    keys().open(task.task.receipt.as_deref().unwrap()).unwrap()
}

const CALLS: [(&str, &str, &str); 2] = [("a", "pay", r#"{"amount":41}"#), ("b", "pay", r#"{"amount":42}"#)];

/// The run with its two calls done by a worker, and what was logged.
async fn done(world: &World, keys: Option<ReceiptKeys>) -> (RunResult, String) {
    let traced = Traced::default();
    let listening = traced.listen();
    let agent = world.builder(&CALLS).receipt_key(key()).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    world.keep(&agent);
    world.work(&agent, keys);
    let done = until(&agent, paused.run_id(), Status::Finished).await;
    drop(listening);
    (done, traced.text())
}

#[tokio::test]
async fn a_worker_that_verifies_does_what_was_handed_out() {
    let world = World::untouched();
    let (done, log) = done(&world, Some(keys())).await;
    assert_eq!((done.text().as_deref(), world.counter.count()), (Some("done"), 2));
    assert!(done.records().iter().all(|record| record.code.is_none()), "{:?}", done.records());
    assert!(!log.contains("security:"), "{log}");
}

#[tokio::test]
async fn a_worker_that_verifies_refuses_whatever_was_changed_and_one_that_does_not_runs_it() {
    for (name, tamper) in TAMPERS {
        let world = World::tampered(tamper);
        let (refused, log) = done(&world, Some(keys())).await;
        assert_eq!(world.counter.count(), 0, "{name}: a tool ran");
        for record in refused.records() {
            let ended = (record.progress, record.code, record.source);
            assert_eq!(ended, (Progress::Settled(Outcome::Failed), Some(Code::ReceiptInvalid), None), "{name}");
        }
        assert_eq!(refused.text().as_deref(), Some("done"), "{name}: the run goes on");
        assert_eq!(refused.tool_executions(), 0, "{name}");
        let warnings: Vec<&str> = log.lines().filter(|line| line.contains("security: a task was refused")).collect();
        assert_eq!(warnings.len(), 2, "{name}: {log}");
        assert!(warnings.iter().all(|line| line.contains("WARN") && line.contains("receipt")), "{name}: {warnings:?}");
        assert!(!log.contains("v1.k") && !log.contains("1000000"), "{name}: {log}");

        let world = World::tampered(tamper);
        let (fooled, _) = done(&world, None).await;
        assert_eq!(world.counter.count(), 2, "{name}: what was changed runs where nobody verifies");
        assert!(fooled.records().iter().all(|record| record.code.is_none()), "{name}");
    }
}

#[tokio::test]
async fn without_a_key_there_are_no_receipts_and_a_worker_that_verifies_does_nothing() {
    let world = World::untouched();
    let agent = world.builder(&CALLS).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    world.keep(&agent);
    world.work(&agent, Some(keys()));
    let done = until(&agent, paused.run_id(), Status::Finished).await;
    assert_eq!(world.counter.count(), 0);
    assert!(done.records().iter().all(|record| record.code == Some(Code::ReceiptInvalid)));
}

#[tokio::test]
async fn a_receipt_names_the_call_and_when_it_ends() {
    let world = World::untouched();
    let builder = world.builder(&CALLS).receipt_key(key());
    let agent = builder.task_deadline_ms(60_000).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let tasks = world.lease("pay").await;
    assert_eq!(tasks.len(), 2);
    for task in &tasks {
        let receipt = receipt_of(task);
        assert_eq!((&receipt.call.run, receipt.call.turn), (paused.run_id(), task.turn));
        assert_eq!((receipt.call.index, &receipt.id), (task.task.index, &task.task.tool_call_id));
        assert_eq!((&receipt.tool, receipt.digest), (&task.task.executed_name, task.task.arguments.digest()));
        assert_eq!(receipt.expires_at, task.task.deadline);
        assert!(receipt.expires_at.is_some() && receipt.granted_at <= world.store.runs.now());
        assert_eq!(receipt.approved_by, [], "policy allowed it by itself");
    }
}

#[tokio::test]
async fn a_receipt_names_everybody_who_approved() {
    let world = World::untouched();
    let two =
        policy_fn(|_| Decision::Confirm(Ground::reason("two must say yes"), Terms { quorum: 2, ..Terms::default() }));
    let agent = world.builder(&[("a", "ask_pay", "{}")]).policy(two).receipt_key(key()).build().unwrap();
    let asked = agent.chat("go").await.unwrap();
    let half = agent.resume(asked.continuation().unwrap(), Decisions::new().allow("a").by("ana")).await.unwrap();
    assert!(world.lease("ask_pay").await.is_empty(), "nothing is handed out before both said yes");
    agent.resume(half.continuation().unwrap(), Decisions::new().allow("a").by("bo")).await.unwrap();
    let task = &world.lease("ask_pay").await[0];
    assert_eq!(receipt_of(task).approved_by, [Some("ana".into()), Some("bo".into())]);
}

#[tokio::test]
async fn an_edit_is_what_the_receipt_is_for() {
    let world = World::untouched();
    let agent = world.builder(&[("a", "ask_pay", r#"{"amount":41}"#)]).receipt_key(key()).build().unwrap();
    let asked = agent.chat("go").await.unwrap();
    let shown = asked.pending()[0].digest;
    let edit = Decisions::new().allow_edited("a", &json!({"amount": 1})).by("ana");
    let paused = agent.resume(asked.continuation().unwrap(), edit).await.unwrap();
    let receipt = receipt_of(&world.lease("ask_pay").await[0]);
    assert_ne!(receipt.digest, shown);
    assert_eq!(receipt.digest, paused.pending()[0].arguments_digest());
    assert_eq!(receipt.approved_by, [Some("ana".into())]);
}

#[tokio::test]
async fn whoever_lets_a_call_in_doubt_run_again_is_named_beside_those_who_approved_it() {
    let world = World::untouched();
    let agent = world.builder(&[("a", "ask_pay", "{}")]).receipt_key(key()).build().unwrap();
    let asked = agent.chat("go").await.unwrap();
    agent.resume(asked.continuation().unwrap(), Decisions::new().allow("a").by("ana")).await.unwrap();
    assert_eq!(world.lease("ask_pay").await.len(), 1);
    world.keep(&agent);
    let doubted = until(&agent, asked.run_id(), Status::AwaitingToolConfirmation).await;
    agent.resume(doubted.continuation().unwrap(), Decisions::new().allow("a").by("bo")).await.unwrap();
    let task = &world.lease("ask_pay").await[0];
    assert_eq!(receipt_of(task).approved_by, [Some("ana".into()), Some("bo".into())]);
}

#[tokio::test]
async fn keys_rotate_while_calls_are_out() {
    let new_key = ReceiptKey::generate("k2").unwrap();
    let both = keys().with(new_key.public());
    for (keys, ran) in [(both.clone(), 4), (both.without("k1"), 2)] {
        let world = World::untouched();
        let before = world.builder(&CALLS).receipt_key(key()).build().unwrap();
        let old = before.chat("go").await.unwrap();
        let after = world.builder(&CALLS).receipt_key(new_key.clone()).build().unwrap();
        let new = after.chat("go").await.unwrap();
        world.keep(&after);
        world.work(&after, Some(keys));
        let old = until(&after, old.run_id(), Status::Finished).await;
        let new = until(&after, new.run_id(), Status::Finished).await;
        assert_eq!(world.counter.count(), ran);
        assert!(new.records().iter().all(|record| record.code.is_none()));
        let refused = (ran == 2).then_some(Code::ReceiptInvalid);
        assert!(old.records().iter().all(|record| record.code == refused), "{:?}", old.records());
    }
}

#[tokio::test]
async fn an_exported_task_has_its_receipt() {
    let world = World::untouched();
    let agent = world.builder(&CALLS).receipt_key(key()).build().unwrap();
    let paused = agent.chat("go").await.unwrap();
    let continuation = paused.continuation().unwrap();
    let payload = agent.runner().export_tasks(&continuation, &ExportOptions::default()).unwrap();
    let options = LoadOptions { unsigned: Unsigned::Accept, ..LoadOptions::default() };
    let loaded = load(payload, &options).unwrap();
    assert_eq!(loaded.tasks.len(), 2);
    for task in &loaded.tasks {
        let of = CallKey { run: loaded.run_id.clone(), turn: loaded.turn, index: task.index };
        let claim = ReceiptClaim {
            key: &of,
            id: &task.tool_call_id,
            tool: &task.executed_name,
            arguments: &task.arguments,
            at: world.store.runs.now(),
        };
        keys().verify(task.receipt.as_deref(), &claim).unwrap();
    }
}
