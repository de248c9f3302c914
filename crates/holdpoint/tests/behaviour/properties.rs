//! Random agents, answers and crashes: whatever happens, a run stays consistent and can be finished.

use crate::common;
use crate::interrupted::{At, Interrupted, Moment};

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::policy_fn;
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{
    Agent, AgentBuilder, Decision, Decisions, Message, Parallel, Repeat, Results, RunId, RunRequest, RunResult,
    Siblings, Status, ToolResult,
};
use holdpoint_core::{Progress, Revision};
use holdpoint_store::{FaultPoint, FaultyStore, MemoryStore, Store};
use proptest::prelude::*;
use serde_json::json;

/// What a tool's name says about it.
const TOOLS: [&str; 8] =
    ["run_never", "run_safe", "side_never", "side_safe", "ask_never", "ask_safe", "deny_never", "far_never"];
const MODES: [&str; 5] = ["inline", "concurrent", "threads", "defer_all", "routed"];

#[derive(Clone, Debug)]
struct Plan {
    turns: Vec<Vec<usize>>,
    mode: usize,
    siblings: Siblings,
    /// What goes wrong in which segment, and how people answer, one number each.
    dice: Vec<u8>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let turn = proptest::collection::vec(0..=TOOLS.len(), 1..5);
    let turns = proptest::collection::vec(turn, 1..4);
    let siblings = prop_oneof![Just(Siblings::Hold), Just(Siblings::Run)];
    (turns, 0..MODES.len(), siblings, proptest::collection::vec(any::<u8>(), 24))
        .prop_map(|(turns, mode, siblings, dice)| Plan { turns, mode, siblings, dice })
}

/// The tool of each call that ran and how often, by the call's key.
type Ran = BTreeMap<String, (String, u32)>;

struct World {
    store: Store,
    model: ScriptedModel,
    ran: Arc<Mutex<Ran>>,
    plan: Plan,
    dice: std::vec::IntoIter<u8>,
}

impl World {
    fn new(plan: &Plan) -> Self {
        // After a crash the model may be asked again, so each reply comes from how many replies there were.
        let mut script = Vec::new();
        for turn in &plan.turns {
            let calls: Vec<(String, &str)> =
                turn.iter().enumerate().map(|(i, tool)| (format!("c{i}"), name(*tool))).collect();
            let calls: Vec<(&str, &str, &str)> = calls.iter().map(|(id, tool)| (&**id, *tool, "{}")).collect();
            script.push(ScriptedReply::calls(&calls));
        }
        script.push(ScriptedReply::text("done"));
        Self {
            store: Arc::new(common::Inboxed(Store::from(MemoryStore::new()))).store(),
            model: ScriptedModel::repeating(script),
            ran: Arc::default(),
            plan: plan.clone(),
            dice: plan.dice.clone().into_iter(),
        }
    }

    fn roll(&mut self, sides: u8) -> u8 {
        self.dice.next().unwrap_or(0) % sides
    }

    fn process(&self, store: &Store) -> Agent {
        let policy = policy_fn(|request| match request.tool.as_str() {
            name if name.starts_with("ask") => Decision::confirm("?"),
            name if name.starts_with("deny") => Decision::deny("never"),
            _ => Decision::allow(),
        });
        let builder = Agent::builder().shared_model(Arc::new(self.model.clone())).policy(policy).max_turns(40);
        let builder = TOOLS.iter().fold(builder, |builder, name| builder.tool(self.tool(name)));
        let builder = match MODES[self.plan.mode] {
            "routed" => builder.route("far_*", "defer_all").route("side_*", "concurrent"),
            mode => builder.with_tool_concurrency(mode, 2),
        };
        let builder: AgentBuilder = builder.parallel(Parallel::All).siblings(self.plan.siblings);
        builder.store(store.clone()).build().unwrap()
    }

    fn tool(&self, name: &str) -> holdpoint::tools::MadeTool {
        let ran = Arc::clone(&self.ran);
        let repeat = if name.ends_with("safe") { Repeat::Safe } else { Repeat::Never };
        let tool = raw_tool(name, "Counts", json!({"type": "object"}), move |call: ToolCall| {
            let mut ran = ran.lock().unwrap();
            ran.entry(call.idempotency_key().to_string()).or_insert((call.tool().to_string(), 0)).1 += 1;
            async move {
                tokio::task::yield_now().await;
                call.id().to_string()
            }
        });
        tool.repeat(repeat).parallelizable(name.starts_with("side"))
    }

    /// One segment, which may die on the way; then another process takes the run over.
    async fn segment(&mut self, id: &RunId, step: Step) -> RunResult {
        let faulty = FaultyStore::new(self.store.clone());
        let dying = Interrupted::new(faulty.store());
        let agent = self.process(&dying.store());
        let mut death = None;
        match self.roll(8) {
            0 => death = Some(At::AfterCommit),
            1 => death = Some(At::BeforeCommit),
            2 => faulty.fail_commit(1 + u64::from(self.roll(3)), FaultPoint::Before),
            3 => faulty.fail_commit(1 + u64::from(self.roll(3)), FaultPoint::After),
            _ => {}
        }
        let segment = match step.clone() {
            Step::Start => agent.chat(RunRequest::new("go").with_run_id(id.clone())),
            Step::Decide(paused, decisions) => agent.resume(&*paused, decisions),
            Step::Deliver(paused, results) => agent.resume_with_tool_results(&*paused, results),
        };
        let result = match death {
            Some(at) => dying.dies(Moment { at, skip: self.roll(4) as usize }, segment).await,
            None => Some(segment.await),
        };
        match result {
            Some(Ok(result)) => result,
            Some(Err(_)) | None => {
                let healthy = self.process(&self.store.clone());
                match healthy.runner().recover(id).await {
                    Ok(result) => result,
                    // Nothing of it was durable.
                    Err(_) => healthy.chat(RunRequest::new("go").with_run_id(id.clone())).await.unwrap(),
                }
            }
        }
    }

    /// Answers everything, or only some of it.
    fn answer(&mut self, paused: RunResult) -> Step {
        let partial = self.roll(3) == 0;
        let pending = paused.pending();
        let kept = if partial { 1 } else { pending.len() };
        if paused.is_awaiting_results() {
            let results: Results =
                pending[..kept].iter().map(|call| (call.id.clone(), ToolResult::success(call.id.as_str()))).collect();
            return Step::Deliver(Box::new(paused), if partial { results.partial() } else { results });
        }
        let mut decisions = Decisions::new();
        for call in &pending[..kept] {
            let id = call.id.clone();
            decisions = match (self.roll(4), call.is_uncertain()) {
                (0, _) => decisions.deny(id, "no"),
                // A person who lets an uncertain call run again answers for it.
                (1, true) => decisions.happened(id.clone(), ToolResult::success(id.as_str())),
                (1, false) => decisions.answer(id.clone(), ToolResult::success(id.as_str())),
                (_, true) => decisions.deny(id, "give up"),
                (_, false) => decisions.allow(id),
            };
        }
        Step::Decide(Box::new(paused), if partial { decisions.partial() } else { decisions })
    }

    async fn finish(&mut self) -> RunResult {
        let id = RunId::new("run");
        let mut step = Step::Start;
        for _ in 0..200 {
            let result = self.segment(&id, step).await;
            if result.continuation().is_none() {
                return result;
            }
            step = self.answer(result);
        }
        panic!("the run does not end");
    }
}

#[derive(Clone)]
enum Step {
    Start,
    Decide(Box<RunResult>, Decisions),
    Deliver(Box<RunResult>, Results),
}

/// One more than there are tools: nobody's.
fn name(tool: usize) -> &'static str {
    TOOLS.get(tool).copied().unwrap_or("nobody")
}

/// Every call is settled, has its one message in order, and ran as often as it may.
fn expect_consistent(result: &RunResult, ran: &Ran) {
    assert_eq!(result.status(), Status::Finished);
    assert_eq!(result.text().as_deref(), Some("done"));
    let records = result.records();
    assert!(records.iter().all(|record| matches!(record.progress, Progress::Settled(_))));
    let mut answered = Vec::new();
    let mut asked = Vec::new();
    for message in result.messages() {
        match &**message {
            Message::Assistant(message) => asked.extend(message.calls.iter().map(|call| call.id.clone())),
            Message::Tool(message) => answered.push(message.call.clone()),
            Message::System(_) | Message::User(_) => {}
        }
    }
    assert_eq!(asked, answered, "each call has its answer, in the order in which it was asked for");
    assert_eq!(records.iter().map(|record| record.id.clone()).collect::<Vec<_>>(), asked);
    for record in &records {
        let safe = record.tool.as_ref().is_some_and(|tool| tool.as_str().ends_with("safe"));
        assert!(safe || record.attempts.0 <= 1, "{record:?}");
    }
    let most = records.iter().map(|record| record.attempts.0).max().unwrap_or(0);
    for (tool, times) in ran.values() {
        assert!(*times <= if tool.ends_with("safe") { most } else { 1 }, "{tool} ran {times} times");
        assert!(!tool.starts_with("deny"), "{tool} ran");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_can_be_finished_and_nothing_runs_more_often_than_it_may(plan in plan()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new(&plan);
            let result = world.finish().await;
            let ran = world.ran.lock().unwrap().clone();
            expect_consistent(&result, &ran);
            // A late reader sees what happened, and ends where it ended.
            let agent = world.process(&world.store.clone());
            let events = agent.runner().events(result.run_id(), Revision(0)).await.unwrap();
            let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
            assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
            assert_eq!(events.last().unwrap()["event"], "done");
        });
    }
}
