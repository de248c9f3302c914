//! The machine: what happens next in a run, never how.
//!
//! A [`Run`] is told what happened ([`Input`]), decides what follows ([`Run::handle`], which changes nothing), and
//! records it ([`Run::apply`], which cannot fail). What is outstanding is derived from the state alone
//! ([`Run::owed`]), so that a process that takes over after a crash finds everything there.
//!
//! No I/O, no clock, no randomness, no async, no JSON: moments come in with the inputs, ids are derived, arguments are
//! opaque text with a digest.

mod apply;
mod arguments;
mod call;
mod code;
mod conductor;
mod content;
mod decision;
mod doubt;
mod earlier;
mod event;
mod follow;
mod grant;
mod ids;
mod input;
mod lease;
mod message;
mod named;
mod outcome;
mod owed;
mod question;
mod rejection;
mod run;
mod settings;
mod snapshot;
mod tally;
mod task;
mod texts;

pub use arguments::{Arguments, JsonText};
pub use call::{Asked, Call, CallRecord, CallState, Progress, Settlement, ToolFacts};
pub use code::Code;
pub use conductor::{Conductor, Step};
pub use content::{Blob, Block, ResultKind, ToolResult};
pub use decision::{Actor, Answer, Decision, FourEyes, Ground, Terms};
pub use doubt::{Doubt, DoubtCause, Evidence, Given};
pub use earlier::{EarlierCall, Edited};
pub use event::{CallAnswered, CallOpening, Completeness, Event, LogEntry, MessageCompleted, RunStarted, Stage};
pub use grant::{Covers, Grant, GrantScope, Reach, Remember};
pub use ids::{
    Attempt, BatchId, CallId, CallIndex, CallKey, ContinuationId, Digest, Epoch, Fence, GrantId, IdempotencyKey,
    PauseNumber, RequestedName, Revision, RunId, Timestamp, ToolName, Turn,
};
pub use input::{
    Answered, Authorized, Began, Cancelled, Deferred, Delivered, GivenAnswer, GrantRevoked, HookFailed, Input,
    Measured, Missing, ModelFailed, Problem, ProposedCall, Recovered, Refit, Replied, Reply, Retried, Returned,
    Started, Target, TaskLate, TaskLost, TaskReturned, TaskRevoked, TasksReturned, ToolChanged, Unfinished, Usage,
};
pub use lease::{ClockReading, LeaseTerm};
pub use message::{AssistantMessage, CallArguments, Message, MessageCall, ProviderState, Role, ToolMessage};
pub use named::Named;
pub use outcome::{Failure, ModelStop, Outcome, PauseReason, Repeat, Source, Status, StopReason};
pub use owed::Effect;
pub use question::{Question, QuestionAnswer, QuestionDigest, QuestionFacts, QuestionKind, Stated};
pub use rejection::Rejection;
pub use run::{Phase, Run, Work};
pub use settings::{
    Attributes, ContextWindow, ErrorDetail, ExecutorChoice, FinalAnswer, FinalTools, Limits, Parallel,
    ParallelToolCalls, Recheck, ResultOrder, Route, Settings, SettingsError, Siblings,
};
pub use snapshot::Snapshot;
pub use tally::Tally;
pub use task::{AfterLoss, CallLease, LossCause, task_loss};
