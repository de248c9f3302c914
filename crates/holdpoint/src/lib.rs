//! Runs the tool calls of LLM agents: a policy decides about each call, people approve, tools run once, every step is in a log, and
//! the model gets its answers, turn by turn, through crashes and days of waiting.
//!
//! ```
#![doc = include_str!("../examples/approve.rs")]
//! ```
//!
//! Start with [`Agent::builder`]. An entry point such as [`Agent::chat`] or [`Agent::resume`] returns a [`Segment`] to await, to
//! stream, to detach or to block on; it ends in a [`RunResult`], which is finished or paused.
//!
//! | to | see |
//! |---|---|
//! | write tools, and run them without an agent | [`tools`] |
//! | decide who may call what | [`policy`] |
//! | wrap every execution: rate limits, caches, retries | [`hooks`] |
//! | talk to a model, or script one for tests | [`model`] |
//! | keep runs in a database | [`open_store`], [`store`], [`Keeper`] |
//! | run calls in other processes | [`Worker`], [`Queue`] |
//! | keep a conversation | [`Session`] |
//!
//! # Features
//!
//! | feature | default | brings |
//! |---|---|---|
//! | `providers` | yes | models by `provider:model`: OpenAI and compatible servers, Anthropic, Gemini, Ollama. Not needed with a [`Model`](model::Model) of your own |
//! | `sqlite` | yes | `sqlite:FILE` for [`open_store`]: runs in a file, with nothing to install |
//! | `postgres` | no | `postgres://…` for [`open_store`]: runs in a database that many machines share |
//! | `mcp` | no | tools of MCP servers |

mod background;
mod call;
mod driver;
mod entry;
mod error;
mod events;
mod parts;
mod present;
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
pub use parts::{Migration, SpanParent, UnsignedImports};
pub use storage::grants::{ListedGrant, ListedGrants};
pub use storage::open_store::{StoreOptions, open_store, open_store_with};
pub use storage::store_key::{claim_key, replace_key};

pub use holdpoint_codec::continuation::Traces;
pub use holdpoint_codec::receipt::{
    KeyId, PublicReceiptKey, Receipt, ReceiptClaim, ReceiptKey, ReceiptKeyError, ReceiptKeys, ReceiptProblem,
};
pub use holdpoint_codec::{CodecError, Context, Document, Pending, RememberRequest, SignatureProblem, SigningKey};
pub use holdpoint_core::{
    Actor, Answer, Arguments, AssistantMessage, Attempt, Attributes, BatchId, Blob, Block, CallArguments, CallId,
    CallIndex, CallKey, CallRecord, Code, ContextWindow, ContinuationId, Covers, Decision, Digest, Doubt, DoubtCause,
    ErrorDetail, Evidence, ExecutorChoice, Failure, FinalAnswer, FinalTools, FourEyes, Given, Grant, GrantId,
    GrantScope, Ground, IdempotencyKey, JsonText, Message, MessageCall, ModelStop, Outcome, Parallel,
    ParallelToolCalls, PauseNumber, PauseReason, Progress, ProviderState, QuestionAnswer, QuestionKind, Reach, Recheck,
    Rejection, Remember, Repeat, RequestedName, ResultKind, ResultOrder, Revision, Role, Route, RunId, Settings,
    SettingsError, Settlement, Siblings, Source, Stated, Status, StopReason, Terms, Timestamp, ToolMessage, ToolName,
    ToolResult, Turn, Usage,
};

/// Tools, how their calls are executed, and tools without an agent.
pub mod tools {
    pub use holdpoint_codec::{ToolDefinition, ToolMetadata};
    pub use holdpoint_tools::{
        Batch, BatchCall, Blocking, CallFacts, ChoiceError, Execute, Extensions, Gate, Inquiry, IntoToolResult, Invoke,
        Json, MadeTool, Place, Ran, RegisteredTool, Registry, RegistryError, RunOne, SchemaProblem, ThreadPool, Tool,
        ToolCall, ToolError, ToolExecutionResult, ToolExecutor, ToolFault, ToolFunction, blocking_tool,
        raw_blocking_tool, raw_tool, tool,
    };
}

/// Hooks around each execution: your own, and ready-made ones.
pub mod hooks {
    pub use holdpoint_tools::hooks::{
        AroundRequest, Cache, CacheBuilder, CircuitBreaker, CircuitBreakerBuilder, CircuitState, ConcurrencyLimit,
        ConcurrencyLimitBuilder, DryRun, HookConfigError, Inside, Instrumentation, Jitter, Lease, OnLimit, Per,
        RateLimit, RateLimitBuilder, ResourcePool, ResourcePoolBuilder, Retry, RetryBuilder, Scope, TimeSource,
        ToolStatistics, TowerHook, tower_hook,
    };
    pub use holdpoint_tools::{Around, AroundCall, HookError, HookFuture, Next, around_fn, around_tool};
}

/// Who may call what: rules files, functions, and policies of your own.
pub mod policy {
    pub use holdpoint_config::{ConfigError, KeyPath, Located, Place, Problem};
    pub use holdpoint_policy::{
        AllowAll, AuthorizeRequest, Decide, DenyAll, IntoDecision, Judgement, KnownTools, Mode, OwnedRequest, PastCall,
        Policy, PolicyError, PolicyVersion, RulePlace, RuleWarning, Rules, RulesFile, RunFacts, Shadow,
        async_policy_fn, policy_fn,
    };
}

/// Language models: those of providers, scripted ones for tests, and your own.
pub mod model {
    pub use holdpoint_model::{
        Delta, DeltaSink, IntoModel, Model, ModelCall, ModelChoiceError, ModelError, ModelErrorKind, ModelOptions,
        ModelReply, ModelRequest, NoDeltas, ReasoningEffort, ScriptedModel, ScriptedReply, SeenRequest, TokenCounter,
        ToolChoice,
    };
    #[cfg(feature = "providers")]
    pub use holdpoint_model::{KeySource, ModelChoice, RetryRule, Timeouts};
}

/// Tools of MCP servers.
#[cfg(feature = "mcp")]
pub mod mcp {
    pub use holdpoint_config::{SecretError, VariableName};
    pub use holdpoint_mcp::{
        ConnectProblem, ListedTool, McpError, McpServers, Protocol, SecretSource, ServerConfig, ServerName,
        ServerReport, ToolDigest, ToolStatus,
    };
}

/// Where runs are kept, and what can be looked up there.
pub mod store {
    pub use holdpoint_core::{CallLease, Fence};
    pub use holdpoint_store::audit::{Finding, NotASealMark, Verified, VerifyRequest, verify};
    pub use holdpoint_store::{
        Agents, AllRoles, Approvals, AuditLog, AuditRow, AuditScope, AuditedRun, ClaimRequest, Clock, CommitError,
        Cursor, DeliveredTask, GrantFilter, GrantOpening, GrantRow, Grants, Head, HeadUpdate, Hold, LeaseOf,
        LeaseRequest, LeaseState, LeasedTask, Link, List, MemoryStore, Migrate, OverlongLease, OwnerId, Page,
        PruneRequest, QuestionChange, QuestionChanges, QuestionEnd, QuestionFilter, QuestionOpening, QuestionRow,
        QuestionSeq, QuestionStatus, Record, Release, Reservation, Reserved, ResponseKey, Revoked, RunFilter,
        RunLeases, RunLog, Scope, Seal, SealMark, SealedRun, Search, ServerState, SessionFilter, SessionRow,
        SessionUse, SortedBy, Store, StoreError, StoreFault, StoreTally, Swept, TaskChange, TaskCompletion, TaskFilter,
        TaskGuard, TaskHead, TaskLease, TaskOpening, TaskQueue, TaskStage, TaskState, Tombstone, Topic, Topics, Trace,
        Transition, TransitionProblem, Unsealed, Value, Waiter, WorkerRow, WorkerSeen,
    };
}

/// For the other crates of this workspace. It may change at any time.
#[doc(hidden)]
pub mod internal {
    pub use crate::storage::recorded::{RecordedRun, RecordedRuns};
}
