//! What the run of the story is told.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::*;

use super::{arguments, person, settlement};

pub(crate) fn started() -> Input {
    let settings = Settings {
        max_turns: 7,
        max_tool_calls_per_turn: 8,
        context_keys: BTreeSet::from(["user_id".into(), "tier".into()]),
        context_window: Some(ContextWindow { tokens: 128_000, reserved_output_tokens: 4_000 }),
        executor: ExecutorChoice {
            name: "concurrent".into(),
            routes: vec![Route { pattern: "mail_*".into(), executor: "defer_all".into() }],
            parallel: Parallel::All,
            max_concurrency: None,
        },
        ..Settings::default()
    };
    Input::Started(Box::new(Started {
        settings: Arc::new(settings),
        context: Attributes::from([("user_id".into(), JsonText::new("7")), ("secret".into(), JsonText::new("true"))]),
        agent: Some("support".into()),
        model: None,
        system_prompt: Some("You help customers.".into()),
        messages: history().into_iter().map(Arc::new).collect(),
        actor: person("zoe"),
        session: None,
        trace: None,
    }))
}

fn history() -> Vec<Message> {
    let before = MessageCall {
        id: "s1".into(),
        provider_id: Some("".into()),
        name: "shell.exec".into(),
        arguments: CallArguments::Canonical(arguments("shell_exec", r#"{"line":"ls"}"#)),
    };
    let image = Block::Image(Blob { media_type: "image/png".into(), bytes: Arc::from(*b"\x89PNG") });
    vec![
        Message::user("earlier"),
        Message::Assistant(AssistantMessage {
            text: "".into(),
            thinking: Some("hm".into()),
            calls: vec![before],
            ..AssistantMessage::default()
        }),
        Message::Tool(ToolMessage {
            call: "s1".into(),
            provider_id: Some("".into()),
            result: Arc::new(ToolResult::success("a\tb")),
        }),
        Message::User(vec![Block::text("refund order 42"), image]),
    ]
}

fn call(id: &str, name: &str, text: &str) -> ProposedCall {
    let tool = name.replace('.', "_");
    ProposedCall {
        provider_id: Some(id.into()),
        name: name.into(),
        tool: Some(ToolFacts {
            name: ToolName::new(tool.as_str()),
            repeat: Repeat::Never,
            source: "native".into(),
            definition: None,
        }),
        arguments: CallArguments::Canonical(arguments(&tool, text)),
        problem: None,
    }
}

fn problem(code: Code, text: &str) -> Option<Problem> {
    Some(Problem { code, text: text.into() })
}

pub(crate) fn first_reply() -> Input {
    let look = call("look", "look_up", r#"{"order":"42"}"#);
    let facts =
        ToolFacts { name: "look_up".into(), repeat: Repeat::WithKey, source: "mcp:orders".into(), definition: None };
    let calls = vec![
        call("mail", "mail.send", r#"{"to":"ana","amount":250,"id":9007199254740993}"#),
        ProposedCall { tool: Some(facts), ..look.clone() },
        ProposedCall {
            provider_id: None,
            tool: None,
            arguments: CallArguments::Canonical(arguments("no.such", "{}")),
            problem: problem(Code::ToolNotFound, "there is no such tool"),
            ..call("", "no.such", "{}")
        },
        ProposedCall {
            arguments: CallArguments::Unusable("{\"a\":".into()),
            problem: problem(Code::InvalidArguments, "not JSON"),
            ..look.clone()
        },
        call("pay", "pay", "{}"),
        call("drop", "drop", r#"{"table":"users"}"#),
        ProposedCall {
            arguments: CallArguments::Dropped { len_bytes: 200_001 },
            problem: problem(Code::ArgumentsTooLarge, "too large"),
            ..look.clone()
        },
        call("last", "last", "{}"),
        call("above", "above", "{}"),
    ];
    let usage = Usage { input: 120, output: 30, cache_read: 100, cache_write: 3, reasoning: 0 };
    let thinking = Some("The order is known.".into());
    let reply =
        Reply { text: "Let me see.".into(), thinking, calls, usage, stop: ModelStop::ToolUse, provider_state: None };
    Input::Replied(Box::new(Replied { reply: Some(reply), latency_us: 1_500 }))
}

pub(crate) fn confirm() -> Decision {
    let ground = Ground { reason: Some("mail leaves the house".into()), rule: Some("rule 2".into()), policy: None };
    let terms = Terms {
        approvers: BTreeSet::from(["finance".into()]),
        quorum: 2,
        expires_in_ms: Some(3_600_000),
        ..Terms::default()
    };
    Decision::Confirm(ground, terms)
}

pub(crate) fn authorized() -> Input {
    Input::Authorized(Authorized::new(vec![
        (CallIndex(0), confirm()),
        (CallIndex(1), Decision::allow()),
        (CallIndex(4), Decision::confirm("money")),
        (CallIndex(5), Decision::confirm("data")),
        (CallIndex(7), Decision::deny("not today")),
    ]))
}

pub(crate) fn answer(who: &str, call: &str, answer: Answer) -> Input {
    answer_in(1, who, call, answer)
}

pub(crate) fn answer_in(turn: u32, who: &str, call: &str, answer: Answer) -> Input {
    // Policy is asked about edited arguments, and only about those.
    let decision = matches!(answer, Answer::ApproveEdited(_)).then(confirm);
    // Whoever approves as it is says why.
    let reason = matches!(answer, Answer::Approve).then(|| "seen the order".into());
    Input::Answered(Box::new(Answered {
        target: batch(turn),
        actor: person(who),
        answers: vec![(call.into(), GivenAnswer { decision, reason, ..GivenAnswer::new(answer, None) })],
        missing: Missing::Wait,
        context: Attributes::from([("tier".into(), JsonText::new("\"gold\""))]),
        request: None,
    }))
}

pub(crate) fn delivered(call: &str, result: ToolResult) -> Input {
    Input::Delivered(Box::new(Delivered {
        target: batch(1),
        results: vec![(call.into(), Arc::new(result))],
        missing: Missing::Wait,
        context: Attributes::new(),
        request: None,
    }))
}

fn batch(turn: u32) -> Target {
    Target::Batch(BatchId { run: RunId::new("run-1"), turn: Turn(turn) })
}

pub(crate) fn second_reply() -> Input {
    let calls = vec![call("look", "look_up", "{}"), call("look", "look_up", r#"{"order":"43"}"#)];
    let usage = Usage { input: 200, output: 10, ..Usage::default() };
    let reply = Reply { text: "".into(), thinking: None, calls, usage, stop: ModelStop::ToolUse, provider_state: None };
    Input::Replied(Box::new(Replied { reply: Some(reply), latency_us: 900 }))
}

pub(crate) fn allowed() -> Input {
    let decisions = vec![(CallIndex(0), Decision::allow()), (CallIndex(1), Decision::allow())];
    Input::Authorized(Authorized::new(decisions))
}

pub(crate) fn returned(call: u32) -> Input {
    let settlement = settlement(Outcome::Succeeded, ToolResult::success("43 is paid"));
    Input::Returned(Box::new(Returned { call: CallIndex(call), attempt: Some(Attempt(1)), settlement }))
}

pub(crate) fn said(text: &str, stop: ModelStop) -> Input {
    let reply = Reply {
        text: text.into(),
        thinking: None,
        calls: Vec::new(),
        usage: Usage::default(),
        stop,
        provider_state: None,
    };
    Input::Replied(Box::new(Replied { reply: Some(reply), latency_us: 0 }))
}
