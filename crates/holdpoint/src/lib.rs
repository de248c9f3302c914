//! Runs the tool calls of LLM agents: decides, waits, runs, remembers, and answers the model, turn by turn.

mod agent;
pub mod blocking;
mod builder;
mod callbacks;
mod deltas;
mod desk;
mod driver;
mod error;
mod failpoint;
mod grants;
mod instrument;
mod keeper;
mod lease;
mod listen;
mod open_store;
mod opening;
mod parts;
mod patience;
mod queue;
mod recorded;
mod request;
mod result;
mod resume;
mod runner;
mod seen;
mod session;
mod spans;
mod stopping;
mod store_key;
mod stream;
mod tool_stats;
mod worker;

pub use agent::{Agent, AgentConfig, ConfigError};
pub use builder::{AgentBuilder, Buildable, Builder, RunnerBuilder};
pub use callbacks::{EndedCall, StartedCall};
pub use deltas::{DeltaHub, DeltaListener};
pub use desk::SessionSoFar;
pub use error::Error;
#[doc(hidden)]
pub use failpoint::{AtFailpoint, Failpoint};
pub use grants::{ListedGrant, ListedGrants};
pub use instrument::{Happening, InstrumentSink};
pub use keeper::Keeper;
pub use open_store::{MigrateStore, StoreOptions, open_store, open_store_with};
pub use parts::{Migration, SpanParent, UnsignedImports};
pub use queue::{Queue, TaskHolder, WorkerFault};
pub use recorded::{RecordedRun, RecordedRuns};
pub use request::RunRequest;
pub use result::{Continuation, Durations, RunResult};
pub use resume::{Decisions, EditedArguments, Person, Requeue, Results, ResumeFrom, Retry, Verdict};
pub use runner::{ExportOptions, Runner};
pub use session::Session;
pub use store_key::{claim_key, replace_key};
pub use stream::{DurableEvent, RunStream, StreamEvent};
pub use tool_stats::{LATENCY_STEPS, ToolStats};
pub use worker::Worker;

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
