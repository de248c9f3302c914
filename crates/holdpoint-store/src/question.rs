//! Questions: what runs wait for people to say. A question is pending exactly as long as its call waits for an answer, and
//! stays in the list afterwards until its run is pruned.

use std::fmt;
use std::sync::Arc;

pub use holdpoint_core::QuestionKind;
use holdpoint_core::{CallIndex, CallKey, RunId, Timestamp, ToolName, Turn};

use crate::{Cursor, List};

/// What a transition does to the questions of its run.
#[derive(Clone, Debug)]
pub enum QuestionChange {
    /// A question is asked, or what it shows has changed. One that was closed before is asked anew.
    Open(Box<QuestionOpening>),
    /// Nobody needs to answer any more. No pending question at all is fine.
    Close {
        /// The turn of the call.
        turn: Turn,
        /// Its place in the turn.
        index: CallIndex,
        /// How it ended.
        how: QuestionEnd,
        /// Who said what, as the codec wrote it. Empty when nobody did.
        note: Vec<u8>,
    },
}

impl QuestionChange {
    /// The call that it is about.
    pub fn place(&self) -> (Turn, CallIndex) {
        match self {
            QuestionChange::Open(opening) => (opening.turn, opening.index),
            QuestionChange::Close { turn, index, .. } => (*turn, *index),
        }
    }

    /// How many bytes it brings.
    pub fn bytes(&self) -> usize {
        match self {
            QuestionChange::Open(opening) => opening.body.len(),
            QuestionChange::Close { note, .. } => note.len(),
        }
    }
}

/// A question as it is asked, by the run's agent and for its tenant.
#[derive(Clone)]
pub struct QuestionOpening {
    /// The turn of the call.
    pub turn: Turn,
    /// Its place in the turn.
    pub index: CallIndex,
    /// The registered tool.
    pub tool: ToolName,
    /// What is asked.
    pub kind: QuestionKind,
    /// Past this moment nobody needs to answer.
    pub deadline: Option<Timestamp>,
    /// What people see, as the codec wrote it. Holds raw arguments.
    pub body: Vec<u8>,
}

/// Shows the size of the body only.
impl fmt::Debug for QuestionOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turn, index, tool, body, .. } = self;
        write!(f, "QuestionOpening({turn}.{index} {tool}, {} bytes)", body.len())
    }
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuestionEnd {
    /// People said what is to be done.
    Answered,
    /// Nobody did in time.
    Expired,
    /// It is of no use any more: the run was cancelled, or ended without an answer.
    Gone,
}

impl QuestionEnd {
    /// Where the question is afterwards.
    pub fn status(self) -> QuestionStatus {
        match self {
            QuestionEnd::Answered => QuestionStatus::Answered,
            QuestionEnd::Expired => QuestionStatus::Expired,
            QuestionEnd::Gone => QuestionStatus::Gone,
        }
    }
}

holdpoint_core::named! {
    /// Where a question is.
    #[derive(Default, PartialOrd, Ord)]
    pub enum QuestionStatus {
        /// It waits for people.
        #[default]
        Pending = "pending",
        /// People said what is to be done.
        Answered = "answered",
        /// Nobody did in time.
        Expired = "expired",
        /// It is of no use any more.
        Gone = "gone",
    }
}

/// Orders the changes of all questions of a store: each change has a higher one than those that were durable before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuestionSeq(pub u64);

impl fmt::Display for QuestionSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A question as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct QuestionRow {
    /// The call. Its text is the name of the question: a call that is asked about again keeps it.
    pub key: CallKey,
    /// The agent; the empty name for an agent without one.
    pub agent: Arc<str>,
    /// The tenant, where there are tenants.
    pub tenant: Option<Arc<str>>,
    /// The registered tool.
    pub tool: ToolName,
    /// What is asked.
    pub kind: QuestionKind,
    /// Where it is.
    pub status: QuestionStatus,
    /// Past this moment nobody needs to answer.
    pub deadline: Option<Timestamp>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When it last changed; of one that is not pending, when it ended.
    pub changed_at: Timestamp,
    /// Its last change.
    pub seq: QuestionSeq,
    /// What people see, as the codec wrote it.
    pub body: Arc<[u8]>,
    /// Who said what, once it ended. Empty when nobody did.
    pub note: Arc<[u8]>,
}

/// Shows the size of the body only.
impl fmt::Debug for QuestionRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, tool, status, seq, body, .. } = self;
        write!(f, "QuestionRow({key} {tool}, {} at {seq}, {} bytes)", status.as_str(), body.len())
    }
}

/// Which questions to list. Pending ones come by deadline, the earliest first and those without one last; others the last
/// changed first. The default is all that are pending.
#[derive(Clone, Debug, Default)]
pub struct QuestionFilter {
    /// Only questions of this tenant.
    pub tenant: Option<Arc<str>>,
    /// Only questions that are there.
    pub status: QuestionStatus,
    /// Only questions of this kind.
    pub kind: Option<QuestionKind>,
    /// Only questions about this tool.
    pub tool: Option<ToolName>,
    /// Only questions of this agent.
    pub agent: Option<Arc<str>>,
    /// Only questions of this run.
    pub run: Option<RunId>,
    /// Go on where an earlier page ended.
    pub cursor: Option<Cursor>,
    /// The size of the page: see [`crate::page_size`].
    pub limit: Option<usize>,
}

impl QuestionFilter {
    /// Its list: pending questions and those that ended are sorted differently.
    pub fn list(&self) -> List {
        if self.status == QuestionStatus::Pending { List::PendingQuestions } else { List::EndedQuestions }
    }

    /// Whether a question is one of those to list.
    pub fn matches(&self, row: &QuestionRow) -> bool {
        self.status == row.status
            && (self.tenant.is_none() || self.tenant == row.tenant)
            && self.kind.is_none_or(|kind| kind == row.kind)
            && self.tool.as_ref().is_none_or(|tool| *tool == row.tool)
            && self.agent.as_ref().is_none_or(|agent| *agent == row.agent)
            && self.run.as_ref().is_none_or(|run| *run == row.key.run)
    }
}

/// What changed since somebody looked.
#[derive(Clone, Debug, Default)]
pub struct QuestionChanges {
    /// The questions that changed, as they are now, in the order of their last change.
    pub questions: Vec<QuestionRow>,
    /// Where to go on.
    pub seq: QuestionSeq,
}
