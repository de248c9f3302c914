//! A run on a stage: the driver that a script plays against, without anything real behind it.

use std::collections::HashMap;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Attributes, Authorized, CallIndex, CallState, Conductor, ContextWindow, Deferred, Digest, Event, FinalTools,
    Grant, Input, JsonText, LogEntry, Message, ParallelToolCalls, Phase, Recheck, Rejection, ResultOrder, Run, RunId,
    Settings, Siblings, Started, Step, Tally, Timestamp, Work,
};

use super::parse::{Plan, actor, new_run};
use super::{fingerprint, show};

/// A run, the driver's decisions about it, and a log that survives crashes.
pub(crate) struct Stage {
    pub(crate) conductor: Conductor,
    pub(crate) log: Vec<LogEntry>,
    pub(crate) now: Timestamp,
    pub(crate) plans: Vec<Plan>,
    pub(crate) settings: Settings,
    pub(crate) context: Attributes,
    /// What people said about calls that are yet to come, in every run on this stage, the newest first.
    pub(crate) grants: Vec<Arc<Grant>>,
    id: RunId,
    requester: Actor,
    session: Option<Arc<str>>,
    system_prompt: Option<Arc<str>>,
    history: Vec<Arc<Message>>,
    handed: Vec<CallIndex>,
    pub(crate) stopping: bool,
    steps_shown: bool,
    messages_seen: usize,
    events_shown: usize,
    transcript: Vec<String>,
    /// The digest of each question by its call and number.
    pub(crate) shown: HashMap<(String, u32), Digest>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            conductor: Conductor::new(new_run("r")),
            log: Vec::new(),
            now: Timestamp(0),
            plans: Vec::new(),
            settings: Settings::default(),
            context: Attributes::new(),
            grants: Vec::new(),
            id: RunId::new("r"),
            requester: Actor::default(),
            session: None,
            system_prompt: None,
            history: vec![Arc::new(Message::user("go"))],
            handed: Vec::new(),
            stopping: false,
            steps_shown: false,
            messages_seen: 0,
            events_shown: 0,
            transcript: Vec::new(),
            shown: HashMap::new(),
        }
    }

    /// Another run, on the same clock and with the same grants. Everything else is as it was at first.
    pub(crate) fn another_run(&mut self, id: &str) {
        let (now, transcript) = (self.now, std::mem::take(&mut self.transcript));
        let grants = std::mem::take(&mut self.grants);
        let conductor = Conductor::new(new_run(id));
        *self = Self { conductor, now, transcript, grants, id: RunId::new(id), ..Self::new() };
    }

    pub(crate) fn transcript(&self) -> &[String] {
        &self.transcript
    }

    pub(crate) fn run(&self) -> &Run {
        self.conductor.run()
    }

    pub(crate) fn index(&self, id: &str) -> CallIndex {
        let at = self.run().calls().iter().position(|call| call.id.as_str() == id);
        CallIndex::from_usize(at.unwrap_or_else(|| panic!("no call `{id}` in this turn")))
    }

    pub(crate) fn show(&mut self, line: impl Into<String>) {
        self.transcript.push(line.into());
    }

    /// A setting, as a script says it.
    pub(crate) fn given(&mut self, words: &str) {
        let settings = &mut self.settings;
        let (name, value) = words.split_once(' ').unwrap_or((words, ""));
        match (name, value) {
            ("max_turns", n) => settings.max_turns = n.parse().unwrap(),
            ("max_calls", n) => settings.max_tool_calls_per_turn = n.parse().unwrap(),
            ("parallel_calls", "one") => settings.parallel_tool_calls = ParallelToolCalls::One,
            ("task_deadline", ms) => settings.task_deadline_ms = Some(ms.parse().unwrap()),
            ("siblings", "run") => settings.siblings = Siblings::Run,
            ("recheck", "off") => settings.recheck_policy = Recheck::Off,
            ("order", "completion") => settings.result_order = ResultOrder::Completion,
            ("nudge", "off") => settings.final_answer.ask = None,
            ("nudge", "with tools") => settings.final_answer.tools = FinalTools::Enabled,
            ("nudge", text) => settings.final_answer.ask = Some(text.into()),
            ("window", n) => {
                let (tokens, reserved) = n.split_once(" keep ").unwrap_or((n, "0"));
                let (tokens, reserved_output_tokens) = (tokens.parse().unwrap(), reserved.parse().unwrap());
                settings.context_window = Some(ContextWindow { tokens, reserved_output_tokens });
            }
            ("keys", keys) => settings.context_keys = keys.split_whitespace().map(Arc::from).collect(),
            ("context", pairs) => self.context = attributes(pairs),
            ("system", text) => self.system_prompt = Some(text.into()),
            ("history", text) => self.history = history(text),
            ("requester", who) => self.requester = actor(who),
            ("session", name) => self.session = Some(name.into()),
            ("steps", "shown") => self.steps_shown = true,
            other => panic!("no such setting: {other:?}"),
        }
    }

    pub(crate) fn started(&self) -> Input {
        Input::Started(Box::new(Started {
            settings: Arc::new(self.settings.clone()),
            context: self.context.clone(),
            agent: None,
            model: None,
            system_prompt: self.system_prompt.clone(),
            messages: self.history.clone(),
            actor: self.requester.clone(),
            session: self.session.clone(),
            trace: None,
        }))
    }

    /// Feeds an input, checks what must always hold, and performs what follows.
    pub(crate) fn feed(&mut self, input: Input) -> Result<usize, Rejection> {
        let fed = self.feed_only(input);
        match &fed {
            Ok(0) => self.show("nothing changes"),
            Ok(_) => self.pump(),
            Err(rejection) => self.show(show::rejection(rejection)),
        }
        fed
    }

    fn feed_only(&mut self, input: Input) -> Result<usize, Rejection> {
        let before = fingerprint(self.run());
        let fed = self.conductor.feed(input, self.now);
        let after = fingerprint(self.run());
        if matches!(fed, Ok(0) | Err(_)) {
            assert_eq!(before, after, "what leads to no event changes nothing");
        }
        assert_eq!(self.run().tally(), Tally::of(self.run().calls()));
        self.note_questions();
        assert_eq!(fingerprint(&self.replayed(self.conductor.outbox())), after, "I6");
        fed
    }

    /// No two questions have one digest (I16).
    fn note_questions(&mut self) {
        let run = self.conductor.run();
        for (index, call) in run.calls().iter().enumerate() {
            let (Some(question), Some(digest)) = (call.question(), run.question_digest(CallIndex::from_usize(index)))
            else {
                continue;
            };
            let key = (call.id.as_str().to_owned(), question.number);
            let others = self.shown.iter().filter(|(other, _)| **other != key);
            assert!(
                others.clone().all(|(_, other)| *other != digest),
                "I16: {key:?} has the digest of another question"
            );
            self.shown.insert(key, digest);
        }
    }

    /// The state that the log amounts to.
    pub(crate) fn replayed(&self, not_durable: &[LogEntry]) -> Run {
        let mut run = new_run(self.id.as_str());
        self.log.iter().chain(not_durable).for_each(|entry| run.apply(entry));
        run
    }

    /// Takes the run as it is in the log, as another process would.
    pub(crate) fn reload(&mut self) {
        self.conductor = Conductor::new(self.replayed(&[]));
        self.handed.clear();
        self.stopping = false;
    }

    /// Performs what the conductor says until something must happen outside.
    pub(crate) fn pump(&mut self) {
        loop {
            match self.conductor.next() {
                Step::Commit => {
                    let committed = self.conductor.committed();
                    self.keep_grants(&committed);
                    self.log.extend(committed);
                    self.step_shown("commit");
                }
                Step::Start(intents) => {
                    for (call, attempt) in intents {
                        assert!(self.conductor.outbox().is_empty(), "I2");
                        let again = if attempt.0 > 1 { format!("#{attempt}") } else { String::new() };
                        let line = format!("start {}{again}", self.run().calls()[call.as_usize()].id);
                        self.show(line);
                    }
                }
                Step::Authorize { calls } => self.authorize(&calls),
                Step::Execute { calls } => self.execute(calls),
                Step::CallModel { tools } => {
                    let line = show::model_call(self.run(), tools, self.messages_seen);
                    self.messages_seen = self.run().messages().len();
                    return self.show(line);
                }
                Step::Wait if self.executor_is_done() => self.conductor.executor_ended(),
                Step::Wait => return,
                Step::Pause { reason } => {
                    assert!(self.conductor.outbox().is_empty(), "I14");
                    let line = show::pause(self.run(), reason);
                    return self.show(line);
                }
                Step::Finish { stop } => {
                    let line = show::finish(self.run(), &stop);
                    return self.show(line);
                }
            }
        }
    }

    /// What is durable counts from then on.
    fn keep_grants(&mut self, log: &[LogEntry]) {
        for entry in log {
            match &entry.event {
                Event::GrantGiven { grant, .. } => self.grants.insert(0, Arc::clone(grant)),
                Event::GrantRevoked { grant, .. } => self.grants.retain(|given| given.id != *grant),
                _ => {}
            }
        }
    }

    fn step_shown(&mut self, line: impl Into<String>) {
        if self.steps_shown {
            self.show(line);
        }
    }

    fn authorize(&mut self, calls: &[CallIndex]) {
        let names: Vec<&str> = calls.iter().map(|call| self.run().calls()[call.as_usize()].id.as_str()).collect();
        let line = format!("authorize {}", names.join(" "));
        self.step_shown(line);
        let decisions = calls.iter().map(|call| (*call, self.plans[call.as_usize()].decision.clone())).collect();
        let authorized = Authorized { grants: self.grants.clone(), ..Authorized::new(decisions) };
        self.feed_only(Input::Authorized(authorized)).unwrap();
    }

    fn execute(&mut self, calls: Vec<CallIndex>) {
        let names: Vec<&str> = calls.iter().map(|call| self.run().calls()[call.as_usize()].id.as_str()).collect();
        let line = format!("execute {}", names.join(" "));
        self.show(line);
        for call in &calls {
            if self.plans[call.as_usize()].defers {
                let recheck = None;
                self.feed_only(Input::Deferred(Deferred { call: *call, recheck })).unwrap();
            }
        }
        self.handed = calls;
    }

    fn executor_is_done(&self) -> bool {
        let works = *self.run().phase() == Phase::Working(Work::Calls);
        self.conductor.is_executing()
            && self.handed.iter().filter_map(|call| self.run().call(*call)).all(|call| match call.state {
                CallState::Running { .. } => !works,
                CallState::Ready | CallState::Proposed => self.stopping || !works,
                CallState::AwaitingApproval(_) | CallState::Deferred { .. } | CallState::Settled(_) => true,
            })
    }

    /// Shows the names of the events since the last time.
    pub(crate) fn show_events(&mut self) {
        let names: Vec<&str> = self.log[self.events_shown..].iter().map(|entry| entry.event.name()).collect();
        let line = names.join(" ");
        self.events_shown = self.log.len();
        self.show(line);
    }
}

/// Reads `user=7 tenant=2`.
pub(crate) fn attributes(pairs: &str) -> Attributes {
    let pairs = pairs.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(key, value)| (key.into(), JsonText::new(value))).collect()
}

/// Reads `system hello, user go, assistant fine`.
fn history(text: &str) -> Vec<Arc<Message>> {
    let messages = text.split(',').map(|part| {
        let (role, words) = part.trim().split_once(' ').unwrap();
        match role {
            "system" => Message::System(words.into()),
            "user" => Message::user(words),
            "assistant" => Message::assistant(words),
            other => panic!("no such role: {other}"),
        }
    });
    messages.map(Arc::new).collect()
}
