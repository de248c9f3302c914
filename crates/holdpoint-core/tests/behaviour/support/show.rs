//! Writes what is seen.

use std::fmt::Write as _;

use holdpoint_core::{
    CallRecord, ContinuationId, Effect, FinalTools, Message, Outcome, PauseReason, Phase, Progress, Rejection, Run,
    StopReason,
};

/// Everything of a run, what `Debug` hides included.
pub(crate) fn fingerprint(run: &Run) -> String {
    let mut text = format!("{run:?}");
    for call in run.calls() {
        let arguments = call.canonical().map(|arguments| (arguments.expose().to_owned(), arguments.digest()));
        let result = call.settlement().map(|settlement| settlement.result.text());
        let _ = write!(text, "\n{} {arguments:?} {result:?}", call.id);
    }
    for message in run.messages() {
        let _ = write!(text, "\n{:?} {}", message.role(), message.text());
    }
    for earlier in run.earlier_turns() {
        let _ = write!(text, "\n{} {}", earlier.tool, earlier.arguments.expose());
    }
    for (key, value) in run.context() {
        let _ = write!(text, "\n{key}={}", value.expose());
    }
    text
}

pub(crate) fn rejection(rejection: &Rejection) -> String {
    let code = rejection.code();
    assert!(!rejection.to_string().is_empty());
    match rejection {
        Rejection::WrongPause { waits_for, brought } => {
            format!("rejected {code}: waits for {}, not {}", whom(*waits_for), whom(*brought))
        }
        Rejection::StaleContinuation { current: Some(id) } => format!("rejected {code}: now p{}", id.pause),
        Rejection::StaleContinuation { current: None } => format!("rejected {code}: waits for nothing"),
        Rejection::Call { call, .. } if call.as_str().is_empty() => format!("rejected {code}: blank"),
        Rejection::Call { call, .. } => format!("rejected {code}: {call}"),
        Rejection::Missing { calls, .. } => {
            let calls: Vec<&str> = calls.iter().map(holdpoint_core::CallId::as_str).collect();
            format!("rejected {code}: {}", calls.join(" "))
        }
        Rejection::NotExpected { input } => format!("rejected {code}: {input}"),
        Rejection::InvalidSnapshot { field } => format!("rejected {code}: {field}"),
        Rejection::Stopping => "rejected: the run stops".to_owned(),
        Rejection::BatchNeedsPartial => "rejected: a batch needs partly".to_owned(),
        Rejection::ContinuationNotFound
        | Rejection::RunCancelled
        | Rejection::NotRetryable
        | Rejection::LeaseLost
        | Rejection::RunExists => format!("rejected {code}"),
    }
}

pub(crate) fn pause(run: &Run, reason: PauseReason) -> String {
    let number = |id: Option<ContinuationId>| id.map(|id| format!("p{}", id.pause));
    let own = number(run.continuation()).unwrap_or_default();
    let parent = number(run.parent_continuation()).map(|parent| format!(" after {parent}")).unwrap_or_default();
    let waits = run.calls().iter().filter(|call| match reason {
        PauseReason::AwaitingToolConfirmation => call.question().is_some(),
        PauseReason::AwaitingToolResults => matches!(call.state, holdpoint_core::CallState::Deferred { .. }),
    });
    let names: Vec<String> = waits.map(|call| format!("{}{}", call.id, marks(call))).collect();
    format!("pause {own}{parent} for {}: {}", whom(reason), names.join(" "))
}

fn marks(call: &holdpoint_core::Call) -> String {
    let Some(question) = call.question() else { return String::new() };
    let doubt = if question.doubt.is_some() { "?" } else { "" };
    match question.terms.quorum {
        0 | 1 => doubt.to_owned(),
        quorum => format!("{doubt}({}/{quorum})", question.approvals().count()),
    }
}

fn whom(reason: PauseReason) -> &'static str {
    match reason {
        PauseReason::AwaitingToolConfirmation => "people",
        PauseReason::AwaitingToolResults => "results",
    }
}

/// A model call, with the messages that were added since the last one.
pub(crate) fn model_call(run: &Run, tools: FinalTools, seen: usize) -> String {
    let new = &run.messages()[seen.max(run.history_len() as usize)..];
    let records = run.records();
    let shown: Vec<String> = new.iter().filter_map(|message| shown(message, &records)).collect();
    let tools = if tools == FinalTools::Disabled { " without tools" } else { "" };
    let said = if shown.is_empty() { String::new() } else { format!(": {}", shown.join(" ")) };
    format!("call model{tools}{said}")
}

fn shown(message: &Message, records: &[CallRecord]) -> Option<String> {
    match message {
        Message::System(_) | Message::Assistant(_) => None,
        Message::User(_) => Some(format!("user says {}", message.text())),
        Message::Tool(tool) => {
            let record = records.iter().rev().find(|record| record.id == tool.call)?;
            Some(format!("{}={}", tool.call, outcome(record, &tool.result.text())))
        }
    }
}

fn outcome(record: &CallRecord, text: &str) -> String {
    match record.progress {
        Progress::Settled(Outcome::Succeeded | Outcome::Halted) => text.to_owned(),
        Progress::Settled(Outcome::Failed) => record.code.map_or("failed".into(), |code| format!("failed:{code}")),
        progress => progress.as_str().to_owned(),
    }
}

pub(crate) fn finish(run: &Run, stop: &StopReason) -> String {
    let verb = if matches!(run.phase(), Phase::Failed(..)) { "fail" } else { "finish" };
    match run.text() {
        Some(text) => format!("{verb} {stop}: {text}"),
        None => format!("{verb} {stop}"),
    }
}

/// Answers a line that begins with `?`.
pub(crate) fn query(run: &Run, what: &str) -> String {
    match what {
        "records" => list(run.records().iter().map(|record| {
            let code = record.code.map(|code| format!(":{code}")).unwrap_or_default();
            let source = record.source.map(|source| format!("/{}", source.as_str())).unwrap_or_default();
            let again = if record.attempts.0 > 1 { format!("#{}", record.attempts) } else { String::new() };
            format!("{}.{}={}{code}{source}{again}", record.turn, record.id, record.progress.as_str())
        })),
        "names" => list(run.records().iter().map(|record| {
            let tool = record.tool.as_ref().map_or("none", |tool| tool.as_str());
            format!("{}:{tool}", record.name)
        })),
        "messages" => list(run.messages().iter().map(|message| match &**message {
            Message::Tool(tool) => format!("tool({}: {})", tool.call, message.text()),
            Message::Assistant(assistant) => {
                let calls: Vec<&str> = assistant.calls.iter().map(|call| call.id.as_str()).collect();
                format!("assistant({}{})", assistant.text, calls.join(" "))
            }
            Message::System(_) => format!("system({})", message.text()),
            Message::User(_) => format!("user({})", message.text()),
        })),
        "usage" => {
            let usage = run.usage();
            let counts = (run.model_calls(), run.tool_executions());
            format!("{} + {} tokens, {} model calls, {} executions", usage.input, usage.output, counts.0, counts.1)
        }
        "earlier" => listed(run.earlier_turns().iter().map(earlier)),
        "approvals" => listed(run.calls().iter().map(|call| {
            let open: Vec<_> = call.question().into_iter().flat_map(holdpoint_core::Question::approvals).collect();
            let people = call.approvals.iter().chain(open).map(|actor| actor.id.as_deref().unwrap_or("nobody"));
            format!("{}:{}", call.id, people.collect::<Vec<_>>().join("+"))
        })),
        "reasons" => listed(run.calls().iter().filter_map(|call| {
            let question = call.question()?;
            let again = if question.number > 1 { " again" } else { "" };
            Some(format!("{}{again}: {}", call.id, question.ground.reason.as_deref().unwrap_or_default()))
        })),
        what if what.starts_with("siblings of ") => {
            let id = &what["siblings of ".len()..];
            let index = run.calls().iter().position(|call| call.id.as_str() == id).unwrap();
            listed(run.siblings_of(holdpoint_core::CallIndex::from_usize(index)).map(|(_, call)| earlier(&call)))
        }
        "doubts" => list(run.calls().iter().filter_map(doubt)),
        "text" => run.text().unwrap_or("no text".to_owned()),
        "status" => run.status().as_str().to_owned(),
        "context" if run.context().is_empty() => "no context".to_owned(),
        "context" => list(run.context().iter().map(|(key, value)| format!("{key}={}", value.expose()))),
        "owed" => list(run.owed().iter().map(|effect| match effect {
            Effect::SetTimer { at } => format!("timer at {}", at.0 / 1000),
            other => format!("{other:?}"),
        })),
        other => panic!("no such question: {other}"),
    }
}

/// What is known of a call in doubt, and why it is asked about.
fn doubt(call: &holdpoint_core::Call) -> Option<String> {
    let question = call.question()?;
    let doubt = question.doubt.as_ref()?;
    let worker = doubt.worker.as_deref().map(|worker| format!(" by {worker}")).unwrap_or_default();
    let late = doubt
        .evidence
        .iter()
        .map(|late| format!(" {}#{}={} at {}", late.worker, late.attempt, late.result.text(), late.at.0 / 1000));
    let (id, attempt, since) = (&call.id, doubt.attempt, doubt.started_at.0 / 1000);
    let reason = question.ground.reason.as_deref().unwrap_or_default();
    Some(format!("{id}#{attempt} {}{worker} at {since}{} ({reason})", doubt.cause.as_str(), late.collect::<String>()))
}

fn earlier(call: &holdpoint_core::EarlierCall) -> String {
    format!("{}({})", call.tool, call.arguments.expose())
}

/// Something in any case, so that a transcript shows that there was nothing.
fn listed(parts: impl Iterator<Item = String>) -> String {
    let parts = list(parts);
    if parts.is_empty() { "none".to_owned() } else { parts }
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" ")
}
