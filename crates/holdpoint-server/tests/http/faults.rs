//! What the server does when its store or a client fails in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint::RunId;
use holdpoint_core::Revision;
use holdpoint_store::{
    ApprovalsLayer, CommitError, Head, Layer, LeaseRequest, LeasedTask, MemoryStore, QuestionChanges, QuestionSeq,
    Record, Reservation, Reserved, ResponseKey, RunLogLayer, Scope, ServerStateLayer, Store, StoreError, StoreFault,
    StoreTally, TaskCompletion, TaskLease, TaskQueueLayer, Transition, WorkerSeen,
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::approvals::Frames;
use crate::stage::{Answered, CLERK, SUBMITTER, Setting, Stage, allow, tokens};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// As if a server died between the start of a run and its answer, and the reservation lapsed.
    ForgetsResponses,
    /// The number of the last change moves although nothing changed, as that of a busy database does.
    IsRestless,
    CannotCount,
    /// Leases wait here once they were made.
    LeasesSlowly,
    /// The next run that is read within a scope waits here once it was read.
    ReadsSlowly,
    /// The next run that is created waits here before.
    CreatesSlowly,
    /// Changes share one number, as those of one transaction of PostgreSQL do.
    SharesNumbers,
    /// As a database after a failover, or on a full disk.
    OnlyReads,
    /// Whoever takes tasks in this process panics.
    Panics,
    /// After the next commit no run can be read any more.
    LosesReads,
    /// The tasks that are leased are those of an agent that is not here.
    LeasesOfOthers,
}

struct Faulty {
    inner: Store,
    fault: Fault,
    leased: Arc<Semaphore>,
    gate: Arc<Semaphore>,
    armed: Arc<AtomicBool>,
    is_unreadable: AtomicBool,
}

impl Faulty {
    /// Waits until it is let go, if this is the fault, and once only.
    async fn hold(&self, fault: Fault) {
        if self.fault == fault && self.armed.swap(false, Ordering::SeqCst) {
            self.leased.add_permits(1);
            self.gate.acquire().await.unwrap().forget();
        }
    }
}

impl Layer for Faulty {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for Faulty {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        if at == Revision(0) {
            self.hold(Fault::CreatesSlowly).await;
        }
        let committed = self.inner.runs.commit(run, at, transition).await;
        if self.fault == Fault::LosesReads && self.armed.swap(false, Ordering::SeqCst) {
            self.is_unreadable.store(true, Ordering::SeqCst);
        }
        committed
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let records = self.inner.runs.load(scope, run, after).await;
        self.hold(Fault::ReadsSlowly).await;
        if self.is_unreadable.load(Ordering::SeqCst) {
            return Err(StoreError::Failed { doing: "read", cause: "told to fail".into() });
        }
        records
    }
}

#[async_trait]
impl TaskQueueLayer for Faulty {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        let mut leased = self.inner.tasks.lease(request).await?;
        assert!(self.fault != Fault::Panics, "told to panic");
        if self.fault == Fault::LeasesOfOthers {
            self.leased.add_permits(1);
            leased.iter_mut().for_each(|task| task.task.agent = "nobody".into());
        }
        if self.fault == Fault::LeasesSlowly && !leased.is_empty() {
            self.leased.add_permits(1);
            self.gate.acquire().await.unwrap().forget();
        }
        Ok(leased)
    }
}

#[async_trait]
impl ApprovalsLayer for Faulty {
    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError> {
        if self.fault == Fault::SharesNumbers {
            let mut changes = self.inner.approvals.changes(scope, after, limit).await?;
            changes.questions.iter_mut().for_each(|row| row.seq = changes.seq);
            return Ok(changes);
        }
        if self.fault != Fault::IsRestless {
            return self.inner.approvals.changes(scope, after, limit).await;
        }
        tokio::task::yield_now().await;
        let changes = self.inner.approvals.changes(scope, None, limit).await?;
        Ok(QuestionChanges { seq: QuestionSeq(after.unwrap_or(changes.seq).0 + 1), ..changes })
    }
}

#[async_trait]
impl ServerStateLayer for Faulty {
    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        match self.fault {
            Fault::ForgetsResponses => Ok(Reserved::New),
            _ => self.inner.state.reserve(reservation).await,
        }
    }

    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        match self.fault {
            Fault::ForgetsResponses => Ok(()),
            _ => self.inner.state.keep(key, response).await,
        }
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        match self.fault {
            Fault::OnlyReads => Err(StoreError::Failed { doing: "write", cause: "told to fail".into() }),
            _ => self.inner.state.first_setting(name, value).await,
        }
    }

    async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        if self.fault == Fault::LeasesOfOthers {
            self.gate.add_permits(1);
        }
        self.inner.state.note_worker(seen).await
    }

    async fn counts(&self) -> Result<StoreTally, StoreError> {
        match self.fault {
            Fault::CannotCount => Err(StoreError::Failed { doing: "count", cause: "told to fail".into() }),
            _ => self.inner.state.counts().await,
        }
    }
}

impl Faulty {
    fn store(self: &Arc<Self>) -> Store {
        Store {
            runs: Arc::clone(self) as _,
            tasks: Arc::clone(self) as _,
            approvals: Arc::clone(self) as _,
            state: Arc::clone(self) as _,
            ..self.inner.clone()
        }
    }
}

struct Broken {
    stage: Stage,
    leased: Arc<Semaphore>,
    gate: Arc<Semaphore>,
    armed: Arc<AtomicBool>,
}

async fn broken(fault: Fault) -> Broken {
    broken_with(fault, Setting { without_worker: true, ..Setting::default() }).await
}

async fn broken_with(fault: Fault, setting: Setting) -> Broken {
    let (leased, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let armed = Arc::new(AtomicBool::new(false));
    let inner = Store::from(MemoryStore::new());
    let (seen, held) = (Arc::clone(&leased), Arc::clone(&gate));
    let store = Arc::new(Faulty {
        inner,
        fault,
        leased: seen,
        gate: held,
        armed: Arc::clone(&armed),
        is_unreadable: AtomicBool::new(false),
    })
    .store();
    let stage = Stage::with(Setting { store: Some(store), ..setting }).await;
    Broken { stage, leased, gate, armed }
}

#[tokio::test]
async fn a_start_whose_answer_was_lost_finds_its_own_run_in_the_session() {
    let Broken { stage, .. } = broken(Fault::ForgetsResponses).await;
    let body = json!({"agent": "support", "input": "use ask_first {}", "session": "s"});
    let send = || async {
        let request = stage.request(Method::POST, "/v1/runs?wait_ms=20000").header("idempotency-key", "k").json(&body);
        Answered::of(request.send().await.unwrap()).await.expect(StatusCode::CREATED)
    };
    let first = send().await;
    assert_eq!(first["status"], "awaiting_tool_confirmation");
    assert_eq!(send().await, first, "not refused because of itself");
    assert_eq!(stage.get("/v1/runs").await.body["runs"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_inbox_rests_although_the_number_of_the_last_change_moves() {
    let Broken { stage, .. } = broken(Fault::IsRestless).await;
    let request = stage.request(Method::GET, "/v1/approvals/events").header("accept", "text/event-stream");
    let mut stream = Frames::of(request.send().await.unwrap());
    stream.frame().await.unwrap();
    stage.begin_to_stop();
    assert_eq!(stream.frame().await.as_deref(), Some(": the server stops; connect again"));
}

#[tokio::test]
async fn the_numbers_of_the_process_are_there_while_the_store_is_not() {
    let Broken { stage, .. } = broken(Fault::CannotCount).await;
    stage.run("say x").await;
    let numbers = stage.get("/metrics").await;
    assert_eq!(numbers.status, StatusCode::OK);
    assert!(numbers.text.contains("holdpoint_http_requests_total"), "{}", numbers.text);
    assert!(!numbers.text.contains("holdpoint_approvals_waiting"), "{}", numbers.text);
    assert!(numbers.text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn a_task_leased_for_somebody_who_went_away_is_given_back() {
    let Broken { stage, leased, gate, .. } = broken(Fault::LeasesSlowly).await;
    let paused = stage.run("use remote {}").await;
    let asking = stage.request(Method::POST, "/v1/tasks/lease").json(&json!({}));
    let asking = tokio::spawn(asking.send());
    leased.acquire().await.unwrap().forget();
    asking.abort();
    // tidy: sleeps because the server notices a closed connection in its own time
    tokio::time::sleep(Duration::from_secs(1)).await;
    gate.add_permits(2);
    let task = stage.post("/v1/tasks/lease", json!({"wait_ms": 20000})).await.expect(StatusCode::OK);
    assert_eq!(task["tasks"][0]["run_id"], paused["id"]);
    assert_eq!(task["tasks"][0]["attempt"], 1, "what was never handed over was not tried");
}

/// What a resume streams is what came of it, also when somebody else moved the run after it was read.
#[tokio::test]
async fn a_resume_streams_its_own_segment_and_no_other() {
    let Broken { stage, leased, gate, armed } = broken(Fault::ReadsSlowly).await;
    let paused = stage.run("use ask_first {\"n\":1}\nuse ask_first {\"n\":2}").await;
    let id = paused["id"].as_str().unwrap();
    let path = format!("/v1/runs/{id}/answers");
    let yes = |call: &Value| {
        let decision = json!({"call_id": call["id"], "decision": "allow", "digest": call["digest"]});
        json!({"batch_id": paused["batch_id"], "partial": true, "decisions": [decision]})
    };
    armed.store(true, Ordering::SeqCst);
    let stream = || {
        let request = stage.request(Method::POST, &path).header("accept", "text/event-stream");
        request.header("idempotency-key", "k").json(&yes(&paused["pending"][0])).send()
    };
    let first = tokio::spawn(stream());
    leased.acquire().await.unwrap().forget();
    let between = stage.post(&format!("{path}?wait_ms=20000"), yes(&paused["pending"][1])).await.expect(StatusCode::OK);
    assert_eq!(between["status"], "awaiting_tool_confirmation");
    gate.add_permits(1);
    let told = first.await.unwrap().unwrap().text().await.unwrap();
    let again = stream().await.unwrap().text().await.unwrap();
    for told in [told, again] {
        let events: Vec<Value> = told
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .filter(|event: &Value| event["seq"].is_u64())
            .collect();
        assert_eq!(events[0]["seq"].as_u64().unwrap(), between["revision"].as_u64().unwrap() + 1, "{told}");
        assert_eq!(events.last().unwrap()["stop_reason"], "end_turn", "{told}");
    }
}

#[tokio::test]
async fn nobody_goes_on_with_a_conversation_that_they_know_only_in_part() {
    let Broken { stage, leased, gate, armed } = broken(Fault::CreatesSlowly).await;
    let body = |input: &str| json!({"agent": "support", "input": input, "session": "s"});
    let send = |input: &str| stage.request(Method::POST, "/v1/runs?wait_ms=20000").json(&body(input)).send();
    armed.store(true, Ordering::SeqCst);
    let late = tokio::spawn(send("say late"));
    leased.acquire().await.unwrap().forget();
    Answered::of(send("say first").await.unwrap()).await.expect(StatusCode::CREATED);
    gate.add_permits(1);
    Answered::of(late.await.unwrap().unwrap()).await.problem(409, "run_busy");
    let next = Answered::of(send("say next").await.unwrap()).await.expect(StatusCode::CREATED);
    let messages = stage.get(&format!("/v1/runs/{}/messages", next["id"].as_str().unwrap())).await.text;
    assert!(messages.contains("say first") && !messages.contains("late"), "{messages}");
}

#[tokio::test]
async fn the_last_question_that_somebody_sees_of_a_commit_has_its_number() {
    let setting = Setting { tokens: tokens(), ..Setting::default() };
    let Broken { stage, .. } = broken_with(Fault::SharesNumbers, setting).await;
    let follow = |last: String| {
        let request = stage.request(Method::GET, "/v1/approvals/events").bearer_auth(CLERK);
        request.header("accept", "text/event-stream").header("last-event-id", last).send()
    };
    let mut stream = Frames::of(follow(String::new()).await.unwrap());
    // The clerk sees the first of both only.
    stage.run_as(SUBMITTER, "use ask_first {}\nuse refund {\"amount\":250}").await;
    let (number, told) = stream.told().await;
    assert_eq!(told["tool"], "ask_first");
    let mut stream = Frames::of(follow(number.expect("nothing more of the commit is told")).await.unwrap());
    let later = stage.run_as(SUBMITTER, "use ask_first {}").await;
    assert_eq!(stream.told().await.1["run_id"], later["id"], "nothing comes twice");
}

async fn unready(stage: &Stage, name: &str) {
    let deadline = tokio::time::Instant::now() + crate::stage::PATIENCE;
    loop {
        let ready = stage.get("/readyz").await;
        if ready.status == StatusCode::SERVICE_UNAVAILABLE {
            let checks = ready.body["checks"].as_array().unwrap().clone();
            let failed: Vec<_> = checks.iter().filter(|check| check["ok"] == false).collect();
            assert_eq!(failed.len(), 1, "{checks:?}");
            assert_eq!(failed[0]["name"], name, "{checks:?}");
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{}", ready.text);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_whose_store_only_reads_is_not_ready() {
    let Broken { stage, .. } = broken(Fault::OnlyReads).await;
    stage.get("/v1/runs").await.expect(StatusCode::OK);
    unready(&stage, "store").await;
}

#[tokio::test]
async fn a_server_whose_worker_ended_is_not_ready() {
    let Broken { stage, .. } = broken_with(Fault::Panics, Setting::default()).await;
    unready(&stage, "worker").await;
}

#[tokio::test]
async fn what_is_durable_is_answered_although_the_store_fails_then() {
    let Broken { stage, armed, .. } = broken(Fault::LosesReads).await;
    let paused = stage.run("use ask_first {}").await;
    let path = format!("/v1/runs/{}/answers", paused["id"].as_str().unwrap());
    let send = || stage.request(Method::POST, &path).header("idempotency-key", "k").json(&allow(&paused)).send();
    armed.store(true, Ordering::SeqCst);
    let first = Answered::of(send().await.unwrap()).await.expect(StatusCode::OK);
    assert_eq!(first["id"], paused["id"]);
    assert_eq!(first["continuation_id"], json!(null), "the pause is over: {first}");
    let again = Answered::of(send().await.unwrap()).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.expect(StatusCode::OK), first);
}

#[tokio::test]
async fn a_task_that_cannot_be_handed_over_is_not_asked_for_without_a_pause() {
    let Broken { stage, leased, gate, .. } = broken(Fault::LeasesOfOthers).await;
    stage.run("use remote {}").await;
    for _ in 0..2 {
        let none = stage.post("/v1/tasks/lease", json!({"wait_ms": 1200})).await.expect(StatusCode::OK);
        assert_eq!(none["tasks"], json!([]));
    }
    let leases = leased.available_permits();
    assert!((2..=6).contains(&leases), "it was leased {leases} times");
    assert_eq!(gate.available_permits(), 1, "who asks again and again is noted now and then");
}

/// A store that is out of reach for a while.
struct CutOff {
    inner: Store,
    is_cut: AtomicBool,
    /// How often a result was brought meanwhile.
    refused: Semaphore,
}

impl CutOff {
    fn reach(&self) -> Result<(), StoreError> {
        let away = || StoreError::fault(StoreFault::Unavailable, "reach", "the link is cut");
        if self.is_cut.load(Ordering::SeqCst) { Err(away()) } else { Ok(()) }
    }

    fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, tasks: Arc::clone(self) as _, ..self.inner.clone() }
    }
}

impl Layer for CutOff {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for CutOff {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.reach()?;
        self.inner.runs.commit(run, at, transition).await
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.reach()?;
        self.inner.runs.load(scope, run, after).await
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        self.reach()?;
        self.inner.runs.head(scope, run).await
    }
}

#[async_trait]
impl TaskQueueLayer for CutOff {
    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        if let Err(error) = self.reach() {
            self.refused.add_permits(1);
            return Err(error);
        }
        self.inner.tasks.complete(lease, result).await
    }
}

#[tokio::test]
async fn a_result_that_comes_while_the_store_is_out_of_reach_is_stored_when_it_is_back() {
    let inner = MemoryStore::new().into();
    let cut = Arc::new(CutOff { inner, is_cut: AtomicBool::new(false), refused: Semaphore::new(0) });
    let stage = Stage::with(Setting { store: Some(cut.store()), without_worker: true, ..Setting::default() }).await;
    let run = stage.run("use remote {}").await;
    let leased = stage.post("/v1/tasks/lease", json!({"wait_ms": 20000})).await.expect(StatusCode::OK);
    let task = &leased["tasks"][0];
    cut.is_cut.store(true, Ordering::SeqCst);
    let path = format!("/v1/tasks/{}/complete", task["id"].as_str().unwrap());
    let completing = stage.post(&path, json!({"lease": task["lease"], "text": "done"}));
    let mending = async {
        cut.refused.acquire_many(2).await.unwrap().forget();
        cut.is_cut.store(false, Ordering::SeqCst);
    };
    let (completed, ()) = tokio::join!(completing, mending);
    completed.expect(StatusCode::NO_CONTENT);
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    let request = stage.request(Method::GET, &format!("{path}/events"));
    request.header("accept", "text/event-stream").send().await.unwrap().text().await.unwrap();
    assert_eq!(stage.get(&path).await.expect(StatusCode::OK)["status"], "finished");
}
