//! Plays one line of a script.

use std::sync::Arc;

use holdpoint_core::{
    Answer, Answered, Attempt, Attributes, BatchId, Began, CallId, CallIndex, CallState, Cancelled, Conductor,
    ContinuationId, Decision, Deferred, Delivered, Digest, GivenAnswer, GrantId, GrantRevoked, HookFailed, Input,
    JsonText, Measured, Missing, ModelFailed, ModelStop, Outcome, PauseNumber, Phase, QuestionFacts, Recheck, Replied,
    Reply, Returned, Run, RunId, Settlement, Source, Target, ToolResult, Turn, Usage,
};

use super::parse::{
    actor, arguments, bracketed, decision, digest, new_run, plans, question_digest, remember, result, split,
};
use super::{Stage, show};

impl Stage {
    /// Plays one line.
    pub(crate) fn play(&mut self, line: &str) {
        if let Some(words) = line.strip_prefix("given ") {
            return self.given(words);
        }
        if let Some(id) = line.strip_prefix("another run ") {
            return self.another_run(id);
        }
        if *self.run().phase() == Phase::New {
            let started = self.started();
            self.feed(started).unwrap();
        }
        if let Some(what) = line.strip_prefix("? ") {
            return match what {
                "events" => self.show_events(),
                what => {
                    let line = show::query(self.run(), what);
                    self.show(line);
                }
            };
        }
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "model" => self.model(rest),
            "tokens" => drop(self.feed(Input::Measured(Measured { tokens: rest.parse().unwrap() }))),
            "at" => self.now = holdpoint_core::Timestamp(0).plus_ms(rest.parse().unwrap()),
            "timer" => drop(self.feed(Input::Elapsed)),
            "cancel" => drop(self.feed(Input::Cancelled(Cancelled::default()))),
            "start" => drop(self.feed(self.started())),
            "retry" => {
                self.stopping = false;
                drop(self.feed(Input::Retried(holdpoint_core::Retried::default())));
            }
            "crash" => {
                self.reload();
                drop(self.feed(Input::Recovered(holdpoint_core::Recovered::default())));
            }
            "move" => self.move_to_another_store(),
            "worker" => self.worker(rest),
            _ => self.resume_or_tool(line),
        }
    }

    fn model(&mut self, words: &str) {
        let reply = match words.split_once(' ').unwrap_or((words, "")) {
            ("fails", _) => return drop(self.feed(Input::ModelFailed(ModelFailed { detail: "503".into() }))),
            ("replies", "nothing at all") => None,
            ("says", "nothing") => Some(self.reply("", ModelStop::EndTurn, "")),
            ("says", text) => match text.split_once(" and asks: ") {
                Some((text, calls)) => Some(self.reply(text, ModelStop::ToolUse, calls)),
                None => Some(self.reply(text, ModelStop::EndTurn, "")),
            },
            ("stops", words) => {
                let (stop, text) = words.split_once(": ").unwrap_or((words, ""));
                Some(self.reply(text, ModelStop::parse(stop), ""))
            }
            ("asks:", calls) => Some(self.reply("", ModelStop::ToolUse, calls)),
            other => panic!("the model cannot {other:?}"),
        };
        drop(self.feed(Input::Replied(Box::new(Replied { reply, latency_us: 0 }))));
    }

    /// The model asks, and policy is not asked yet.
    pub(crate) fn play_undecided(&mut self, calls: &str) {
        let reply = Some(self.reply("", ModelStop::ToolUse, calls));
        self.conductor.feed(Input::Replied(Box::new(Replied { reply, latency_us: 0 })), self.now).unwrap();
    }

    fn reply(&mut self, text: &str, stop: ModelStop, calls: &str) -> Reply {
        self.plans = plans(calls);
        let calls = self.plans.iter().map(|plan| plan.call.clone()).collect();
        let usage = Usage { input: 10, output: 1, ..Usage::default() };
        Reply { text: text.into(), thinking: None, calls, usage, stop, provider_state: None }
    }

    /// Brings the paused run into a store that never heard of it.
    fn move_to_another_store(&mut self) {
        let snapshot = self.run().snapshot().expect("only a paused run can be moved");
        self.log.clear();
        self.conductor = Conductor::new(new_run("r"));
        drop(self.feed(Input::Imported(Arc::new(snapshot))));
    }

    fn resume_or_tool(&mut self, line: &str) {
        let mut resume = Resume { missing: Missing::Reject, target: None, context: Attributes::new() };
        let mut rest = line;
        while let Some((word, after)) = rest.split_once(' ')
            && resume.takes(self.run(), word)
        {
            rest = after;
        }
        let target = resume.target.clone().or_else(|| latest(self.run()));
        let target = target.unwrap_or(Target::Continuation(continuation("r", 1)));
        if let Some(words) = rest.strip_prefix("results:") {
            let results = split(words, ',').into_iter().map(|pair| {
                let (id, text) = pair.split_once('=').unwrap();
                (CallId::new(id.trim()), Arc::new(result(text)))
            });
            let (results, missing, context) = (results.collect(), resume.missing, resume.context);
            return drop(self.feed(Input::Delivered(Box::new(Delivered {
                target,
                results,
                missing,
                context,
                request: None,
            }))));
        }
        let (who, words) = rest.split_once(' ').unwrap_or_else(|| panic!("not understood: {line}"));
        if let Some(id) = words.strip_prefix("revokes ") {
            let revoked = GrantRevoked { grant: GrantId::new(id), actor: actor(who) };
            return drop(self.feed(Input::GrantRevoked(revoked)));
        }
        if is_verb(words.split(' ').next().unwrap()) {
            let answers = split(words, ';').into_iter().flat_map(|words| self.answer(words)).collect();
            let (actor, missing, context) = (actor(who), resume.missing, resume.context);
            return drop(self.feed(Input::Answered(Box::new(Answered {
                target,
                actor,
                answers,
                missing,
                context,
                request: None,
            }))));
        }
        self.tool(who, words);
    }

    /// Reads `allows b`, `denies b because no`, and so on. `waits` says nothing.
    fn answer(&self, words: &str) -> Option<(CallId, GivenAnswer)> {
        let (verb, words) = words.split_once(' ').unwrap_or((words, ""));
        let (words, remembered) = words.split_once(" remembering ").map_or((words, None), |(w, r)| (w, Some(r)));
        let remember = remembered.map(remember);
        let (words, seen) = words.split_once(" seen ").map_or((words, None), |(words, seen)| (words, Some(seen)));
        let (id, rest) = words.split_once(' ').unwrap_or((words, ""));
        let tool = self.tool_of(id);
        let mut policy = None;
        let answer = match verb {
            "allows" => {
                let (_, words) = bracketed(rest);
                policy = (!words.is_empty()).then(|| decision(words));
                Answer::Approve
            }
            "denies" => Answer::Refuse { reason: rest.strip_prefix("because ").map(Arc::from) },
            "edits" => {
                let (text, words) = bracketed(rest.strip_prefix("to ").unwrap());
                policy = (words != "unasked").then(|| decision(words));
                Answer::ApproveEdited(arguments(&tool, text))
            }
            "answers" => Answer::Supply(Arc::new(result(rest.strip_prefix("with ").unwrap()))),
            "knows" => Answer::Happened(Arc::new(result(rest.strip_prefix("gave ").unwrap()))),
            _ => return None,
        };
        let digest = self.named_question(id, seen);
        Some((CallId::new(id), GivenAnswer { decision: policy, remember, ..GivenAnswer::new(answer, digest) }))
    }

    /// The digest that an answer names: of the open question unless the script says another.
    fn named_question(&self, id: &str, seen: Option<&str>) -> Option<Digest> {
        let index = self.run().calls().iter().position(|call| call.id.as_str() == id).map(CallIndex::from_usize);
        let open = || index.and_then(|index| self.run().question_digest(index));
        match seen {
            None => open(),
            Some("nothing") => None,
            Some(text) => match text.strip_prefix('q').and_then(|number| number.parse().ok()) {
                Some(number) => Some(self.shown[&(id.to_owned(), number)]),
                None => {
                    let index = index?;
                    let call = self.run().call(index)?;
                    let facts = call.question_facts(self.run().id(), self.run().turn(), index);
                    let arguments = digest(&self.tool_of(id), text);
                    Some(facts.map_or(arguments, |facts| question_digest(&QuestionFacts { arguments, ..facts })))
                }
            },
        }
    }

    /// The registered tool of a call, or what it would be called if there is no such call.
    fn tool_of(&self, id: &str) -> String {
        let call = self.run().calls().iter().find(|call| call.id.as_str() == id);
        let facts = call.and_then(|call| call.tool.as_ref());
        facts.map_or_else(|| id.replace('.', "_"), |facts| facts.name.as_str().to_owned())
    }

    fn tool(&mut self, who: &str, words: &str) {
        let (id, attempt) = match who.split_once('@') {
            Some((id, attempt)) => (id, Some(Attempt(attempt.parse().unwrap()))),
            None => (who, None),
        };
        let call = self.index(id);
        let (verb, policy) = bracketed(words);
        match verb {
            "begins" => {
                let recheck = self.recheck(id, policy);
                drop(self.feed(Input::Began(Began { call, recheck, after: None })));
            }
            "defers" => {
                let recheck = self.recheck(id, policy);
                drop(self.feed(Input::Deferred(Deferred { call, recheck })));
            }
            "hook fails" => {
                self.stopping = true;
                drop(self.feed(Input::HookFailed(HookFailed {
                    call,
                    detail: "the hook broke".into(),
                    returned: None,
                })));
            }
            _ if verb.starts_with("changes to ") => {
                let changed = self.changed(call, None, &verb["changes to ".len()..], policy);
                drop(self.feed(changed));
            }
            _ if verb.starts_with("cached -> ") => {
                let settlement = settlement(result(&verb["cached -> ".len()..]), Source::Cache);
                drop(self.feed(Input::Returned(Box::new(Returned { call, attempt: None, settlement }))));
            }
            _ => {
                let text = words.strip_prefix("-> ").unwrap_or_else(|| panic!("not understood: {words}"));
                let running = matches!(self.run().calls()[call.as_usize()].state, CallState::Running { .. });
                if !running && attempt.is_none() {
                    let recheck = self.recheck(id, "");
                    if self.feed(Input::Began(Began { call, recheck, after: None })).is_err() {
                        return;
                    }
                }
                let attempt = Some(attempt.unwrap_or(self.run().calls()[call.as_usize()].attempts));
                let settlement = settlement(result(text), Source::Tool);
                drop(self.feed(Input::Returned(Box::new(Returned { call, attempt, settlement }))));
            }
        }
    }

    /// What policy says when it is asked again, if it is.
    fn recheck(&self, id: &str, words: &str) -> Option<Decision> {
        let call = &self.run().calls()[self.index(id).as_usize()];
        let asks = self.run().settings().recheck_policy == Recheck::On && !call.rechecked;
        asks.then(|| decision(words))
    }
}

struct Resume {
    missing: Missing,
    target: Option<Target>,
    context: Attributes,
}

impl Resume {
    fn takes(&mut self, run: &Run, word: &str) -> bool {
        match (word, word.split_once('=')) {
            ("partly", _) => self.missing = Missing::Wait,
            ("batch", _) => {
                self.missing = Missing::Wait;
                self.target = Some(Target::Batch(run.batch()));
            }
            (_, Some(("wholebatch", _))) => self.target = Some(Target::Batch(run.batch())),
            (_, Some(("batch", turn))) => {
                self.missing = Missing::Wait;
                self.target = Some(Target::Batch(BatchId { run: RunId::new("r"), turn: Turn(turn.parse().unwrap()) }));
            }
            (_, Some(("from", pause))) => {
                self.target = Some(Target::Continuation(continuation("r", pause[1..].parse().unwrap())));
            }
            (_, Some(("run", id))) => self.target = Some(Target::Continuation(continuation(id, 1))),
            (_, Some((key @ ("user" | "tenant"), value))) => {
                self.context.insert(key.into(), JsonText::new(value));
            }
            _ => return false,
        }
        true
    }
}

fn latest(run: &Run) -> Option<Target> {
    run.continuation().map(Target::Continuation)
}

fn continuation(run: &str, pause: u32) -> ContinuationId {
    ContinuationId { run: RunId::new(run), pause: PauseNumber(pause) }
}

fn is_verb(word: &str) -> bool {
    matches!(word, "allows" | "denies" | "edits" | "answers" | "knows" | "waits")
}

/// What an executor makes of a result.
pub(crate) fn settlement(result: ToolResult, source: Source) -> Settlement {
    let (outcome, code) = Outcome::of_result(&result);
    Settlement { outcome, code, source: Some(source), result: Arc::new(result), latency_us: 5 }
}
