//! Inputs by dice: sensible ones that follow what is owed, and any.

use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Answered, Attempt, Attributes, Authorized, BatchId, Began, CallId, CallIndex, CallState, Cancelled,
    ContextWindow, ContinuationId, Decision, Deferred, Delivered, Effect, GivenAnswer, Grant, GrantId, GrantRevoked,
    HookFailed, Input, JsonText, Measured, Message, Missing, ModelFailed, ModelStop, PauseNumber, Replied, Reply,
    ResultOrder, Returned, Run, RunId, Settings, Siblings, Source, Started, Target, ToolResult, Turn, Usage,
};

use super::workers;
use crate::support::{arguments, decision, plans, remember, settlement};

/// What a tool gives, so that it is recognized where it must not be.
pub(super) const OUTPUT: &str = "OUTPUT";

/// A run, and what people said in it about calls that are yet to come.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) run: &'a Run,
    pub(super) grants: &'a [Arc<Grant>],
}

/// A few bytes, taken over and over.
pub(super) struct Dice<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Dice<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// A number below `sides`.
    pub(super) fn throw(&mut self, sides: u8) -> u8 {
        let round = u8::try_from(self.at / self.bytes.len()).unwrap_or(u8::MAX);
        let byte = self.bytes[self.at % self.bytes.len()];
        self.at += 1;
        byte.wrapping_add(round.wrapping_mul(37)) % sides
    }

    pub(super) fn one_of<'b>(&mut self, words: &[&'b str]) -> &'b str {
        words[usize::from(self.throw(u8::try_from(words.len()).unwrap()))]
    }
}

pub(super) fn started(bytes: &[u8]) -> Input {
    let mut dice = Dice::new(bytes);
    let mut settings = Settings { max_turns: u32::from(dice.throw(4)) + 1, ..Settings::default() };
    if dice.throw(2) == 0 {
        settings.siblings = Siblings::Run;
    }
    if dice.throw(2) == 0 {
        settings.result_order = ResultOrder::Completion;
    }
    if dice.throw(3) == 0 {
        settings.max_tool_calls_per_turn = u32::from(dice.throw(4));
    }
    if dice.throw(3) == 0 {
        settings.task_deadline_ms = Some(dice.throw(60).into());
    }
    settings.context_window = Some(ContextWindow { tokens: 100, reserved_output_tokens: 10 });
    settings.context_keys = ["user".into()].into();
    Input::Started(Box::new(Started {
        settings: Arc::new(settings),
        context: Attributes::new(),
        agent: None,
        model: None,
        system_prompt: None,
        messages: vec![Arc::new(Message::user("go"))],
        actor: person(dice.one_of(&["ana", "ben", "zoe", "nobody"]), &mut dice),
        session: (dice.throw(2) == 0).then(|| "talk".into()),
        trace: None,
    }))
}

fn person(name: &str, dice: &mut Dice) -> Actor {
    let roles = if dice.throw(4) == 0 { [].into() } else { [dice.one_of(&["finance", "board"]).into()].into() };
    Actor { id: (name != "nobody").then(|| name.into()), roles, tenant: None }
}

/// Something that a good driver, or a person, would do now.
pub(super) fn owed(known: Known<'_>, dice: &mut Dice) -> Input {
    let run = known.run;
    match run.owed().into_iter().next_back() {
        Some(Effect::CallModel { .. }) => match dice.throw(16) {
            0 => Input::ModelFailed(ModelFailed { detail: "503".into() }),
            1 => Input::Replied(Box::new(Replied { reply: None, latency_us: 1 })),
            2 => Input::Measured(Measured { tokens: u64::from(dice.throw(200)) }),
            _ => replied(dice),
        },
        Some(Effect::Authorize { calls }) => {
            let decisions = calls.into_iter().map(|call| (call, policy(dice))).collect();
            authorized(known, decisions)
        }
        Some(Effect::Execute { calls }) => {
            let call = calls[usize::from(dice.throw(64)) % calls.len()];
            executed(run, call, dice)
        }
        Some(Effect::Pause { .. }) if dice.throw(6) == 0 => Input::Elapsed,
        Some(Effect::Pause { .. }) if workers::concerns(run) && dice.throw(2) == 0 => workers::any(run, dice),
        Some(Effect::Pause { .. }) => resume(run, dice),
        Some(Effect::Finish { .. }) if dice.throw(2) == 0 => Input::Retried(holdpoint_core::Retried::default()),
        Some(Effect::Finish { .. } | Effect::SetTimer { .. }) => any(known, dice),
        None => {
            let running = run.calls().iter().position(|call| matches!(call.state, CallState::Running { .. }));
            executed(run, CallIndex::from_usize(running.unwrap_or(0)), dice)
        }
    }
}

fn authorized(known: Known<'_>, decisions: Vec<(CallIndex, Decision)>) -> Input {
    Input::Authorized(Authorized { grants: known.grants.to_vec(), ..Authorized::new(decisions) })
}

/// Something that brings the run nearer to its end.
pub(super) fn finishing(run: &Run) -> Input {
    let target = run.continuation().map(Target::Continuation);
    match run.owed().into_iter().next_back() {
        Some(Effect::CallModel { .. }) => {
            Input::Replied(Box::new(Replied { reply: Some(reply("bye", "")), latency_us: 1 }))
        }
        Some(Effect::Authorize { calls }) => {
            let decisions = calls.into_iter().map(|call| (call, Decision::allow())).collect();
            Input::Authorized(Authorized::new(decisions))
        }
        Some(Effect::Execute { calls }) => {
            let settlement = settlement(ToolResult::success(OUTPUT), Source::Hook);
            Input::Returned(Box::new(Returned { call: calls[0], attempt: None, settlement }))
        }
        Some(Effect::Finish { .. }) => Input::Retried(holdpoint_core::Retried::default()),
        Some(Effect::Pause { .. } | Effect::SetTimer { .. }) | None => {
            let asked = run.calls().iter().enumerate().filter(|(_, call)| call.question().is_some());
            let refusal = |index| {
                GivenAnswer::new(Answer::Refuse { reason: None }, run.question_digest(CallIndex::from_usize(index)))
            };
            let answers: Vec<_> = asked.map(|(index, call)| (call.id.clone(), refusal(index))).collect();
            let (target, missing, context) = (target.unwrap(), Missing::Reject, Attributes::new());
            if answers.is_empty() {
                let deferred = run.calls().iter().filter(|call| matches!(call.state, CallState::Deferred { .. }));
                let result = Arc::new(ToolResult::success(OUTPUT));
                let results = deferred.map(|call| (call.id.clone(), Arc::clone(&result))).collect();
                return Input::Delivered(Box::new(Delivered { target, results, missing, context, request: None }));
            }
            // Somebody who approved nothing yet, with every role.
            let roles = ["finance".into(), "board".into()].into();
            let actor = Actor { id: Some("last".into()), roles, tenant: None };
            Input::Answered(Box::new(Answered { target, actor, answers, missing, context, request: None }))
        }
    }
}

/// Anything at all.
pub(super) fn any(known: Known<'_>, dice: &mut Dice) -> Input {
    let run = known.run;
    let call = CallIndex(u32::from(dice.throw(5)));
    match dice.throw(16) {
        0 => started(dice.bytes),
        1 => replied(dice),
        2 => authorized(known, vec![(call, policy(dice))]),
        3 | 4 => executed(run, call, dice),
        5 => Input::HookFailed(HookFailed { call, detail: "broken".into(), returned: None }),
        6 => Input::Elapsed,
        7 => Input::Recovered(holdpoint_core::Recovered::default()),
        8 if dice.throw(3) == 0 => Input::Cancelled(Cancelled::default()),
        9 => Input::Retried(holdpoint_core::Retried::default()),
        10 => Input::Measured(Measured { tokens: u64::from(dice.throw(200)) }),
        11 | 12 => workers::any(run, dice),
        13 => {
            let grant = GrantId::of(run.id(), u32::from(dice.throw(4)));
            Input::GrantRevoked(GrantRevoked { grant, actor: person("cid", dice) })
        }
        _ => resume(run, dice),
    }
}

fn replied(dice: &mut Dice) -> Input {
    let words = [
        "a(definition=v1)",
        "a(safe definition=v1)",
        "a(definition=v2)",
        "_",
        "b(bad)",
        "b(key)",
        "c(unknown)",
        "a__2",
        "tc_2",
    ];
    let calls: Vec<&str> = (0..dice.throw(5)).map(|_| dice.one_of(&words)).collect();
    let text = dice.one_of(&["", " ", "said", "said"]);
    Input::Replied(Box::new(Replied { reply: Some(reply(text, &calls.join(", "))), latency_us: 1 }))
}

fn reply(text: &str, calls: &str) -> Reply {
    let calls = plans(calls).into_iter().map(|plan| plan.call).collect();
    Reply {
        text: text.into(),
        thinking: None,
        calls,
        usage: Usage::default(),
        stop: ModelStop::EndTurn,
        provider_state: None,
    }
}

fn policy(dice: &mut Dice) -> Decision {
    let words = [
        "allow",
        "allow",
        "deny",
        "confirm",
        "confirm within=9",
        "confirm quorum=2",
        "confirm by=finance quorum=2",
        "confirm four_eyes",
    ];
    decision(dice.one_of(&words))
}

fn executed(run: &Run, call: CallIndex, dice: &mut Dice) -> Input {
    let attempts = run.call(call).map_or(Attempt(0), |call| call.attempts);
    let running = run.call(call).is_some_and(|call| matches!(call.state, CallState::Running { .. }));
    let recheck = (dice.throw(8) == 0).then(|| decision("deny"));
    let returned = |attempt, result| {
        let settlement = settlement(result, Source::Tool);
        Input::Returned(Box::new(Returned { call, attempt, settlement }))
    };
    match (dice.throw(8), running) {
        (0, _) => Input::HookFailed(HookFailed { call, detail: "broken".into(), returned: None }),
        (1, _) => Input::Deferred(Deferred { call, recheck }),
        (2, _) => returned(None, result(dice)),
        (3, _) => returned(Some(Attempt(attempts.0.wrapping_sub(1))), result(dice)),
        (5, false) => workers::changed(run, call, None, dice),
        (4, true) => Input::Recovered(holdpoint_core::Recovered::default()),
        (_, true) => returned(Some(attempts), result(dice)),
        (4, false) => Input::Deferred(Deferred { call, recheck }),
        (_, false) => Input::Began(Began { call, recheck, after: None }),
    }
}

pub(super) fn result(dice: &mut Dice) -> ToolResult {
    match dice.throw(12) {
        0 => ToolResult::halt(OUTPUT),
        1 | 2 => ToolResult::error(OUTPUT),
        _ => ToolResult::success(OUTPUT),
    }
}

fn resume(run: &Run, dice: &mut Dice) -> Input {
    let target = match dice.throw(8) {
        0 => Target::Continuation(ContinuationId { run: run.id().clone(), pause: PauseNumber(dice.throw(4).into()) }),
        1 => Target::Batch(BatchId { run: run.id().clone(), turn: Turn(dice.throw(4).into()) }),
        2 => Target::Batch(BatchId { run: RunId::new("other"), turn: Turn(1) }),
        3 | 4 => Target::Batch(run.batch()),
        _ => run.continuation().map_or(Target::Batch(run.batch()), Target::Continuation),
    };
    let missing = if dice.throw(3) == 0 { Missing::Reject } else { Missing::Wait };
    let context: Attributes = [("user".into(), JsonText::new(dice.one_of(&["1", "2"])))].into();
    let awaits = run.calls().iter().any(|call| matches!(call.state, CallState::Deferred { .. }));
    let ids: Vec<CallId> = run.calls().iter().map(|call| call.id.clone()).collect();
    let mut chosen: Vec<CallId> = ids.iter().filter(|_| dice.throw(3) > 0).cloned().collect();
    if dice.throw(10) == 0 {
        chosen.push("ghost".into());
    }
    let asks = run.calls().iter().any(|call| call.question().is_some());
    if awaits && (!asks || dice.throw(2) == 0) {
        let deferred = |id: &CallId| run.calls().iter().any(|call| call.id == *id && call.deferred);
        let chosen = chosen.into_iter().filter(|id| deferred(id) || dice.throw(10) == 0).collect::<Vec<_>>();
        let results = chosen.into_iter().map(|id| (id, Arc::new(result(dice)))).collect();
        return Input::Delivered(Box::new(Delivered { target, results, missing, context, request: None }));
    }
    let asked = |id: &CallId| run.calls().iter().any(|call| call.id == *id && call.question().is_some());
    let chosen = chosen.into_iter().filter(|id| asked(id) || dice.throw(10) == 0).collect::<Vec<_>>();
    let answers = chosen.into_iter().map(|id| answer(run, id, dice)).collect();
    let actor = person(dice.one_of(&["ana", "ben", "cid", "nobody"]), dice);
    Input::Answered(Box::new(Answered { target, actor, answers, missing, context, request: None }))
}

fn answer(run: &Run, id: CallId, dice: &mut Dice) -> (CallId, GivenAnswer) {
    let call = run.calls().iter().find(|call| call.id == id);
    let place = run.calls().iter().position(|call| call.id == id);
    let shown = place.and_then(|place| run.question_digest(CallIndex::from_usize(place)));
    let tool = call.and_then(|call| call.tool.as_ref()).map_or("t", |facts| facts.name.as_str());
    let edited = arguments(tool, dice.one_of(&["0", "1", "2"]));
    let uncertain = call.is_some_and(holdpoint_core::Call::is_uncertain);
    let answer = match dice.throw(9) {
        0 | 1 => Answer::Refuse { reason: None },
        2 => Answer::ApproveEdited(edited),
        3 if uncertain => Answer::Happened(Arc::new(result(dice))),
        3 => Answer::Supply(Arc::new(result(dice))),
        4 if dice.throw(4) == 0 => Answer::Happened(Arc::new(result(dice))),
        _ => Answer::Approve,
    };
    let digest = match dice.throw(8) {
        0 => Some(arguments(tool, "elsewhere").digest()),
        1 => None,
        _ => shown,
    };
    let words = ["any", "any", "these", "any in=session", "these until=60", "any in=tenant until=1"];
    let remember = (dice.throw(3) == 0).then(|| remember(dice.one_of(&words)));
    (id, GivenAnswer { decision: Some(policy(dice)), remember, ..GivenAnswer::new(answer, digest) })
}
