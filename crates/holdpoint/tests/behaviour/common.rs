//! What the tests of the entry points share: a scripted agent with tools that count.
#![allow(dead_code)]
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::{Policy, policy_fn};
use holdpoint::tools::{MadeTool, ToolCall, raw_tool};
use holdpoint::{Agent, AgentBuilder, Decision, RunId, RunResult, Status};
use holdpoint_codec::{decode_event, encode_question, new_run};
use holdpoint_core::{CallIndex, Revision};
use holdpoint_store::{
    CommitError, Layer, MemoryStore, QuestionFilter, Record, RunLogLayer, Scope, Store, StoreError, Transition,
};
use serde_json::json;

/// Counts executions.
#[derive(Clone, Debug)]
pub(crate) struct Counter(Arc<tokio::sync::watch::Sender<u32>>);

/// What must happen happens well within it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// How often a test looks although nothing woke it.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Default for Counter {
    fn default() -> Self {
        Self(Arc::new(tokio::sync::watch::Sender::new(0)))
    }
}

impl Counter {
    pub(crate) fn count(&self) -> u32 {
        *self.0.borrow()
    }

    pub(crate) fn add(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    /// Waits until it has counted at all.
    pub(crate) async fn begun(&self) {
        self.reached(1).await;
    }

    /// Waits until it has counted so far.
    pub(crate) async fn reached(&self, wanted: u32) {
        let mut counts = self.0.subscribe();
        let reached = tokio::time::timeout(PATIENCE, counts.wait_for(|count| *count >= wanted)).await;
        reached.expect("it happens in time").unwrap();
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

/// A store that lets others in between at every step, so that races are real on one thread.
pub(crate) struct YieldingStore(pub(crate) Store);

impl Layer for YieldingStore {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait::async_trait]
impl RunLogLayer for YieldingStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        tokio::task::yield_now().await;
        self.0.runs.commit(run, at, transition).await
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        tokio::task::yield_now().await;
        self.0.runs.load(scope, run, after).await
    }
}

impl YieldingStore {
    pub(crate) fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, ..self.0.clone() }
    }
}

/// A memory store that yields.
pub(crate) fn yielding() -> Store {
    Arc::new(YieldingStore(Store::from(MemoryStore::new()))).store()
}

/// A store that looks after every commit whether the inbox says what the run says. For one thread: nobody comes between.
pub(crate) struct Inboxed(pub(crate) Store);

impl Layer for Inboxed {
    fn inner(&self) -> &Store {
        &self.0
    }
}

#[async_trait::async_trait]
impl RunLogLayer for Inboxed {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        let committed = self.0.runs.commit(run, at, transition).await;
        if let Err(problem) = check_inbox(&self.0, run).await {
            panic!("{problem}");
        }
        committed
    }
}

impl Inboxed {
    pub(crate) fn store(self: &Arc<Self>) -> Store {
        Store { runs: Arc::clone(self) as _, ..self.0.clone() }
    }
}

/// The pending questions of a run are those that its log tells of, and show what it tells.
pub(crate) async fn check_inbox(store: &Store, id: &RunId) -> Result<(), String> {
    let mut run = new_run(id.clone());
    for record in store.runs.load(&Scope::All, id, Revision(0)).await.unwrap() {
        run.apply(&decode_event(&record.body).unwrap());
    }
    let goes_on = !matches!(run.status(), Status::Finished | Status::Failed | Status::Cancelled);
    let places = (0..run.calls().len()).map(CallIndex::from_usize).filter(|_| goes_on);
    let asked = places.filter_map(|index| Some((run.turn(), index, encode_question(&run, index)?)));
    let mut wanted: Vec<_> = asked.collect();
    let filter = QuestionFilter { run: Some(id.clone()), limit: Some(200), ..QuestionFilter::default() };
    let rows = store.approvals.list(&filter).await.unwrap().items;
    let mut found: Vec<_> = rows.iter().map(|row| (row.key.turn, row.key.index, row.body.to_vec())).collect();
    wanted.sort();
    found.sort();
    if wanted == found {
        Ok(())
    } else {
        Err(format!("{} questions are open, and the inbox has {rows:?}", wanted.len()))
    }
}

/// Every span and event of this thread as text, spans with their parents.
#[derive(Clone, Default)]
pub(crate) struct Traced(Arc<Mutex<String>>);

impl Traced {
    /// Listens until the guard is dropped.
    pub(crate) fn listen(&self) -> tracing::subscriber::DefaultGuard {
        use tracing_subscriber::fmt::format::FmtSpan;
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_span_events(FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(self.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl std::io::Write for Traced {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Traced {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Waits until the run is as wanted.
pub(crate) async fn until(agent: &Agent, run: &RunId, wanted: impl Fn(&RunResult) -> bool) -> RunResult {
    let waiting = async {
        loop {
            let result = agent.runner().result(run).await.unwrap();
            if wanted(&result) {
                return result;
            }
            let _ = tokio::time::timeout(LOOK_EVERY, agent.runner().store().runs.changed(run, result.revision())).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it happens in time")
}
