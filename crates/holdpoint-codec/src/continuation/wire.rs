//! The fields of a continuation, in the order of their names.

use std::collections::HashMap;

use holdpoint_core::{BatchId, ContinuationId, PauseReason, Run, Snapshot, Usage};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{SCHEMA_VERSION, Traces};
use crate::pending::TurnCalls;
use crate::read::Versioned;
use crate::signing::SignatureWire;
use crate::wire::{
    Members, MessageWire, Moment, Name, PendingWire, RecordWire, StateWire, Text, UsageWire, Wire, all_of, is_default,
    nullable,
};

/// Every field that this version knows.
pub(super) const FIELDS: [&str; 16] = [
    "batch_id",
    "context",
    "continuation_id",
    "created_at",
    "messages",
    "model",
    "parent_continuation_id",
    "pending",
    "reason",
    "run_id",
    "schema_version",
    "signature",
    "state",
    "traces",
    "turn",
    "usage",
];

/// A continuation.
#[derive(Serialize, Deserialize)]
pub(super) struct ContinuationWire {
    pub(super) batch_id: Text,
    pub(super) context: Members,
    pub(super) continuation_id: Text,
    pub(super) created_at: Moment,
    pub(super) messages: Vec<MessageWire>,
    #[serde(deserialize_with = "nullable")]
    pub(super) model: Option<Text>,
    #[serde(deserialize_with = "nullable")]
    pub(super) parent_continuation_id: Option<Text>,
    pub(super) pending: Vec<PendingWire>,
    pub(super) reason: Name<PauseReason>,
    pub(super) run_id: Text,
    schema_version: u32,
    #[serde(default, skip_serializing)]
    pub(super) signature: Option<SignatureWire>,
    pub(super) state: StateWire,
    /// For people: an import makes them anew from the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traces: Option<Vec<RecordWire>>,
    pub(super) turn: u32,
    pub(super) usage: TotalsWire,
    #[serde(flatten, skip_serializing)]
    pub(super) unknown: HashMap<String, IgnoredAny>,
}

/// What the run cost, in total and by turn.
#[derive(Serialize, Deserialize)]
pub(super) struct TotalsWire {
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) cache_read: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) cache_write: u64,
    pub(super) input: u64,
    pub(super) output: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) reasoning: u64,
    pub(super) total: u64,
    pub(super) turns: Vec<UsageWire>,
}

impl Versioned for ContinuationWire {
    fn version(&self) -> u32 {
        self.schema_version
    }
}

impl ContinuationWire {
    pub(super) fn of(run: &Run, snapshot: &Snapshot, traces: Traces) -> Self {
        let id = run.id();
        let continuation = |pause| Text::new(&ContinuationId { run: id.clone(), pause }.to_string());
        let turn = TurnCalls { run: id, turn: snapshot.turn, calls: &snapshot.calls };
        let mut state = StateWire::of(snapshot);
        let mut pending = Vec::new();
        for (listed, kept) in turn.listed(snapshot.reason) {
            if kept.result.is_some() {
                // A result is as large as it is; once is enough.
                state.calls[listed.index.as_usize()].leave_out_result();
            }
            pending.push(PendingWire::of(&listed, &kept));
        }
        Self {
            batch_id: Text::new(&BatchId { run: id.clone(), turn: snapshot.turn }.to_string()),
            context: Members(snapshot.context.clone()),
            continuation_id: continuation(snapshot.pause),
            created_at: Moment(snapshot.created_at),
            messages: snapshot.messages.iter().map(|message| MessageWire::of(message)).collect(),
            model: snapshot.model.as_ref().map(Text::share),
            parent_continuation_id: snapshot.parent.map(continuation),
            pending,
            reason: Name(snapshot.reason),
            run_id: Text::new(id.as_str()),
            schema_version: SCHEMA_VERSION,
            signature: None,
            state,
            traces: (traces == Traces::Include).then(|| all_of(&run.records())),
            turn: snapshot.turn.0,
            usage: TotalsWire::of(&snapshot.usage, run.usage()),
            unknown: HashMap::new(),
        }
    }

    /// The canonical text, without a signature.
    pub(super) fn to_text(&self, capacity: usize) -> String {
        let mut out = Vec::with_capacity(capacity);
        // Writing to memory does not fail, and nothing in a payload refuses to be written.
        let _ = serde_json::to_writer(&mut out, self);
        String::from_utf8(out).unwrap_or_default()
    }
}

impl TotalsWire {
    fn of(turns: &[Usage], sum: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, reasoning } = sum;
        Self { cache_read, cache_write, input, output, reasoning, total: sum.total(), turns: all_of(turns) }
    }
}
