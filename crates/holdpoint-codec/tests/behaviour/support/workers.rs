//! A run whose calls are done by workers.

use std::sync::Arc;

use holdpoint_codec::new_run;
use holdpoint_core::*;

use super::{Telling, inputs, rich_result, settlement};

/// The story of a run whose calls are done by workers.
pub(crate) struct WorkerStory {
    /// All calls are out, with a deadline.
    pub(crate) out: Run,
    /// One result is in, one call is in doubt with what came too late.
    pub(crate) lost: Run,
    /// Everything that happened, a step each, with the run after it.
    pub(crate) steps: Vec<(Vec<LogEntry>, Run)>,
}

impl WorkerStory {
    pub(crate) fn log(&self) -> impl Iterator<Item = &LogEntry> {
        self.steps.iter().flat_map(|(events, _)| events)
    }
}

/// Tells the story.
pub(crate) fn worker_story() -> WorkerStory {
    let run = new_run(RunId::new("run-2"));
    let mut telling = Telling { run, log: Vec::new(), now: Timestamp(1_700_000_000_000_000) };
    let mut steps = Vec::new();
    let mut tell = |input: Input| {
        telling.tell(input);
        steps.push((std::mem::take(&mut telling.log), telling.run.clone()));
        telling.run.clone()
    };
    tell(started());
    tell(inputs::second_reply());
    tell(inputs::allowed());
    tell(Input::Deferred(Deferred { call: CallIndex(0), recheck: None }));
    let out = tell(Input::Deferred(Deferred { call: CallIndex(1), recheck: None }));
    tell(Input::TasksReturned(Box::new(TasksReturned { tasks: vec![returned(1, 1)] })));
    tell(lost(2, LossCause::LeaseLapsed));
    tell(late("w-1", ToolResult::success("43 is paid")));
    let lost_one = tell(late("w-2", rich_result()));
    tell(answered(Answer::Approve));
    tell(Input::Deferred(Deferred { call: CallIndex(0), recheck: None }));
    tell(lost(5, LossCause::OutOfAttempts));
    tell(answered(Answer::Supply(Arc::new(ToolResult::success("paid by hand")))));
    tell(inputs::second_reply());
    tell(inputs::allowed());
    tell(Input::Deferred(Deferred { call: CallIndex(0), recheck: None }));
    tell(Input::Deferred(Deferred { call: CallIndex(1), recheck: None }));
    let lease = CallLease { turn: Turn(2), ..lease(0, 1, "w-1", 1_700_000_004_000_000) };
    tell(Input::TaskRevoked(TaskRevoked { lease, decision: Decision::deny("not any more") }));
    telling.now = telling.now.plus_ms(3_600_000);
    tell_last(&mut telling, &mut steps);
    WorkerStory { out, lost: lost_one, steps }
}

fn tell_last(telling: &mut Telling, steps: &mut Vec<(Vec<LogEntry>, Run)>) {
    telling.tell(Input::Elapsed);
    steps.push((std::mem::take(&mut telling.log), telling.run.clone()));
}

fn started() -> Input {
    let Input::Started(mut started) = inputs::started() else { unreachable!("it is how the other story begins") };
    let settings = Settings { task_deadline_ms: Some(600_000), max_task_attempts: 2, ..(*started.settings).clone() };
    started.settings = Arc::new(settings);
    Input::Started(started)
}

fn returned(call: u32, attempt: u32) -> TaskReturned {
    let settlement = Settlement {
        source: Some(Source::External),
        ..settlement(Outcome::Succeeded, ToolResult::success("42 is paid"))
    };
    TaskReturned { lease: lease(call, attempt, "w-1", 1_700_000_001_000_000), settlement }
}

fn lease(call: u32, attempt: u32, worker: &str, since: i64) -> CallLease {
    CallLease {
        turn: Turn(1),
        call: CallIndex(call),
        attempt: Attempt(attempt),
        fence: Fence(u64::from(attempt) + 40),
        worker: worker.into(),
        since: Timestamp(since),
    }
}

fn lost(attempt: u32, cause: LossCause) -> Input {
    Input::TaskLost(TaskLost { lease: lease(0, attempt, "w-2", 1_700_000_001_500_000), cause })
}

fn late(worker: &str, result: ToolResult) -> Input {
    let (turn, call, attempt, result) = (Turn(1), CallIndex(0), Attempt(1), Arc::new(result));
    Input::TaskLate(Box::new(TaskLate { turn, call, attempt, worker: worker.into(), result }))
}

fn answered(answer: Answer) -> Input {
    Input::Answered(Box::new(Answered {
        target: Target::Batch(BatchId { run: RunId::new("run-2"), turn: Turn(1) }),
        actor: super::person("ana"),
        answers: vec![("look".into(), GivenAnswer::new(answer, None))],
        missing: Missing::Wait,
        context: Attributes::new(),
        request: None,
    }))
}
