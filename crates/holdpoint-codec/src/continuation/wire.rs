//! The fields of a continuation, in the order of their names.

use std::collections::HashMap;
use std::sync::Arc;

use holdpoint_core::{BatchId, CallRecord, CallState, ContinuationId, Message, PauseReason, Run, Snapshot, Usage};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_with::As;

use super::{SCHEMA_VERSION, Traces};
use crate::pending::{Kept, Pending, TurnCalls};
use crate::read::Versioned;
use crate::signing::SignatureWire;
use crate::wire::{Members, Moment, Name, PendingWire, Stored, Text, is_default, nullable};

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
    #[serde(with = "As::<Vec<Arc<Stored>>>")]
    pub(super) messages: Vec<Arc<Message>>,
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
    /// The run without what the payload shows under names of its own.
    #[serde(with = "As::<Stored>")]
    pub(super) state: Snapshot,
    /// For people: an import makes them anew from the rest.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "As::<Option<Vec<Stored>>>")]
    traces: Option<Vec<CallRecord>>,
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
    #[serde(with = "As::<Vec<Stored>>")]
    pub(super) turns: Vec<Usage>,
}

impl Versioned for ContinuationWire {
    fn version(&self) -> u32 {
        self.schema_version
    }
}

impl ContinuationWire {
    /// `state` is the run at its pause.
    pub(super) fn of(run: &Run, mut state: Snapshot, traces: Traces) -> Self {
        let id = run.id();
        let continuation = |pause| Text::new(&ContinuationId { run: id.clone(), pause }.to_string());
        let turn = TurnCalls { run: id, turn: state.turn, calls: &state.calls };
        let listed: Vec<(Pending, Kept)> = turn.listed(state.reason).collect();
        for (pending, kept) in &listed {
            if let (Some(_), CallState::Settled(settled)) =
                (&kept.result, &mut state.calls[pending.index.as_usize()].state)
            {
                // A result is as large as it is; once is enough.
                settled.result = Arc::default();
            }
        }
        Self {
            batch_id: Text::new(&BatchId { run: id.clone(), turn: state.turn }.to_string()),
            context: Members(std::mem::take(&mut state.context)),
            continuation_id: continuation(state.pause),
            created_at: Moment(state.created_at),
            messages: std::mem::take(&mut state.messages),
            model: state.model.take().map(Text),
            parent_continuation_id: state.parent.map(continuation),
            pending: listed.iter().map(|(pending, kept)| PendingWire::of(pending, kept)).collect(),
            reason: Name(state.reason),
            run_id: Text::new(id.as_str()),
            schema_version: SCHEMA_VERSION,
            signature: None,
            traces: (traces == Traces::Include).then(|| run.records()),
            turn: state.turn.0,
            usage: TotalsWire::of(std::mem::take(&mut state.usage), run.usage()),
            state,
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
    fn of(turns: Vec<Usage>, sum: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, reasoning } = sum;
        Self { cache_read, cache_write, input, output, reasoning, total: sum.total(), turns }
    }
}
