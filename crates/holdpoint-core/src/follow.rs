//! What follows from the state by itself: turns end and begin, runs pause and finish.

use crate::{Completeness, Event, Failure, Outcome, PauseNumber, PauseReason, Phase, Run, StopReason, Work};

impl Run {
    /// The next events that need no input. Empty when something must happen outside first.
    pub(crate) fn follow(&self) -> Vec<Event> {
        match self.phase {
            Phase::Between => vec![self.next_turn()],
            Phase::Working(Work::Calls) => self.follow_calls(),
            Phase::New | Phase::Working(Work::Model) | Phase::Paused(_) | Phase::Failed(..) | Phase::Ended(_) => {
                Vec::new()
            }
        }
    }

    fn next_turn(&self) -> Event {
        if self.turn.0 >= self.settings.max_turns {
            return Event::Done { stop: StopReason::MaxTurns };
        }
        Event::TurnStarted { turn: self.turn.next() }
    }

    fn follow_calls(&self) -> Vec<Event> {
        let tally = self.tally;
        if tally.proposed > 0 || tally.running > 0 {
            return Vec::new();
        }
        if let Some(detail) = &self.stopping {
            return vec![
                self.turn_ended(Completeness::Interrupted),
                Event::Failed { failure: Failure::HookFailed, detail: detail.clone() },
                Event::Done { stop: StopReason::Failed(Failure::HookFailed) },
            ];
        }
        if self.executable_count() > 0 {
            return Vec::new();
        }
        if tally.asked > 0 {
            return self.pause(PauseReason::AwaitingToolConfirmation);
        }
        if tally.deferred > 0 {
            return self.pause(PauseReason::AwaitingToolResults);
        }
        if self.calls.is_empty() { self.without_calls() } else { self.turn_settled() }
    }

    fn turn_settled(&self) -> Vec<Event> {
        let mut events = vec![self.turn_ended(Completeness::Complete)];
        let halted = |call: &crate::Call| call.settlement().is_some_and(|s| s.outcome == Outcome::Halted);
        if self.calls.iter().any(halted) {
            events.push(Event::Done { stop: StopReason::Halted });
        }
        events
    }

    fn without_calls(&self) -> Vec<Event> {
        let mut events = vec![self.turn_ended(Completeness::Complete)];
        if self.calls_seen && !self.final_asked && self.settings.final_answer.ask.is_some() && self.said_nothing() {
            events.push(Event::FinalAnswerAsked);
        } else {
            events.push(Event::Done { stop: StopReason::Model(self.last_stop.clone()) });
        }
        events
    }

    fn said_nothing(&self) -> bool {
        self.messages.last().is_some_and(|message| message.text().trim().is_empty())
    }

    fn pause(&self, reason: PauseReason) -> Vec<Event> {
        let pause = PauseNumber(self.pauses.0 + 1);
        let required = match reason {
            PauseReason::AwaitingToolConfirmation => Event::AuthorizationRequired { pause },
            PauseReason::AwaitingToolResults => Event::ExecutionRequired { pause },
        };
        vec![
            self.turn_ended(Completeness::Interrupted),
            required,
            Event::Paused { reason },
            Event::Done { stop: reason.stop_reason() },
        ]
    }

    pub(crate) fn turn_ended(&self, completeness: Completeness) -> Event {
        Event::TurnEnded { turn: self.turn, completeness }
    }
}
