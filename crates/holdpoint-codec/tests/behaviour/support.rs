//! A run that goes through as much as one run can, told to the real core, and events that happen to other runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_codec::{CodecError, arguments_for, decode_event, new_run, parse_arguments};
use holdpoint_core::*;

pub(crate) mod grants;
pub(crate) mod inputs;
pub(crate) mod workers;

/// The story of one run.
pub(crate) struct Story {
    /// Paused for people, with a decision of each kind kept.
    pub(crate) for_people: Run,
    /// Paused for results, with one result kept.
    pub(crate) for_results: Run,
    /// Paused for people because of a call in doubt, in a later turn.
    pub(crate) in_doubt: Run,
    /// Everything that happened.
    pub(crate) log: Vec<LogEntry>,
}

struct Telling {
    run: Run,
    log: Vec<LogEntry>,
    now: Timestamp,
}

impl Telling {
    fn tell(&mut self, input: Input) {
        self.now = self.now.plus_ms(250);
        let name = input.name();
        let events = self.run.step(naming_questions(&self.run, input), self.now);
        self.log.extend(events.unwrap_or_else(|rejection| panic!("{name}: {rejection}")));
    }
}

/// People answer what they are shown: an answer that names no question names the one that is open.
pub(crate) fn naming_questions(run: &Run, input: Input) -> Input {
    let Input::Answered(mut answered) = input else { return input };
    for (id, given) in &mut answered.answers {
        let index = run.calls().iter().position(|call| call.id == *id).map(CallIndex::from_usize);
        given.digest = given.digest.or_else(|| run.question_digest(index?));
    }
    Input::Answered(answered)
}

/// Tells the story.
pub(crate) fn story() -> Story {
    let run = new_run(RunId::new("run-1"));
    let mut telling = Telling { run, log: Vec::new(), now: Timestamp(1_700_000_000_000_000) };
    telling.tell(inputs::started());
    telling.tell(inputs::first_reply());
    telling.tell(inputs::authorized());
    telling.tell(inputs::answer("ana", "mail", Answer::Approve));
    telling.tell(inputs::answer("ana", "drop", Answer::Refuse { reason: Some("never \"drop\"".into()) }));
    telling.tell(inputs::answer("ana", "pay", Answer::Supply(Arc::new(rich_result()))));
    let for_people = telling.run.clone();
    let edited = arguments("mail_send", r#"{"to":"bo","n":12345678901234567890}"#);
    telling.tell(inputs::answer("bo", "mail", Answer::ApproveEdited(edited)));
    telling.tell(inputs::answer("ana", "mail", Answer::Approve));
    telling.tell(Input::Deferred(Deferred { call: CallIndex(0), recheck: None }));
    telling.tell(Input::Deferred(Deferred { call: CallIndex(1), recheck: None }));
    telling.tell(inputs::delivered("look", ToolResult::error("no such row")));
    let for_results = telling.run.clone();
    telling.tell(inputs::delivered("mail", ToolResult::success("sent")));
    telling.tell(inputs::second_reply());
    telling.tell(inputs::allowed());
    telling.tell(Input::Began(Began { call: CallIndex(0), recheck: None, after: None }));
    telling.tell(Input::Began(Began { call: CallIndex(1), recheck: None, after: None }));
    telling.tell(inputs::returned(1));
    telling.tell(Input::Recovered(Recovered::default()));
    let in_doubt = telling.run.clone();
    telling.tell(inputs::answer_in(2, "ana", "look", Answer::Happened(Arc::new(ToolResult::success("it did")))));
    telling.tell(inputs::said("", ModelStop::EndTurn));
    telling.tell(Input::ModelFailed(ModelFailed { detail: "503".into() }));
    telling.tell(Input::Retried(Retried::default()));
    telling.tell(inputs::said("Done.", ModelStop::Other("paused_by_provider".into())));
    Story { for_people, for_results, in_doubt, log: telling.log }
}

/// Events that the story does not have.
pub(crate) fn other_events(story: &Story) -> Vec<LogEntry> {
    let imported = [&story.for_people, &story.for_results, &story.in_doubt].map(|run| run.snapshot().unwrap());
    let mut events: Vec<Event> = imported.into_iter().map(|snapshot| Event::Imported(Arc::new(snapshot))).collect();
    let detail: Arc<str> = "the cache is gone".into();
    events.extend([
        Event::CallExpired { call: CallIndex(0) },
        Event::CallRequeued { call: CallIndex(3) },
        Event::CallDoubted {
            call: CallIndex(2),
            cause: DoubtCause::NeedsInput,
            asks: Some(Arc::new(ToolResult::success("who?").with_metadata("state", JsonText::new("{\"a\":1}")))),
            may_run: true,
        },
        Event::HookFailed { call: CallIndex(1), detail: Arc::clone(&detail) },
        Event::Cancelled { actor: person("ana"), reason: Some("enough".into()) },
        Event::Cancelled { actor: Actor::default(), reason: None },
        Event::CallDecided {
            call: CallIndex(1),
            stage: Stage::Recheck,
            decision: Decision::deny("withdrawn"),
            shadow: None,
        },
        Event::RunStarted(Arc::new(RunStarted {
            settings: Arc::new(Settings::default()),
            context: Attributes::new(),
            agent: None,
            model: None,
            messages: vec![Arc::new(Message::user("hi"))],
            actor: Actor::default(),
            session: None,
            trace: None,
        })),
        Event::RunStarted(Arc::new(RunStarted {
            settings: Arc::new(Settings::default()),
            context: Attributes::new(),
            agent: None,
            model: None,
            messages: vec![Arc::new(Message::user("traced"))],
            actor: Actor::default(),
            session: None,
            trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
        })),
        Event::ToolEnded { call: CallIndex(2), settlement: settlement(Outcome::Halted, ToolResult::halt("stop here")) },
    ]);
    events.push(Event::MessageCompleted(Arc::new(reasoned())));
    events.extend(Failure::ALL.map(|failure| Event::Failed { failure, detail: Arc::clone(&detail) }));
    let stops = [StopReason::MaxTurns, StopReason::Halted, StopReason::Cancelled];
    let failed = Failure::ALL.map(StopReason::Failed);
    events.extend(stops.into_iter().chain(failed).map(|stop| Event::Done { stop }));
    // A provider may use any word, also one of ours.
    events.push(Event::Done { stop: StopReason::Model(ModelStop::Other("max_turns".into())) });
    // A time before 1970 reads back too.
    let times = (-5..).step_by(100);
    events.into_iter().zip(times).map(|(event, at)| LogEntry { at: Timestamp(at), event }).collect()
}

/// A message whose provider wants its reasoning back.
fn reasoned() -> MessageCompleted {
    let data = JsonText::new(r#"[{"encrypted_content":"gAAAAA==","id":"rs_1","summary":[],"type":"reasoning"}]"#);
    let state = ProviderState { provider: "openai-responses".into(), version: 1, data };
    let message = AssistantMessage { text: "Well.".into(), provider_state: Some(state), ..AssistantMessage::default() };
    MessageCompleted {
        message: Arc::new(Message::Assistant(message)),
        calls: Vec::new(),
        ignored: Vec::new(),
        usage: Usage { input: 9, output: 40, reasoning: 32, ..Usage::default() },
        stop: ModelStop::EndTurn,
        latency_us: 7,
    }
}

/// The run that a log amounts to.
pub(crate) fn folded(log: &[LogEntry]) -> Run {
    let mut run = new_run(RunId::new("run-1"));
    log.iter().for_each(|entry| run.apply(entry));
    run
}

pub(crate) fn arguments(tool: &str, text: &str) -> Arguments {
    arguments_for(tool, &parse_arguments(Some(text)).expect("an object"))
}

pub(crate) fn settlement(outcome: Outcome, result: ToolResult) -> Settlement {
    Settlement { outcome, code: None, source: Some(Source::Tool), result: Arc::new(result), latency_us: 42 }
}

pub(crate) fn rich_result() -> ToolResult {
    let blob = |media_type: &str, bytes: &[u8]| Blob { media_type: media_type.into(), bytes: bytes.into() };
    ToolResult::from_blocks(vec![
        Block::text("found\n\u{1f600} \u{1} \"quoted\""),
        Block::Json(JsonText::new(r#"{"a":[1,null,12345678901234567890]}"#)),
        Block::Image(blob("image/png", b"\x89PNG")),
        Block::File(blob("text/csv", b"a,b\n")),
    ])
    .with_metadata("took_ms", JsonText::new("12"))
    .with_metadata("\u{fb33}", JsonText::new("1"))
    .with_metadata("\u{1f600}", JsonText::new("2"))
}

pub(crate) fn person(name: &str) -> Actor {
    Actor { id: Some(name.into()), roles: BTreeSet::from(["finance".into()]), tenant: Some("acme".into()) }
}

/// A message, read where it is stored.
pub(crate) fn read_message(message: &serde_json::Value) -> Result<Message, CodecError> {
    let stored = serde_json::json!({ "v": 1, "at": 0, "e": { "run_started": { "messages": [message] } } });
    match decode_event(stored.to_string().as_bytes())?.event {
        Event::RunStarted(started) => Ok((*started.messages[0]).clone()),
        other => panic!("it is {}", other.name()),
    }
}
