//! The JSON form of the core's types that events and payloads hold. The compiler finds a field that is missing here.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Answer, Arguments, Asked, Attempt, Attributes, Block, Call, CallArguments, CallId, CallIndex, CallKey,
    CallOpening, CallRecord, CallState, Code, Decision, Digest, Doubt, DoubtCause, Edited, Evidence, FourEyes, Given,
    Grant, GrantId, GrantScope, Ground, Message, Outcome, PauseNumber, PauseReason, Progress, Question, QuestionAnswer,
    Repeat, RequestedName, ResultKind, RunId, Settings, Settlement, Snapshot, Source, Stated, Terms, Timestamp,
    ToolFacts, ToolName, ToolResult, Turn, Usage,
};
use serde::{Deserialize, Serialize};
use serde_with::As;

use super::{Stored, Usual, is_one, one, remote, stored};

remote! {
    Actor => ActorDef,
    Answer => AnswerDef,
    Call => CallDef,
    CallArguments => CallArgumentsDef,
    CallKey => CallKeyDef,
    CallOpening => CallOpeningDef,
    CallRecord => CallRecordDef,
    CallState => CallStateDef,
    Decision => DecisionDef,
    Doubt => DoubtDef,
    Edited => EditedDef,
    Evidence => EvidenceDef,
    Given => GivenDef,
    Grant => GrantDef,
    GrantScope => GrantScopeDef,
    Ground => GroundDef,
    PauseReason => PauseReasonDef,
    Question => QuestionDef,
    QuestionAnswer => QuestionAnswerDef,
    Settlement => SettlementDef,
    Snapshot => SnapshotDef,
    Stated => StatedDef,
    Terms => TermsDef,
    ToolFacts => ToolFactsDef,
    ToolResult => ToolResultDef,
    Usage => UsageDef,
}

/// Both parts of a question are always written: a list has no names by which one could be missing.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Decision", rename_all = "snake_case")]
enum DecisionDef {
    Allow(#[serde(with = "As::<Stored>")] Ground),
    Deny(#[serde(with = "As::<Stored>")] Ground),
    Confirm(#[serde(with = "As::<Stored>")] Ground, #[serde(with = "As::<Stored>")] Terms),
}

/// The source of tools that the program itself implements.
fn native() -> Arc<str> {
    "native".into()
}

fn is_native(source: &Arc<str>) -> bool {
    **source == *native()
}

stored! {
    #[serde(remote = "Actor")]
    struct ActorDef {
        id: Option<Arc<str>>,
        roles: BTreeSet<Arc<str>>,
        tenant: Option<Arc<str>>,
    }

    #[serde(remote = "Answer", rename_all = "snake_case")]
    enum AnswerDef {
        Approve,
        ApproveEdited(Arguments),
        Refuse {
            reason: Option<Arc<str>>,
        },
        Supply(Arc<ToolResult>),
        Happened(Arc<ToolResult>),
    }

    #[serde(remote = "Call")]
    struct CallDef {
        answered: Option<Digest>,
        approvals: Vec<Actor>,
        arguments: CallArguments,
        asked: Asked,
        attempts: Attempt,
        deferred: bool,
        given: Option<Arc<Given>>,
        id: CallId,
        name: RequestedName,
        policy: Option<Arc<str>>,
        provider_id: Option<Arc<str>>,
        questions: u32,
        rechecked: bool,
        state: CallState,
        terms: Terms,
        tool: Option<ToolFacts>,
    }

    #[serde(remote = "CallArguments", rename_all = "snake_case")]
    enum CallArgumentsDef {
        Canonical(Arguments),
        Unusable(Arc<str>),
        Dropped {
            len_bytes: u64,
        },
    }

    #[serde(remote = "CallKey")]
    struct CallKeyDef {
        index: CallIndex,
        run: RunId,
        turn: Turn,
    }

    #[serde(remote = "CallOpening")]
    struct CallOpeningDef {
        settled: Option<Settlement>,
        tool: Option<ToolFacts>,
    }

    #[serde(remote = "CallRecord")]
    struct CallRecordDef {
        attempts: Attempt,
        code: Option<Code>,
        id: CallId,
        index: CallIndex,
        latency_us: u64,
        name: RequestedName,
        progress: Progress,
        source: Option<Source>,
        tool: Option<ToolName>,
        turn: Turn,
    }

    #[serde(remote = "CallState", rename_all = "snake_case")]
    enum CallStateDef {
        Proposed,
        AwaitingApproval(Question),
        Ready,
        Running {
            attempt: Attempt,
            started_at: Timestamp,
            worker: Option<Arc<str>>,
        },
        Deferred {
            attempt: Attempt,
            deadline: Option<Timestamp>,
        },
        Settled(Settlement),
    }

    #[serde(remote = "Doubt")]
    struct DoubtDef {
        asks: Option<Arc<ToolResult>>,
        attempt: Attempt,
        cause: DoubtCause,
        evidence: Vec<Evidence>,
        started_at: Timestamp,
        worker: Option<Arc<str>>,
    }

    #[serde(remote = "Edited")]
    struct EditedDef {
        arguments: Arguments,
        index: CallIndex,
        turn: Turn,
    }

    #[serde(remote = "Evidence")]
    struct EvidenceDef {
        at: Timestamp,
        attempt: Attempt,
        result: Arc<ToolResult>,
        worker: Arc<str>,
    }

    #[serde(remote = "Given")]
    struct GivenDef {
        answer: Option<Arc<ToolResult>>,
        asks: Arc<ToolResult>,
    }

    #[serde(remote = "Grant")]
    struct GrantDef {
        actor: Actor,
        agent: Option<Arc<str>>,
        at: Timestamp,
        definition: Option<Arc<str>>,
        digest: Option<Digest>,
        id: GrantId,
        scope: GrantScope,
        tenant: Option<Arc<str>>,
        tool: ToolName,
        until: Option<Timestamp>,
    }

    #[serde(remote = "GrantScope", rename_all = "snake_case")]
    enum GrantScopeDef {
        Run(RunId),
        Session(Arc<str>),
        Tenant,
    }

    #[serde(remote = "Ground")]
    struct GroundDef {
        policy: Option<Arc<str>>,
        reason: Option<Arc<str>>,
        rule: Option<Arc<str>>,
    }

    #[serde(remote = "PauseReason")]
    enum PauseReasonDef {
        #[serde(rename = "people")]
        AwaitingToolConfirmation,
        #[serde(rename = "results")]
        AwaitingToolResults,
    }

    #[serde(remote = "Question")]
    struct QuestionDef {
        answers: Vec<QuestionAnswer>,
        deadline: Option<Timestamp>,
        doubt: Option<Doubt>,
        ground: Ground,
        number: u32,
        terms: Terms,
    }

    #[serde(remote = "QuestionAnswer")]
    struct QuestionAnswerDef {
        actor: Actor,
        at: Timestamp,
        reason: Option<Arc<str>>,
        standing: bool,
        stated: Stated,
    }

    #[serde(remote = "Settlement")]
    struct SettlementDef {
        code: Option<Code>,
        latency_us: u64,
        outcome: Outcome,
        result: Arc<ToolResult>,
        source: Option<Source>,
    }

    #[serde(remote = "Snapshot")]
    struct SnapshotDef {
        actor: Actor,
        agent: Option<Arc<str>>,
        calls: Vec<Call>,
        calls_seen: bool,
        completion: Vec<CallIndex>,
        context: Attributes,
        created_at: Timestamp,
        edited: Vec<Edited>,
        final_asked: bool,
        grants: u32,
        history_len: u32,
        ignored: Vec<CallRecord>,
        messages: Vec<Arc<Message>>,
        model: Option<Arc<str>>,
        model_calls: u32,
        parent: Option<PauseNumber>,
        past: Vec<CallRecord>,
        pause: PauseNumber,
        reason: PauseReason,
        session: Option<Arc<str>>,
        settings: Arc<Settings>,
        tool_executions: u32,
        turn: Turn,
        usage: Vec<Usage>,
    }

    #[serde(remote = "Stated", rename_all = "snake_case")]
    enum StatedDef {
        Approve,
        Supply(Arc<ToolResult>),
        Happened(Arc<ToolResult>),
    }

    #[serde(remote = "Terms")]
    struct TermsDef {
        approvers: BTreeSet<Arc<str>>,
        expires_in_ms: Option<u64>,
        four_eyes: FourEyes,
        #[serde(default = "one", skip_serializing_if = "is_one")]
        quorum: u32,
    }

    #[serde(remote = "ToolFacts")]
    struct ToolFactsDef {
        definition: Option<Arc<str>>,
        name: ToolName,
        repeat: Repeat,
        #[serde(default = "native", skip_serializing_if = "is_native")]
        source: Arc<str>,
    }

    #[serde(remote = "ToolResult")]
    struct ToolResultDef {
        blocks: Vec<Block>,
        kind: ResultKind,
        metadata: Attributes,
    }

    #[serde(remote = "Usage")]
    struct UsageDef {
        cache_read: u64,
        cache_write: u64,
        input: u64,
        output: u64,
        reasoning: u64,
    }
}
