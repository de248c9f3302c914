//! What is outstanding, derived from the state alone.

use crate::{CallIndex, CallState, FinalTools, PauseReason, Phase, Run, StopReason, Timestamp, Work};

/// Something that must be done outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Call the model.
    CallModel {
        /// Whether it has its tools.
        tools: FinalTools,
    },
    /// Ask policy about these calls.
    Authorize {
        /// Which.
        calls: Vec<CallIndex>,
    },
    /// Hand these calls to the executor.
    Execute {
        /// Which.
        calls: Vec<CallIndex>,
    },
    /// Wake the run at the latest then.
    SetTimer {
        /// When.
        at: Timestamp,
    },
    /// Tell whoever listens that the run waits.
    Pause {
        /// What for.
        reason: PauseReason,
    },
    /// Tell whoever listens that the run is over or failed.
    Finish {
        /// Why.
        stop: StopReason,
    },
}

impl Run {
    /// Everything outstanding.
    pub fn owed(&self) -> Vec<Effect> {
        match &self.phase {
            Phase::New | Phase::Between => Vec::new(),
            Phase::Working(Work::Model) => vec![Effect::CallModel { tools: self.tools_now() }],
            Phase::Working(Work::Calls) => self.owed_calls(),
            Phase::Paused(reason) => {
                let timer = self.next_deadline().map(|at| Effect::SetTimer { at });
                timer.into_iter().chain([Effect::Pause { reason: *reason }]).collect()
            }
            Phase::Failed(failure, _) => vec![Effect::Finish { stop: StopReason::Failed(*failure) }],
            Phase::Ended(stop) => vec![Effect::Finish { stop: stop.clone() }],
        }
    }

    fn owed_calls(&self) -> Vec<Effect> {
        if self.tally.proposed > 0 {
            let calls = self.indices(|call| matches!(call.state, CallState::Proposed));
            return vec![Effect::Authorize { calls }];
        }
        if self.executable_count() == 0 {
            return Vec::new();
        }
        vec![Effect::Execute { calls: self.indices(|call| self.is_executable(call)) }]
    }

    fn indices(&self, wanted: impl Fn(&crate::Call) -> bool) -> Vec<CallIndex> {
        let calls = self.calls.iter().enumerate().filter(|(_, call)| wanted(call));
        calls.map(|(index, _)| CallIndex::from_usize(index)).collect()
    }

    fn tools_now(&self) -> FinalTools {
        if self.final_asked { self.settings.final_answer.tools } else { FinalTools::Enabled }
    }
}
