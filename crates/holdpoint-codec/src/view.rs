//! The public forms: what streams, the HTTP API, the command line and the library show of a run.
//!
//! One type per thing. They are written and read as the same JSON everywhere; values whose exact digits matter (arguments,
//! JSON results, schemas, context values) stay raw JSON. With the feature `openapi` each type describes itself.

mod event;
mod forms;
#[cfg(feature = "openapi")]
mod schema;

pub use crate::audit::{Entry as AuditDecisionView, Shadow as AuditShadowView};
pub use crate::grant::{GrantReach, GrantView, GrantedArguments};
pub use crate::question::{AnswerNote, DecisionWord};
pub use crate::result::ResultView;
pub use crate::wire::{
    ActorWire as ActorView, BlobWire as BlobView, BlockWire as BlockView, CodeName, DecisionWire as DecisionView,
    DigestText, DoubtCauseName, FailureName, Json as RawJson, Members, MessageCallWire as MessageCallView,
    MessageWire as MessageView, Moment, Name, OutcomeName, PauseReasonName, PendingWire as PendingView,
    ProviderStateWire as ProviderStateView, QuestionKindName, RoleName, SaidName, ShownAnswer as PendingAnswerView,
    ShownAsk as AskView, ShownDoubt as DoubtView, ShownEvidence as EvidenceView, SourceName, StageName, Text, Verdict,
    VerdictName,
};
pub(crate) use event::audited;
pub use event::{EventKind, EventView, event_view};
pub use forms::{
    CallAnsweredView, CallDecidedView, CallDeferredView, CallDoubtedView, CallRef, CancelledView, ContextChangedView,
    DoneView, EpochStartedView, EvidenceGivenView, FailedView, GrantGivenView, GrantRevokedView, GrantUsedView,
    HookFailedView, ImportedView, MessageCompletedView, PauseView, RequiredView, RunStartedView, TaskTakenView,
    ToolEndedView, ToolStartedView, TurnEndedView, TurnRef, UsageTotalView,
};
