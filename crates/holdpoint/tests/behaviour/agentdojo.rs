//! The calls of AgentDojo, a benchmark of attacks on agents, under a policy that was written for its suites: what its
//! attackers make an agent ask for is stopped, what its users need passes. The numbers are those that the guide tells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::Rules;
use holdpoint::tools::{Tool, ToolCall, raw_tool};
use holdpoint::{Actor, Agent, Decisions, Outcome, RunResult};
use holdpoint_core::{Progress, ToolName};
use holdpoint_policy::Decide;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// More turns than any task has calls.
const TURNS_MAX: u32 = 64;

/// One line of what `scripts/agentdojo` writes.
#[derive(Deserialize)]
struct Line {
    suite: String,
    kind: Kind,
    task: String,
    tool: String,
    arguments: Box<RawValue>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// A tool that a suite has.
    Tool,
    /// A call that a user's task needs.
    User,
    /// A call that an attack needs.
    Attack,
}

/// The calls of one task, in order.
struct Task {
    kind: Kind,
    calls: Vec<Line>,
}

struct Benchmark {
    tools: BTreeSet<String>,
    tasks: Vec<Task>,
}

impl Benchmark {
    fn load() -> Self {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from(ROOT).join("target"), PathBuf::from);
        let file = target.join("agentdojo/calls.jsonl");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
            panic!("{} cannot be read ({error}): run ./scripts/agentdojo first", file.display())
        });
        let mut benchmark = Self { tools: BTreeSet::new(), tasks: Vec::new() };
        let mut tasks = BTreeMap::<_, Vec<Line>>::new();
        for line in text.lines() {
            let line: Line = serde_json::from_str(line).unwrap();
            match line.kind {
                Kind::Tool => {
                    benchmark.tools.insert(line.tool);
                }
                Kind::User | Kind::Attack => {
                    tasks.entry((line.kind, line.suite.clone(), line.task.clone())).or_default().push(line);
                }
            }
        }
        benchmark.tasks = tasks.into_iter().map(|((kind, ..), calls)| Task { kind, calls }).collect();
        benchmark
    }
}

fn rules() -> Rules {
    Rules::load(format!("{ROOT}/docs/samples/agentdojo.toml")).unwrap()
}

/// What became of a call before anybody answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Passed,
    Held,
    Denied,
}

/// What people say when they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum People {
    Approve,
    Refuse,
}

/// What tools were called with, in order.
type Executed = Arc<Mutex<Vec<(String, String)>>>;

/// An agent with the tools of all suites, which only remember, and a model that asks for these calls, one a turn.
fn agent(tools: &BTreeSet<String>, calls: &[Line], executed: &Executed) -> Agent {
    let tool = |name: &String| -> Arc<dyn Tool> {
        let (executed, registered) = (Arc::clone(executed), name.clone());
        Arc::new(raw_tool(name.as_str(), "", json!({"type": "object"}), move |call: ToolCall| {
            executed.lock().unwrap().push((registered.clone(), call.arguments().expose().to_owned()));
            async { "ok".to_owned() }
        }))
    };
    let reply = |(number, call): (usize, &Line)| ScriptedReply::call(&id(number), &call.tool, call.arguments.get());
    let mut script: Vec<ScriptedReply> = calls.iter().enumerate().map(reply).collect();
    script.push(ScriptedReply::text("done"));
    let agent = Agent::builder().model(ScriptedModel::new(script)).tools(tools.iter().map(tool));
    agent.policy(rules()).max_turns(TURNS_MAX).build().unwrap()
}

fn id(number: usize) -> String {
    format!("call-{number}")
}

fn answers(paused: &RunResult, people: People) -> Decisions {
    let person = Actor { id: Some("ana".into()), roles: ["finance".into()].into(), tenant: None };
    let decide = |decisions: Decisions, call: String| match people {
        People::Approve => decisions.allow(call.as_str()),
        People::Refuse => decisions.deny(call.as_str(), "nobody wanted that"),
    };
    let asked = paused.pending_confirmations().into_iter().map(|pending| pending.id.to_string());
    asked.fold(Decisions::new(), decide).by(person)
}

/// Runs a task to its end. Nothing that is held runs before a person says so, and nothing that is refused or denied runs.
async fn fates(benchmark: &Benchmark, task: &Task, people: People) -> Vec<Fate> {
    let executed = Executed::default();
    let agent = agent(&benchmark.tools, &task.calls, &executed);
    let mut held = BTreeSet::new();
    let mut result = agent.chat("go").await.unwrap();
    while result.is_awaiting_confirmation() {
        let before = executed.lock().unwrap().len();
        assert_eq!(before, result.tool_executions() as usize);
        held.extend(result.pending_confirmations().into_iter().map(|pending| pending.id.to_string()));
        let answers = answers(&result, people);
        result = agent.resume(result.continuation().unwrap(), answers).await.unwrap();
    }
    assert_eq!(result.text().as_deref(), Some("done"));
    let records = result.records();
    assert_eq!(records.len(), task.calls.len());
    let mut ran = executed.lock().unwrap().clone().into_iter();
    let mut fates = Vec::new();
    for (number, (call, record)) in task.calls.iter().zip(&records).enumerate() {
        let fate = match record.progress {
            _ if held.contains(&id(number)) => Fate::Held,
            Progress::Settled(Outcome::Succeeded) => Fate::Passed,
            Progress::Settled(Outcome::Denied) => Fate::Denied,
            other => panic!("{} came out as {other:?}", call.tool),
        };
        if fate == Fate::Passed || (fate == Fate::Held && people == People::Approve) {
            assert_eq!(ran.next().map(|(tool, _)| tool).as_deref(), Some(&*call.tool), "it ran, in its turn");
        }
        fates.push(fate);
    }
    assert_eq!(ran.next(), None, "nothing else ran");
    fates
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    held: usize,
    denied: usize,
}

impl Counts {
    fn add(&mut self, fate: Fate) {
        match fate {
            Fate::Passed => self.passed += 1,
            Fate::Held => self.held += 1,
            Fate::Denied => self.denied += 1,
        }
    }

    fn row(self, what: &str) -> String {
        let Counts { passed, held, denied } = self;
        format!("| {what} | {} | {passed} | {held} | {denied} |\n", passed + held + denied)
    }
}

fn only_reads(tool: &str) -> bool {
    ["get_", "search_", "list_", "read_", "check_"].iter().any(|start| tool.starts_with(start))
}

#[test]
fn the_policy_is_about_the_tools_of_the_suites() {
    let names: BTreeSet<String> = Benchmark::load().tools;
    let names: Vec<ToolName> = names.iter().map(|name| ToolName::new(name.as_str())).collect();
    let rules = rules();
    rules.check_tools(&names.iter().cloned().collect()).unwrap();
    assert_eq!(rules.warnings(), []);
    for name in names {
        let decided = rules.decide(name.as_str(), "{}").unwrap();
        assert!(decided.ground().rule.is_some(), "no rule is about {}", name.as_str());
    }
}

#[tokio::test]
async fn every_attack_is_stopped_and_every_legitimate_read_passes() {
    let benchmark = Benchmark::load();
    let rules = rules();
    let (mut attack, mut legitimate, mut reads) = (Counts::default(), Counts::default(), Counts::default());
    let mut attacks = 0;
    for task in &benchmark.tasks {
        let found = fates(&benchmark, task, People::Refuse).await;
        assert_eq!(found, fates(&benchmark, task, People::Approve).await, "a yes changes nothing but what was asked");
        for (call, fate) in task.calls.iter().zip(&found) {
            let decided = Decide::of(&rules.decide(&call.tool, call.arguments.get()).unwrap());
            let expected = match decided {
                Decide::Allow => Fate::Passed,
                Decide::Confirm => Fate::Held,
                Decide::Deny => Fate::Denied,
            };
            assert_eq!(*fate, expected, "{}", call.tool);
            match task.kind {
                Kind::Attack => attack.add(*fate),
                Kind::User => {
                    legitimate.add(*fate);
                    if only_reads(&call.tool) {
                        reads.add(*fate);
                    }
                }
                Kind::Tool => {}
            }
            let reads = task.kind == Kind::User && only_reads(&call.tool);
            assert!(!reads || *fate == Fate::Passed, "a legitimate read by {} passes", call.tool);
            let harms = task.kind == Kind::Attack && !only_reads(&call.tool);
            assert!(!harms || *fate != Fate::Passed, "an attack by {} is stopped", call.tool);
        }
        if task.kind == Kind::Attack {
            attacks += 1;
            assert!(found.iter().any(|fate| *fate != Fate::Passed), "some step of every attack is stopped");
        }
    }
    let table = [
        "| calls | all | pass | wait for a person | denied |\n|---|---|---|---|---|\n".to_owned(),
        attack.row(&format!("of the {attacks} attacks")),
        legitimate.row("of users' tasks"),
        reads.row("of these, calls that only read"),
    ]
    .concat();
    let guide = std::fs::read_to_string(format!("{ROOT}/docs/guide/policies.md")).unwrap();
    assert!(guide.contains(&table), "docs/guide/policies.md must say what was measured:\n{table}");
}
