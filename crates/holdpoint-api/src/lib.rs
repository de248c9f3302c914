//! What goes over HTTP: requests, answers, problems and their codes. Programs in Rust that talk to a server may use
//! these types as they are; the OpenAPI document is made of them.

mod agent;
mod answer;
mod approval;
mod audit;
mod code;
mod grant;
mod login;
mod meta;
mod object;
mod page;
mod policy;
mod problem;
mod run;
mod session;
mod task;
mod whole;

pub use agent::{AgentList, AgentView, RepeatName, ToolList, ToolStatistics, ToolView};
pub use answer::{AnswersBody, DecisionBody, GivenResult, RememberBody, RememberTerms, ResultBody, ResultsBody};
pub use approval::{ApprovalChanges, ApprovalPage, ApprovalStatus, ApprovalView};
pub use audit::{AuditEntry, AuditFinding, AuditPage, AuditVerdict};
pub use code::{ApiCode, ProblemCode};
pub use grant::{GrantPage, ListedGrantView};
pub use login::{LoginBody, TokenRole, WhoAnswer};
pub use meta::{Health, HealthStatus, KeyList, KeyView, Readiness, ReadyCheck, ReadyStatus};
pub use object::Object;
pub use page::PageQuery;
pub use policy::ExplainBody;
pub use problem::{PROBLEM_MEDIA_TYPE, Problem};
pub use run::{EventPage, MessageList, RunBody, RunInput, RunPage, RunStatus, RunSummary, RunView, UsageView};
pub use session::{SessionPage, SessionView};
pub use task::{
    CompleteBody, FailBody, HeartbeatAnswer, HeartbeatBody, LeaseAnswer, LeaseBody, LeasedTaskView, RequeueBody,
    TaskPage, TaskStateName, TaskView, WorkerList, WorkerView,
};
