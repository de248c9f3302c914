//! What is written and what is read back.

use std::fmt;
use std::sync::Arc;

use holdpoint_core::{ContinuationId, Revision, RunId, Status, Timestamp};

use crate::{GrantOpening, Hold, QuestionChange, SessionUse, TaskChange, Topics, TransitionProblem};

/// The largest record.
pub const RECORD_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The most records of one transition: far above what the largest turn makes.
pub const TRANSITION_RECORDS_MAX: usize = 100_000;
/// The most bytes of one transition: records, tasks and audit together.
pub const TRANSITION_BYTES_MAX: usize = 256 * 1024 * 1024;
/// The longest run id.
pub const RUN_ID_BYTES_MAX: usize = 256;

/// One step of a run: its records, and what is true of the run afterwards.
pub struct Transition {
    /// The encoded events, in order. Never empty.
    pub records: Vec<Vec<u8>>,
    /// What is true afterwards.
    pub head: HeadUpdate,
    /// When it happened. Every record of it carries this moment.
    pub at: Timestamp,
    /// Who drives the run afterwards. Nobody: a run that is to go on can be claimed at once.
    pub hold: Option<Hold>,
    /// What happens to the queue.
    pub tasks: Vec<TaskChange>,
    /// Who decided and did what, for the audit log. Never arguments or results.
    pub audit: Option<Vec<u8>>,
    /// What people said about calls that are yet to come.
    pub grants: Vec<GrantOpening>,
    /// What people are asked, and what they need not be asked any more.
    pub questions: Vec<QuestionChange>,
    /// Whether other runs of its session may be open. Counts when the run is created.
    pub session_use: SessionUse,
}

impl Transition {
    /// Records and a head; nobody holds the run, and the queue stays as it is.
    pub fn new(records: Vec<Vec<u8>>, head: HeadUpdate, at: Timestamp) -> Self {
        Self {
            records,
            head,
            at,
            hold: None,
            tasks: Vec::new(),
            audit: None,
            grants: Vec::new(),
            questions: Vec::new(),
            session_use: SessionUse::default(),
        }
    }

    /// Whether any store could take it: not empty, within the limits, and about this run only.
    pub fn check(&self, run: &RunId) -> Result<(), TransitionProblem> {
        let id_bytes = run.as_str().len();
        if id_bytes == 0 || id_bytes > RUN_ID_BYTES_MAX {
            return Err(TransitionProblem::RunIdLength { bytes: id_bytes });
        }
        if self.records.is_empty() {
            return Err(TransitionProblem::Empty);
        }
        if self.records.len() > TRANSITION_RECORDS_MAX {
            return Err(TransitionProblem::TooManyRecords { records: self.records.len() });
        }
        if let Some(bytes) = self.sizes().find(|bytes| *bytes > RECORD_BYTES_MAX) {
            return Err(TransitionProblem::RecordTooLarge { bytes });
        }
        let bytes = self.bytes();
        if bytes > TRANSITION_BYTES_MAX {
            return Err(TransitionProblem::TooLarge { bytes });
        }
        match &self.head.continuation {
            Some(continuation) if continuation.run != *run => Err(TransitionProblem::ForeignContinuation),
            _ => Ok(()),
        }
    }

    /// The bytes of everything that it brings.
    pub fn bytes(&self) -> usize {
        self.sizes().sum()
    }

    fn sizes(&self) -> impl Iterator<Item = usize> {
        let records = self.records.iter().map(Vec::len);
        let tasks = self.tasks.iter().map(TaskChange::bytes);
        let grants = self.grants.iter().map(|grant| grant.body.len());
        let questions = self.questions.iter().map(QuestionChange::bytes);
        records.chain(tasks).chain(grants).chain(questions).chain(self.audit.as_ref().map(Vec::len))
    }

    /// What callers may wait for after its commit.
    pub fn topics(&self) -> Topics {
        Topics {
            tasks: self.tasks.iter().any(|change| matches!(change, TaskChange::Open(_))),
            // A running run can be claimed if nobody holds it; a paused one may have results to collect or a deadline.
            runs: is_paused(self.head.status) || (self.head.status == Status::Running && self.hold.is_none()),
            questions: !self.questions.is_empty(),
        }
    }
}

/// Whether a run in this status is over: it is never claimed again and may be pruned.
pub fn is_over(status: Status) -> bool {
    match status {
        Status::Finished | Status::Failed | Status::Cancelled => true,
        Status::Running | Status::AwaitingToolConfirmation | Status::AwaitingToolResults => false,
    }
}

/// Whether a run in this status waits for people or results.
pub fn is_paused(status: Status) -> bool {
    match status {
        Status::AwaitingToolConfirmation | Status::AwaitingToolResults => true,
        Status::Running | Status::Finished | Status::Failed | Status::Cancelled => false,
    }
}

/// Shows sizes only: records hold arguments and results.
impl fmt::Debug for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: usize = self.records.iter().map(Vec::len).sum();
        write!(f, "Transition({} records, {bytes} bytes, {:?} at {})", self.records.len(), self.head, self.at.0)
    }
}

/// What a commit says about the run. It replaces what the commit before said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadUpdate {
    /// Where the run is.
    pub status: Status,
    /// The agent, if it has a name. The commit that creates the run decides; later ones do not change it.
    pub agent: Option<Arc<str>>,
    /// The tenant that the run belongs to, with its tasks, questions, grants and audit log. Decided as the agent is.
    pub tenant: Option<Arc<str>>,
    /// The pause that waits, if one does.
    pub continuation: Option<ContinuationId>,
    /// The earliest deadline of what waits.
    pub deadline: Option<Timestamp>,
    /// The session that the run belongs to. Decided as the agent is.
    pub session: Option<Arc<str>>,
}

impl HeadUpdate {
    /// A status and nothing else.
    pub fn new(status: Status) -> Self {
        Self { status, agent: None, tenant: None, continuation: None, deadline: None, session: None }
    }
}

/// What is known of a run without reading its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The run.
    pub run: RunId,
    /// How many records it has.
    pub revision: Revision,
    /// Where it is.
    pub status: Status,
    /// The agent, if it has a name.
    pub agent: Option<Arc<str>>,
    /// The tenant, where there are tenants.
    pub tenant: Option<Arc<str>>,
    /// The pause that waits, if one does.
    pub continuation: Option<ContinuationId>,
    /// The earliest deadline of what waits.
    pub deadline: Option<Timestamp>,
    /// The session that it was created in.
    pub session: Option<Arc<str>>,
    /// The moment of its first transition.
    pub created_at: Timestamp,
    /// The moment of its last transition.
    pub updated_at: Timestamp,
}

/// One encoded event of a run.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    /// Its place, from 1: the revision of the run once it was written.
    pub seq: Revision,
    /// When it happened.
    pub at: Timestamp,
    /// What the codec wrote.
    pub body: Arc<[u8]>,
}

/// Shows the size only: records hold arguments and results.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({} at {}, {} bytes)", self.seq, self.at.0, self.body.len())
    }
}
