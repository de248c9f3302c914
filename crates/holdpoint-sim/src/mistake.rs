//! Mistakes that a world makes on purpose, so that each checker is proven to catch something.
//!
//! They are made where the simulator stands in for the driver, the workers or the store: no product code knows of them.

use std::cell::Cell;

/// A mistake of the code around the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A process starts a tool without looking at its lease.
    StartsUnleased,
    /// A process counts its lease from the moment at which it hears of it.
    CountsLeaseFromReply,
    /// A process looks only at a clock that nobody can set.
    IgnoresWallClock,
    /// A process takes a run over although another claimed it since.
    TakesOverOnOldClaim,
    /// A worker starts a tool without looking at its lease.
    WorkerStartsUnleased,
    /// A worker forgets that its lease ends with the deadline of the task.
    ForgetsTaskDeadline,
    /// A task whose lease lapsed is closed although it was completed meanwhile.
    ClosesCompletedTask,
    /// A cancellation does not look for results of workers.
    CancelsCompletedTask,
    /// A worker is told that its result is stored although another worker has the task.
    AcknowledgesLateResult,
    /// An answer counts for the question that is open, whichever question was shown.
    AnswersAnyQuestion,
}

impl Mistake {
    /// Every mistake.
    pub const ALL: [Mistake; 10] = [
        Mistake::StartsUnleased,
        Mistake::CountsLeaseFromReply,
        Mistake::IgnoresWallClock,
        Mistake::TakesOverOnOldClaim,
        Mistake::WorkerStartsUnleased,
        Mistake::ForgetsTaskDeadline,
        Mistake::ClosesCompletedTask,
        Mistake::CancelsCompletedTask,
        Mistake::AcknowledgesLateResult,
        Mistake::AnswersAnyQuestion,
    ];

    /// The checker that it must alarm.
    pub fn alarms(self) -> &'static str {
        match self {
            Mistake::StartsUnleased
            | Mistake::CountsLeaseFromReply
            | Mistake::IgnoresWallClock
            | Mistake::TakesOverOnOldClaim
            | Mistake::WorkerStartsUnleased
            | Mistake::ForgetsTaskDeadline => "leases",
            Mistake::ClosesCompletedTask | Mistake::CancelsCompletedTask | Mistake::AcknowledgesLateResult => {
                "results_kept"
            }
            Mistake::AnswersAnyQuestion => "i16_question",
        }
    }

    /// Makes a mistake in the worlds of this thread from now on; `None` ends it.
    pub fn make(mistake: Option<Mistake>) {
        MADE.with(|made| made.set(mistake));
    }

    pub(crate) fn is_made(self) -> bool {
        MADE.with(|made| made.get() == Some(self))
    }
}

thread_local! {
    static MADE: Cell<Option<Mistake>> = const { Cell::new(None) };
}
