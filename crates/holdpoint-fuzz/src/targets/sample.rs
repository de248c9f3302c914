//! A run that goes through as much as one run can, told step by step to the real core.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_codec::{arguments_for, new_run, parse_arguments};
use holdpoint_core::{
    Actor, Answer, Answered, Arguments, Attempt, Attributes, Authorized, BatchId, Began, Blob, Block, CallArguments,
    CallIndex, CallLease, Cancelled, Code, Completeness, Covers, Decision, Deferred, Delivered, Event, Fence, FourEyes,
    GivenAnswer, GrantId, Ground, HookFailed, Input, JsonText, LogEntry, LossCause, Message, Missing, ModelFailed,
    ModelStop, Outcome, Problem, ProposedCall, Reach, Remember, Repeat, Replied, Reply, Returned, Run, RunId, Settings,
    Settlement, Siblings, Source, Started, Target, TaskLate, TaskLost, Terms, Timestamp, ToolFacts, ToolName,
    ToolResult, Turn, Usage,
};

/// A run with its log, and how it was at its two kinds of pause.
pub(super) struct Sample {
    /// Paused for people: a question for two of them, a call in doubt, and settled calls beside them.
    pub(super) for_people: Run,
    /// Paused for results.
    pub(super) for_results: Run,
    /// Paused for people because a worker lost a call, with what it brought too late.
    pub(super) lost: Run,
    /// Everything that happened, and a few things that happen to other runs.
    pub(super) log: Vec<LogEntry>,
}

struct Telling {
    run: Run,
    log: Vec<LogEntry>,
    now: Timestamp,
}

pub(super) fn sample() -> Sample {
    let mut telling =
        Telling { run: new_run(RunId::new("run-1")), log: Vec::new(), now: Timestamp(1_700_000_000_000_000) };
    telling.tell(started());
    telling.tell(reply());
    let shadows = vec![(CallIndex(0), confirm())];
    telling.tell(Input::Authorized(Authorized { shadows, ..Authorized::new(decisions()) }));
    telling.tell(began(0));
    telling.tell(returned(0, rich_result()));
    telling.tell(began(2));
    // The process dies: what was started and may not be repeated is in doubt.
    telling.tell(Input::Recovered(holdpoint_core::Recovered::default()));
    let for_people = telling.run.clone();
    let edited = arguments("refund", r#"{"order":"43","amount":1}"#);
    telling.answer("ana", "refund", Answer::ApproveEdited(edited));
    telling.answer("bo", "refund", Answer::Approve);
    telling.answer("ana", "pay", Answer::Happened(Arc::new(ToolResult::success("paid"))));
    telling.tell(Input::HookFailed(HookFailed { call: CallIndex(1), detail: "no connection".into(), returned: None }));
    telling.tell(Input::Retried(holdpoint_core::Retried::default()));
    telling.tell(Input::Deferred(Deferred { call: CallIndex(1), recheck: None }));
    let for_results = telling.run.clone();
    telling.tell(lost());
    telling.tell(late());
    let lost = telling.run.clone();
    telling.answer("ana", "refund", Answer::Approve);
    telling.answer("bo", "refund", Answer::Approve);
    telling.tell(Input::Deferred(Deferred { call: CallIndex(1), recheck: None }));
    telling.tell(delivered());
    telling.tell(Input::ModelFailed(ModelFailed { detail: "503".into() }));
    telling.tell(Input::Retried(holdpoint_core::Retried::default()));
    telling.tell(Input::Cancelled(Cancelled { reason: Some("enough".into()), ..Cancelled::by(person("ana")) }));
    let (mut log, at) = (telling.log, telling.now);
    let mut others = vec![Event::CallRequeued { call: CallIndex(3) }, Event::CallExpired { call: CallIndex(0) }];
    others.extend(for_people.snapshot().map(|snapshot| Event::Imported(Arc::new(snapshot))));
    others.extend(of_grants());
    others.push(Event::TurnEnded { turn: for_people.turn(), completeness: Completeness::Complete });
    log.extend(others.into_iter().map(|event| LogEntry { at, event }));
    Sample { for_people, for_results, lost, log }
}

/// What happens to runs in which people said more than yes.
fn of_grants() -> [Event; 3] {
    let (call, grant, actor) = (CallIndex(1), GrantId::of(&RunId::new("run-1"), 1), person("ana"));
    let tool = ToolFacts { definition: Some("definition-2".into()), ..facts("refund", Repeat::Never) };
    [
        Event::GrantUsed { call, grant: grant.clone(), actor: actor.clone() },
        Event::GrantRevoked { grant, actor },
        Event::ToolChanged { call, tool },
    ]
}

impl Telling {
    fn tell(&mut self, input: Input) {
        self.now = self.now.plus_ms(250);
        let events = self.run.step(input, self.now).expect("the sample tells what can happen");
        self.log.extend(events);
    }

    /// Somebody answers the question that they are shown.
    fn answer(&mut self, who: &str, call: &str, answer: Answer) {
        let index = self.run.calls().iter().position(|known| known.id.as_str() == call);
        let shown = index.and_then(|index| self.run.question_digest(CallIndex::from_usize(index)));
        // Policy is asked about edited arguments, and only about those.
        let decision = matches!(answer, Answer::ApproveEdited(_)).then(confirm);
        let until = Some(Timestamp(1_800_000_000_000_000));
        let remember = Remember { covers: Covers::TheseArguments, reach: Reach::Session, until };
        let remember = decision.is_some().then_some(remember);
        self.tell(Input::Answered(Box::new(Answered {
            target: batch(),
            actor: person(who),
            answers: vec![(call.into(), GivenAnswer { decision, remember, ..GivenAnswer::new(answer, shown) })],
            missing: Missing::Wait,
            context: Attributes::from([("tier".into(), JsonText::new("\"gold\""))]),
            request: Some("request-1".into()),
        })));
    }
}

fn started() -> Input {
    let settings = Settings {
        siblings: Siblings::Run,
        task_deadline_ms: Some(3_600_000),
        context_keys: BTreeSet::from(["user_id".into(), "tier".into()]),
        ..Settings::default()
    };
    Input::Started(Box::new(Started {
        settings: Arc::new(settings),
        context: Attributes::from([("user_id".into(), JsonText::new("7")), ("secret".into(), JsonText::new("true"))]),
        agent: Some("support".into()),
        model: None,
        system_prompt: Some("You help customers.".into()),
        messages: vec![Arc::new(Message::User(vec![Block::text("refund order 42"), image()]))],
        actor: person("zoe"),
        session: Some("talk".into()),
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
    }))
}

fn calls() -> Vec<ProposedCall> {
    vec![
        call("look", "look_up", Repeat::Safe, r#"{"order":"42"}"#),
        call("refund", "refund", Repeat::Never, r#"{"order":"42","amount":250,"id":9007199254740993}"#),
        call("pay", "pay", Repeat::Never, "{}"),
        ProposedCall {
            tool: None,
            problem: Some(Problem { code: Code::ToolNotFound, text: "there is no such tool".into() }),
            ..call("", "shell.exec", Repeat::Never, "{}")
        },
        ProposedCall {
            arguments: CallArguments::Unusable("{\"a\":".into()),
            problem: Some(Problem { code: Code::InvalidArguments, text: "not JSON".into() }),
            ..call("look", "look_up", Repeat::Safe, "{}")
        },
    ]
}

fn call(id: &str, name: &str, repeat: Repeat, text: &str) -> ProposedCall {
    ProposedCall {
        provider_id: Some(id.into()),
        name: name.into(),
        tool: Some(facts(name, repeat)),
        arguments: CallArguments::Canonical(arguments(name, text)),
        problem: None,
    }
}

fn facts(name: &str, repeat: Repeat) -> ToolFacts {
    ToolFacts { name: ToolName::new(name), repeat, source: "native".into(), definition: Some("definition-1".into()) }
}

fn arguments(name: &str, text: &str) -> Arguments {
    let canonical = parse_arguments(Some(text)).expect("the sample's arguments are objects");
    arguments_for(name, &canonical)
}

fn decisions() -> Vec<(CallIndex, Decision)> {
    vec![(CallIndex(0), Decision::allow()), (CallIndex(1), confirm()), (CallIndex(2), Decision::allow())]
}

fn confirm() -> Decision {
    let ground =
        Ground { reason: Some("refund above 100".into()), rule: Some("rule 2".into()), policy: Some("p-1".into()) };
    let approvers = BTreeSet::from(["finance".into()]);
    let terms = Terms { approvers, quorum: 2, expires_in_ms: Some(3_600_000), four_eyes: FourEyes::On };
    Decision::Confirm(ground, terms)
}

fn reply() -> Input {
    let reply = Reply {
        text: "Let me see.".into(),
        thinking: Some("The order is known.".into()),
        calls: calls(),
        usage: Usage { input: 120, output: 30, cache_read: 100, cache_write: 0, ..Usage::default() },
        stop: ModelStop::ToolUse,
        provider_state: None,
    };
    Input::Replied(Box::new(Replied { reply: Some(reply), latency_us: 1_500 }))
}

fn began(call: u32) -> Input {
    Input::Began(Began { call: CallIndex(call), recheck: None, after: None })
}

fn returned(call: u32, result: ToolResult) -> Input {
    let settlement = Settlement {
        outcome: Outcome::Succeeded,
        code: None,
        source: Some(Source::Tool),
        result: Arc::new(result),
        latency_us: 42,
    };
    Input::Returned(Box::new(Returned { call: CallIndex(call), attempt: Some(Attempt(1)), settlement }))
}

pub(super) fn rich_result() -> ToolResult {
    let file = Blob { media_type: "text/csv".into(), bytes: Arc::from(*b"a,b\n") };
    let blocks = vec![
        Block::text("found\n\u{1f600}"),
        Block::Json(JsonText::new("{\"a\":[1,null]}")),
        image(),
        Block::File(file),
    ];
    ToolResult::from_blocks(blocks).with_metadata("took_ms", JsonText::new("12"))
}

fn image() -> Block {
    Block::Image(Blob { media_type: "image/png".into(), bytes: Arc::from(*b"\x89PNG") })
}

fn delivered() -> Input {
    Input::Delivered(Box::new(Delivered {
        target: batch(),
        results: vec![("refund".into(), Arc::new(ToolResult::error("the bank is closed")))],
        missing: Missing::Wait,
        context: Attributes::new(),
        request: None,
    }))
}

fn lost() -> Input {
    let lease = CallLease {
        turn: Turn(1),
        call: CallIndex(1),
        attempt: Attempt(2),
        fence: Fence(3),
        worker: "w-1".into(),
        since: Timestamp(1_700_000_001_000_000),
    };
    Input::TaskLost(TaskLost { lease, cause: LossCause::LeaseLapsed })
}

fn late() -> Input {
    let (turn, call, attempt) = (Turn(1), CallIndex(1), Attempt(1));
    Input::TaskLate(Box::new(TaskLate { turn, call, attempt, worker: "w-1".into(), result: Arc::new(rich_result()) }))
}

fn batch() -> Target {
    Target::Batch(BatchId { run: RunId::new("run-1"), turn: Turn(1) })
}

fn person(name: &str) -> Actor {
    Actor { id: Some(name.into()), roles: BTreeSet::from(["finance".into()]), tenant: None }
}

#[cfg(test)]
mod tests;
