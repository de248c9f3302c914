//! Runs the tool calls of LLM agents: decides, waits, runs, remembers, and answers the model, turn by turn.

mod background;
mod call;
mod driver;
mod entry;
mod error;
mod events;
mod failpoint;
mod parts;
mod storage;

pub use background::keeper::Keeper;
pub use background::queue::{Queue, TaskHolder, WorkerFault};
pub use background::worker::Worker;
pub use entry::agent::{Agent, AgentConfig, ConfigError};
pub use entry::builder::{AgentBuilder, Buildable, Builder, RunnerBuilder};
pub use entry::decisions::{CallAnswer, Decisions, EditedArguments};
pub use entry::export::ExportOptions;
pub use entry::request::RunRequest;
pub use entry::result::{Continuation, Durations, RunResult};
pub use entry::results::Results;
pub use entry::resume_from::ResumeFrom;
pub use entry::runner::Runner;
pub use entry::segment::Segment;
pub use entry::session::{Session, SessionSoFar};
pub use error::Error;
pub use events::callbacks::{EndedCall, StartedCall};
pub use events::deltas::{DeltaHub, DeltaListener};
pub use events::instrument::{Happening, InstrumentSink};
pub use events::stream::{DurableEvent, RunStream, StreamEvent};
pub use events::tool_stats::{LATENCY_STEPS, ToolStats};
#[doc(hidden)]
pub use failpoint::{AtFailpoint, Failpoint};
pub use parts::{Migration, SpanParent, UnsignedImports};
pub use storage::grants::{ListedGrant, ListedGrants};
pub use storage::open_store::{MigrateStore, StoreOptions, open_store, open_store_with};
pub use storage::recorded::{RecordedRun, RecordedRuns};
pub use storage::store_key::{claim_key, replace_key};

pub use holdpoint_codec as codec;
pub use holdpoint_codec::continuation::Traces;
pub use holdpoint_codec::receipt::{ReceiptKey, ReceiptKeys};
pub use holdpoint_codec::{Context, Pending, RememberRequest, SigningKey};
pub use holdpoint_core::{
    Actor, Block, CallRecord, Code, Decision, Message, Outcome, Parallel, Repeat, Role, RunId, Settings, Siblings,
    Source, Status, StopReason, ToolResult, Usage,
};
#[cfg(feature = "mcp")]
pub use holdpoint_mcp as mcp;
pub use holdpoint_model as model;
pub use holdpoint_policy as policy;
pub use holdpoint_store as store;
pub use holdpoint_tools as tools;
