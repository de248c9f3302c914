//! Every input in every state: what does not fit is told to a copy of a run, which must not mind.

use std::sync::{Arc, OnceLock};

use holdpoint_codec::new_run;
use holdpoint_core::{
    Attempt, Authorized, Began, CallIndex, CallLease, Cancelled, Decision, Deferred, Fence, HookFailed, Input,
    LossCause, Measured, ModelFailed, Returned, Revision, Run, RunId, Snapshot, Source, TaskLate, TaskLost,
    TaskReturned, TaskRevoked, TasksReturned, Timestamp, Turn, Unfinished,
};

use crate::checks::Seen;
use crate::disk::Slot;
use crate::driver::settlement;
use crate::random::Random;
use crate::script::{self, Mood};
use crate::tools;
use crate::world::World;

impl World {
    /// Tells copies of a run things that do not fit, one after another.
    pub(crate) fn probe(&mut self, slot: Slot) {
        let run = self.some_run(slot);
        let count = 1 + self.random.below(4);
        for _ in 0..count {
            let input = self.any_input(slot, &run);
            self.probe_with(&run, input);
        }
    }

    /// The run as it is stored, as a process has it, or as it was after any of its events.
    fn some_run(&mut self, slot: Slot) -> Run {
        match self.random.weighted(&[40, 30, 30]) {
            0 => self.disk.log(slot).run().clone(),
            1 => {
                let held = self.processes.values().find(|process| process.slot == slot);
                held.map_or_else(|| self.disk.log(slot).run().clone(), |process| process.run().clone())
            }
            _ => {
                let log = self.disk.log(slot);
                let count = usize::try_from(log.revision().0).unwrap_or(0) + 1;
                log.rebuilt(Revision(self.random.below(count) as u64))
            }
        }
    }

    fn probe_with(&mut self, run: &Run, input: Input) {
        self.coverage.count(run, &input);
        self.inspect("an input", &input);
        let mut stepped = run.clone();
        let result = stepped.step(input, self.now);
        if !self.random.percent(10) {
            return;
        }
        let mut replayed = run.clone();
        match &result {
            Ok(events) => {
                events.iter().for_each(|entry| replayed.apply(entry));
                self.checks.see(&Seen::Printed { what: "events", text: &format!("{events:?}") }, &self.disk);
            }
            Err(rejection) => {
                let text = format!("{rejection:?} {rejection}");
                self.checks.see(&Seen::Printed { what: "a rejection", text: &text }, &self.disk);
            }
        }
        self.checks.see(&Seen::Rebuilt { live: &stepped, read: &replayed }, &self.disk);
    }

    fn any_input(&mut self, slot: Slot, run: &Run) -> Input {
        let call = CallIndex::from_usize(self.random.below(run.calls().len() + 1));
        let random = &mut self.random;
        match random.below(23) {
            0 => script::started(random),
            1 => Input::Imported(canned()),
            2 => Input::Measured(Measured { tokens: random.below(2000) as u64 }),
            3 => reply(random),
            4 => Input::ModelFailed(ModelFailed { detail: "the provider is away".into() }),
            5 => Input::Authorized(Authorized::new(vec![(call, tools::decide(random))])),
            6 => Input::Began(Began { call, recheck: any_recheck(random), after: None }),
            7 => Input::Deferred(Deferred { call, recheck: any_recheck(random) }),
            8 => {
                let attempt = random.percent(70).then(|| Attempt(u32::try_from(random.below(3)).unwrap_or(0)));
                let settlement = settlement(tools::result(random, 1), Source::Tool);
                Input::Returned(Box::new(Returned { call, attempt, settlement }))
            }
            9 => Input::HookFailed(HookFailed { call, detail: "the hook is gone".into(), returned: None }),
            10 => self.anyones_answers(run),
            11 => self.anyones_results(slot, run),
            12 => Input::Elapsed,
            13 => Input::Recovered(holdpoint_core::Recovered::default()),
            14 => Input::Cancelled(Cancelled::default()),
            15 => Input::Retried(holdpoint_core::Retried::default()),
            20 => self.any_change(run, call),
            21 => self.any_revocation(run),
            22 => {
                let attempt = Attempt(u32::try_from(random.below(3)).unwrap_or(0));
                let asks = random.percent(50).then(|| Arc::new(tools::result(random, 1)));
                Input::Unfinished(Unfinished { call, attempt, asks })
            }
            _ => of_a_worker(random, run, call),
        }
    }
}

/// What a worker, or whoever watches over it, may say about a call, whether it had it or not.
fn of_a_worker(random: &mut Random, run: &Run, call: CallIndex) -> Input {
    let turn = if random.percent(90) { run.turn() } else { Turn(1) };
    let attempt = Attempt(u32::try_from(random.below(4)).unwrap_or(0));
    let worker: Arc<str> = "worker_9".into();
    let lease = CallLease { turn, call, attempt, fence: Fence(0), worker: Arc::clone(&worker), since: Timestamp(1) };
    match random.below(4) {
        0 => {
            let settlement = settlement(tools::result(random, 1), Source::External);
            let tasks = vec![TaskReturned { lease, settlement }];
            Input::TasksReturned(Box::new(TasksReturned { tasks }))
        }
        1 => {
            let cause = *random.pick(&LossCause::ALL);
            Input::TaskLost(TaskLost { lease, cause })
        }
        2 => {
            let decision = tools::recheck(random);
            Input::TaskRevoked(TaskRevoked { lease, decision })
        }
        _ => {
            let result = Arc::new(tools::result(random, 1));
            Input::TaskLate(Box::new(TaskLate { turn, call, attempt, worker, result }))
        }
    }
}

fn any_recheck(random: &mut Random) -> Option<Decision> {
    random.percent(50).then(|| tools::recheck(random))
}

fn reply(random: &mut Random) -> Input {
    loop {
        let answer = script::answer(random, 0, Mood::Any);
        if matches!(answer, Input::Replied(_)) {
            return answer;
        }
    }
}

/// A paused run that another store exported.
fn canned() -> Arc<Snapshot> {
    static CANNED: OnceLock<Arc<Snapshot>> = OnceLock::new();
    Arc::clone(CANNED.get_or_init(|| Arc::new(paused())))
}

fn paused() -> Snapshot {
    for seed in 0.. {
        let mut random = Random::from_seed(seed);
        let mut run = new_run(RunId::new("run_0"));
        let decisions = vec![(CallIndex(0), Decision::confirm("a person should look"))];
        let script = [script::started(&mut random), reply(&mut random), Input::Authorized(Authorized::new(decisions))];
        for input in script {
            // A seed whose first turn has another shape is not of use: the next one is tried.
            let _ = run.step(input, Timestamp(1));
        }
        if let Some(snapshot) = run.snapshot() {
            return snapshot;
        }
    }
    unreachable!("one of the first seeds gives a turn with one usable call")
}
