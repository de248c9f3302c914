//! What workers do with calls that were handed out.

use std::sync::Arc;

use holdpoint_core::{
    Attempt, CallIndex, CallLease, Code, Fence, Input, LossCause, Problem, Refit, Source, TaskLate, TaskLost,
    TaskReturned, TaskRevoked, TasksReturned, ToolChanged, Turn,
};

use super::Stage;
use super::act::settlement;
use super::parse::{bracketed, decision, result, split};

/// Which attempt of which call a worker speaks of.
struct Task {
    turn: Turn,
    call: CallIndex,
    attempt: Attempt,
}

impl Stage {
    /// Reads what comes after `worker`: `w1 returns a=one, b#2=two`, `w1 loses a`, `w1 fails a`, `w1 exhausts a#3`,
    /// `w1 may not start a (deny)`, `w1 finds a changed to v2 (allow)`, `w1 late a#1=one`. `1.a` is a call of the first
    /// turn.
    pub(crate) fn worker(&mut self, words: &str) {
        let (worker, words) = words.split_once(' ').unwrap();
        let (verb, rest) = words.split_once(' ').unwrap();
        let worker: Arc<str> = worker.into();
        let (since, fence) = (self.now, Fence(1));
        let input = match verb {
            "returns" => {
                let tasks = split(rest, ',').into_iter().map(|pair| {
                    let (name, text) = pair.split_once('=').unwrap();
                    let Task { turn, call, attempt } = self.task(name);
                    let settlement = settlement(result(text), Source::External);
                    let worker = Arc::clone(&worker);
                    TaskReturned { lease: CallLease { turn, call, attempt, fence, worker, since }, settlement }
                });
                Input::TasksReturned(Box::new(TasksReturned { tasks: tasks.collect() }))
            }
            "late" => {
                let (name, text) = rest.split_once('=').unwrap();
                let Task { turn, call, attempt } = self.task(name);
                Input::TaskLate(Box::new(TaskLate { turn, call, attempt, worker, result: Arc::new(result(text)) }))
            }
            "may" => {
                let (name, words) = bracketed(rest.strip_prefix("not start ").unwrap());
                let Task { turn, call, attempt } = self.task(name);
                let decision = decision(words);
                Input::TaskRevoked(TaskRevoked {
                    lease: CallLease { turn, call, attempt, fence, worker, since },
                    decision,
                })
            }
            "finds" => {
                let (words, policy) = bracketed(rest);
                let (name, definition) = words.split_once(" changed to ").unwrap();
                let Task { turn, call, attempt } = self.task(name);
                self.changed(call, Some((turn, attempt)), definition, policy)
            }
            lost => {
                let cause = match lost {
                    "loses" => LossCause::LeaseLapsed,
                    "fails" => LossCause::WorkerFailed,
                    "exhausts" => LossCause::OutOfAttempts,
                    other => panic!("a worker cannot {other}"),
                };
                let Task { turn, call, attempt } = self.task(rest);
                Input::TaskLost(TaskLost { lease: CallLease { turn, call, attempt, fence, worker, since }, cause })
            }
        };
        drop(self.feed(input));
    }

    /// The tool of a call takes other arguments by now: `unfit`, or what policy says.
    pub(crate) fn changed(
        &self,
        call: CallIndex,
        task: Option<(Turn, Attempt)>,
        definition: &str,
        words: &str,
    ) -> Input {
        let mut tool = self.run().call(call).and_then(|call| call.tool.clone()).unwrap();
        tool.definition = (definition != "none").then(|| definition.into());
        let refit = match words {
            "unfit" => Refit::Unfit(Problem { code: Code::InvalidArguments, text: "it fits no more".into() }),
            words => Refit::Decided(decision(words)),
        };
        Input::ToolChanged(Box::new(ToolChanged { call, task, tool, refit }))
    }

    /// Reads `a`, `a#2`, `1.a`, `1.a#2`. Without a number it is the attempt that was handed out.
    fn task(&self, name: &str) -> Task {
        let (name, attempt) = name.split_once('#').map_or((name, None), |(name, attempt)| (name, Some(attempt)));
        let (turn, id) = match name.split_once('.') {
            Some((turn, id)) => (Turn(turn.parse().unwrap()), id),
            None => (self.run().turn(), name),
        };
        let at = self.run().calls().iter().position(|call| call.id.as_str() == id).unwrap_or(0);
        let attempts = self.run().calls().get(at).map_or(Attempt(1), |call| call.attempts);
        let attempt = attempt.map_or(attempts, |text| Attempt(text.parse().unwrap()));
        Task { turn, call: CallIndex::from_usize(at), attempt }
    }
}
