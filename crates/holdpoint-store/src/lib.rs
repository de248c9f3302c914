//! The store contract, the memory store and the conformance suite.
//!
//! A store keeps, per run, an append-only list of records and a small [`Head`] that lists and timers need. It never
//! reads a record: what is in it is the codec's business. The traits of the roles ([`RunLog`] and the others) say what every
//! store promises, [`Store`] is what its users hold, [`conformance`] checks it, and [`MemoryStore`] is the first one. The
//! feature `testing` adds wrappers with which tests change or break one part of a store.

pub mod audit;
mod clock;
pub mod conformance;
mod error;
mod fault;
mod grant;
mod lease;
mod lease_clock;
mod memory;
mod notify;
pub mod packed;
mod page;
mod prune;
mod question;
mod response;
mod role;
pub mod rows;
mod run_list;
mod schema;
mod scope;
mod search;
mod session_list;
mod step;
mod store;
mod task;
#[cfg(feature = "testing")]
mod testing;
mod transition;
mod worker_list;

pub use audit::{
    AuditRow, AuditScope, AuditedRun, Link, Seal, SealMark, SealedRun, Tombstone, Trace, Unsealed, first_link,
    next_link,
};
pub use clock::{Clock, ManualClock, SteadyClock, SystemClock};
pub use error::{CommitError, StoreError, TransitionProblem};
pub use fault::StoreFault;
pub use grant::{GRANTS_MATCHED_MAX, GrantFilter, GrantOpening, GrantRow, Revoked};
pub use lease::{Agents, CLAIM_LIMIT_MAX, ClaimRequest, Hold, LeaseOf, OverlongLease, OwnerId};
pub use lease_clock::{LeaseClock, SystemLeaseClock, boot_us};
pub use memory::MemoryStore;
pub use notify::{Notifier, Topic, Topics, Waiter};
pub use page::{Cursor, LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, List, Page, page_size};
pub use prune::{PRUNE_LIMIT_MAX, PruneRequest};
pub use question::{
    QuestionChange, QuestionChanges, QuestionEnd, QuestionFilter, QuestionKind, QuestionOpening, QuestionRow,
    QuestionSeq, QuestionStatus,
};
pub use response::{RESPONSE_BYTES_MAX, RESPONSE_KEPT_MS, Reservation, Reserved, ResponseKey};
pub use role::{Approvals, AuditLog, Grants, RunLeases, RunLog, ServerState, TaskQueue};
pub use run_list::RunFilter;
pub use schema::{Migrate, check_schema};
pub use scope::Scope;
pub use search::{Search, SortedBy, Value};
pub use session_list::{SessionFilter, SessionRow, SessionUse};
pub use step::Step;
pub use store::{AllRoles, DUE_LIMIT_MAX, Store};
pub use task::{
    DeliveredTask, Fence, LEASE_LIMIT_MAX, LEASE_MS_MAX, LEASE_TOOLS_MAX, LeaseRequest, LeaseState, LeasedTask,
    Release, TaskChange, TaskCompletion, TaskFilter, TaskGuard, TaskHead, TaskLease, TaskOpening, TaskStage, TaskState,
};
#[cfg(feature = "testing")]
pub use testing::{
    ApprovalsLayer, AuditLogLayer, FaultPoint, FaultyStore, GrantsLayer, Layer, ManualLeaseClock, RunLeasesLayer,
    RunLogLayer, ServerStateLayer, TaskQueueLayer,
};
pub use transition::{
    Head, HeadUpdate, RECORD_BYTES_MAX, RUN_ID_BYTES_MAX, Record, TRANSITION_BYTES_MAX, TRANSITION_RECORDS_MAX,
    Transition, is_over, is_paused,
};
pub use worker_list::{StoreTally, Swept, WORKER_KEPT_MS, WORKER_TOOLS_MAX, WORKERS_MAX, WorkerRow, WorkerSeen};
