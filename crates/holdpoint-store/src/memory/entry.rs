//! What the memory store keeps of one run.

use holdpoint_core::{ContinuationId, PauseNumber, Revision, RunId, Status, Timestamp};

use super::log::Log;
use super::owners::OwnerIndex;
use crate::{Head, HeadUpdate};

/// The fixed part of a run. Kept small, since there may be a million of them.
pub(super) struct Entry {
    pub(super) run: RunId,
    pub(super) log: Log,
    pub(super) revision: Revision,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    /// [`NO_DEADLINE`] when there is none.
    deadline: Timestamp,
    /// The run of a continuation is this run: only its number is kept.
    pause: Option<PauseNumber>,
    pub(super) owner: OwnerIndex,
    /// The revision of its last audit row.
    pub(super) audited: Revision,
    pub(super) status: Status,
}

/// A moment that never comes.
const NO_DEADLINE: Timestamp = Timestamp(i64::MAX);

impl Entry {
    /// A run without records.
    pub(super) fn new(run: RunId, at: Timestamp, owner: OwnerIndex) -> Self {
        Self {
            run,
            log: Log::default(),
            revision: Revision(0),
            created_at: at,
            updated_at: at,
            deadline: NO_DEADLINE,
            pause: None,
            owner,
            audited: Revision(0),
            status: Status::Running,
        }
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        (self.deadline != NO_DEADLINE).then_some(self.deadline)
    }

    /// Takes over what a commit said.
    pub(super) fn update(&mut self, head: &HeadUpdate) {
        self.status = head.status;
        self.deadline = head.deadline.unwrap_or(NO_DEADLINE);
        self.pause = head.continuation.as_ref().map(|continuation| continuation.pause);
    }

    /// The head, without the names of the owner and the session.
    pub(super) fn head(&self) -> Head {
        let run = self.run.clone();
        Head {
            continuation: self.pause.map(|pause| ContinuationId { run: run.clone(), pause }),
            run,
            revision: self.revision,
            status: self.status,
            agent: None,
            tenant: None,
            deadline: self.deadline(),
            session: None,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}
