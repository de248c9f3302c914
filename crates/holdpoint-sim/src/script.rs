//! The simulated model: turns with calls, with nothing, with blanks, and failures of the provider.

use std::sync::Arc;

use holdpoint_core::{
    ContextWindow, FinalAnswer, FinalTools, Input, JsonText, Message, ModelFailed, ModelStop, ParallelToolCalls,
    Recheck, Replied, Reply, ResultOrder, Settings, Siblings, Started, Usage,
};

use crate::random::Random;
use crate::tools::{self, CANARY};

/// How the model behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Anything.
    Any,
    /// Mostly the same call over and over.
    Routine,
    /// It comes to an end at once.
    Ending,
}

/// What comes of one call of the model. `serial` makes every call of it unlike any other.
pub(crate) fn answer(random: &mut Random, serial: u64, mood: Mood) -> Input {
    let kind = match mood {
        Mood::Any => random.weighted(&[78, 9, 5, 3, 5]),
        Mood::Routine => random.weighted(&[92, 2, 2, 2, 2]),
        Mood::Ending => 1,
    };
    let calls = if kind == 0 { calls(random, serial, mood) } else { Vec::new() };
    let (text, stop) = match kind {
        0 => (if random.percent(50) { "let me see" } else { "" }, ModelStop::ToolUse),
        1 => ("this is all", ModelStop::EndTurn),
        2 => (" ", ModelStop::MaxTokens),
        3 => return Input::Replied(Box::new(Replied { reply: None, latency_us: 5 })),
        _ => return Input::ModelFailed(ModelFailed { detail: "the provider is away".into() }),
    };
    let thinking = random.percent(10).then(|| "hm".into());
    let reply = Reply { text: text.into(), thinking, calls, usage: usage(serial), stop, provider_state: None };
    Input::Replied(Box::new(Replied { reply: Some(reply), latency_us: serial }))
}

/// What a call of the model costs.
pub(crate) fn usage(serial: u64) -> Usage {
    Usage {
        input: 100 + serial,
        output: 10 + serial,
        cache_read: serial % 7,
        cache_write: serial % 3,
        reasoning: serial % 5,
    }
}

fn calls(random: &mut Random, serial: u64, mood: Mood) -> Vec<holdpoint_core::ProposedCall> {
    let count = match mood {
        Mood::Any | Mood::Ending => [1, 1, 2, 2, 3, 3, 4, 5][random.below(8)],
        Mood::Routine => [1, 1, 1, 2][random.below(4)],
    };
    let call = |random: &mut Random, place| match mood {
        Mood::Routine if random.percent(80) => tools::usual(random, serial * 8 + place),
        Mood::Any | Mood::Routine | Mood::Ending => tools::proposed(random, serial * 8 + place),
    };
    (0..count).map(|place| call(random, place)).collect()
}

/// How a run begins.
pub(crate) fn started(random: &mut Random) -> Input {
    let asks = if random.percent(80) { FinalAnswer::default().ask } else { None };
    let settings = Settings {
        max_turns: u32::try_from(1 + random.below(7)).unwrap_or(1),
        max_tool_calls_per_turn: if random.percent(15) { u32::try_from(random.below(4)).unwrap_or(0) } else { 16 },
        parallel_tool_calls: if random.percent(8) { ParallelToolCalls::One } else { ParallelToolCalls::Allowed },
        siblings: if random.percent(50) { Siblings::Hold } else { Siblings::Run },
        recheck_policy: if random.percent(70) { Recheck::On } else { Recheck::Off },
        final_answer: FinalAnswer {
            ask: asks,
            tools: if random.percent(80) { FinalTools::Disabled } else { FinalTools::Enabled },
        },
        result_order: if random.percent(15) { ResultOrder::Completion } else { ResultOrder::Request },
        task_deadline_ms: random.percent(30).then(|| 10_000 + random.below(60_000) as u64),
        max_task_attempts: u32::try_from(1 + random.below(3)).unwrap_or(1),
        context_window: random.percent(15).then_some(ContextWindow { tokens: 1000, reserved_output_tokens: 100 }),
        context_keys: ["user".into()].into(),
        ..Settings::default()
    };
    Input::Started(Box::new(Started {
        settings: Arc::new(settings),
        context: context(random),
        agent: random.percent(50).then(|| "agent".into()),
        model: random.percent(50).then(|| "scripted".into()),
        system_prompt: random.percent(50).then(|| "be kind".into()),
        messages: vec![Arc::new(Message::user(format!("{CANARY}-U")))],
        actor: tools::person(random.below(6)),
        session: random.percent(60).then(|| (*random.pick(&["talk", "other"])).into()),
        trace: None,
    }))
}

/// Context attributes: one that is stored, one that is not.
pub(crate) fn context(random: &mut Random) -> holdpoint_core::Attributes {
    let value = |number: usize| JsonText::new(format!("\"{CANARY}-C{number}\""));
    match random.below(3) {
        0 => holdpoint_core::Attributes::new(),
        1 => [("user".into(), value(random.below(3)))].into(),
        _ => [("user".into(), value(random.below(3))), ("session".into(), value(9))].into(),
    }
}
