//! The simulated executor and the hooks around it: they begin, hand out, answer in the tool's place, fail, or forget.

use std::collections::VecDeque;
use std::sync::Arc;

use holdpoint_core::{
    Began, CallIndex, CallState, Code, Deferred, HookFailed, Input, Outcome, Recheck, Returned, Settlement, Source,
    TaskLate, ToolResult, Turn, Unfinished,
};

use crate::arrivals::Word;
use crate::checks::Seen;
use crate::driver::settlement;
use crate::process::{Executor, Process};
use crate::tools;
use crate::world::{Faults, World};

impl World {
    pub(crate) fn execute(&mut self, process: &mut Process, calls: Vec<CallIndex>) {
        let mut waiting = VecDeque::from(calls.clone());
        let limit = 1 + self.random.below(4);
        if limit > 1 {
            self.random.shuffle(waiting.make_contiguous());
        }
        process.executor = Some(Executor { batch: calls, waiting, open: Vec::new(), limit });
        self.fill(process);
    }

    /// The executor comes to a call.
    pub(crate) fn come_to(&mut self, process: &mut Process, call: CallIndex) {
        if !process.executor.as_ref().is_some_and(|executor| executor.open.contains(&call)) {
            return;
        }
        if self.faults == Faults::On && self.random.percent(12) {
            self.meddle(process);
        }
        let running = matches!(process.run().call(call).map(|call| &call.state), Some(CallState::Running { .. }));
        let (here, outside) = if self.is_outsourced { (22, 60) } else { (68, 14) };
        let kind = if self.faults == Faults::On { self.random.weighted(&[here, outside, 6, 4, 4, 4]) } else { 0 };
        // An arrival that came twice: the call runs already.
        if running {
            return;
        }
        let is_open = match kind {
            0 | 1 if self.take_change(process, call) => false,
            0 => self.begin(process, call),
            1 => {
                let recheck = self.recheck(process, call);
                let _ = self.feed(process, Input::Deferred(Deferred { call, recheck }));
                false
            }
            2 => {
                let serial = self.next_serial();
                let result = tools::result(&mut self.random, serial);
                let source = *self.random.pick(&[Source::Hook, Source::Cache, Source::DryRun]);
                self.settle_unstarted(process, call, settlement(result, source));
                false
            }
            3 => {
                self.settle_unstarted(process, call, refused(Code::RateLimited));
                false
            }
            4 => {
                let detail = "the hook lost its connection".into();
                let _ = self.feed(process, Input::HookFailed(HookFailed { call, detail, returned: None }));
                false
            }
            _ => false,
        };
        if !is_open {
            self.close(process, call);
        }
    }

    /// Looks whether the tool of a call is another one by now. Returns whether the call does not run for that.
    fn take_change(&mut self, process: &mut Process, call: CallIndex) -> bool {
        let run = process.run();
        let Some(known) = run.call(call).filter(|call| run.is_executable(call)) else { return false };
        let Some(was) = known.tool.clone() else { return false };
        let Some(changed) = self.changed(&was, call, None) else { return false };
        let _ = self.feed(process, changed);
        !process.run().call(call).is_some_and(|call| process.run().is_executable(call))
    }

    /// Returns whether the executor waits for it now.
    fn begin(&mut self, process: &mut Process, call: CallIndex) -> bool {
        let recheck = self.recheck(process, call);
        let began = self.feed(process, Input::Began(Began { call, recheck, after: None }));
        began.is_ok() && matches!(process.run().call(call).map(|call| &call.state), Some(CallState::Running { .. }))
    }

    fn recheck(&mut self, process: &Process, call: CallIndex) -> Option<holdpoint_core::Decision> {
        let known = process.run().call(call)?;
        if known.rechecked || process.run().settings().recheck_policy == Recheck::Off {
            return None;
        }
        let name = known.tool.as_ref()?.name.as_str();
        self.checks.see(&Seen::PolicyAsked { name }, &self.disk);
        Some(tools::recheck(&mut self.random))
    }

    /// A custom executor may do what it was not asked to: the core must not let it.
    fn meddle(&mut self, process: &mut Process) {
        let call = CallIndex::from_usize(self.random.below(process.run().calls().len() + 1));
        let recheck = self.recheck(process, call);
        match self.random.below(3) {
            0 => {
                let _ = self.feed(process, Input::Began(Began { call, recheck, after: None }));
            }
            1 => {
                let _ = self.feed(process, Input::Deferred(Deferred { call, recheck }));
            }
            _ => self.settle_unstarted(process, call, refused(Code::CircuitOpen)),
        }
    }

    fn settle_unstarted(&mut self, process: &mut Process, call: CallIndex, settlement: Settlement) {
        let returned = Returned { call, attempt: None, settlement };
        let _ = self.feed(process, Input::Returned(Box::new(returned)));
    }

    /// A tool ended, now or long ago.
    pub(crate) fn tool_ended(&mut self, process: &mut Process, turn: Turn, returned: Returned) {
        // The driver's channel belongs to the turn: what comes later than that finds nobody.
        if process.run().turn() != turn {
            return;
        }
        let call = returned.call;
        let late = returned.attempt.map(|attempt| TaskLate {
            turn,
            call,
            attempt,
            worker: format!("{:?}", process.id).into(),
            result: Arc::clone(&returned.settlement.result),
        });
        if self.feed(process, Input::Returned(Box::new(returned))).is_ok() {
            process.unsaved.extend(late);
            self.close(process, call);
        }
    }

    /// A tool asks, or nobody knows what became of it.
    pub(crate) fn tool_unfinished(&mut self, process: &mut Process, turn: Turn, unfinished: Unfinished) {
        if process.run().turn() != turn {
            return;
        }
        let call = unfinished.call;
        if self.feed(process, Input::Unfinished(unfinished)).is_ok() {
            self.close(process, call);
        }
    }

    fn close(&mut self, process: &mut Process, call: CallIndex) {
        if let Some(executor) = &mut process.executor {
            executor.close(call);
        }
        self.fill(process);
    }

    fn fill(&mut self, process: &mut Process) {
        let Some(executor) = &mut process.executor else { return };
        while executor.open.len() < executor.limit
            && let Some(call) = executor.waiting.pop_front()
        {
            executor.open.push(call);
            self.arrivals.push(crate::arrivals::Arrival::To(process.id, Word::Turn(call)));
        }
        if !executor.is_done() {
            return;
        }
        let batch = std::mem::take(&mut executor.batch);
        process.executor = None;
        // What the executor forgot is settled in its place.
        for call in batch {
            if process.run().call(call).is_some_and(|call| process.run().is_executable(call)) {
                self.settle_unstarted(process, call, refused(Code::ExecutorFailed));
            }
        }
        process.machine.executor_ended();
    }
}

fn refused(code: Code) -> Settlement {
    let result = ToolResult::error(code.as_str()).into();
    Settlement { outcome: Outcome::Failed, code: Some(code), source: Some(Source::Hook), result, latency_us: 0 }
}
