//! Reads a continuation.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_core::{Attributes, BatchId, CallState, ContinuationId, PauseNumber, RunId, Snapshot, Turn};
use serde_json::value::RawValue;

use super::check;
use super::wire::{ContinuationWire, FIELDS};
use super::{Loaded, SCHEMA_VERSION};
use crate::pending::TurnCalls;
use crate::read::{Read, bounded_text, expect_version, read_json};
use crate::signing::{LoadOptions, verify};
use crate::wire::{Fault, Json, PendingWire};
use crate::{CodecError, Context, Document};

const READ: Read = Read { document: Document::Continuation, version_field: "schema_version", version: SCHEMA_VERSION };

/// Reads and checks a continuation. Nothing of it is used before all of it was checked.
///
/// # Errors
/// When it is too large, of another version, not of the right shape, or not signed as it should be.
pub fn load(payload: impl AsRef<[u8]>, options: &LoadOptions<'_>) -> Result<Loaded, CodecError> {
    let text = bounded_text(payload.as_ref(), Document::Continuation, options.max_bytes)?;
    let known = migrated(text, options)?;
    let mut wire: ContinuationWire = read_json(&known, READ)?;
    let signature = wire.signature.take();
    let has_unknown = !wire.unknown.is_empty();
    let mut loaded = restore(wire).map_err(|fault| CodecError::invalid(Document::Continuation, fault.0))?;
    // What was signed is what came in, before any migration.
    let signature = if matches!(known, Cow::Owned(_)) { signature_of(text) } else { signature };
    loaded.trust = verify(text, signature.as_ref(), Document::Continuation, options)?;
    if has_unknown {
        loaded.extra = unknown_fields(&known);
    }
    Ok(loaded)
}

/// The text in a version that is known.
fn migrated<'a>(text: &'a str, options: &LoadOptions<'_>) -> Result<Cow<'a, str>, CodecError> {
    let Some(migrate) = options.migrate else { return Ok(Cow::Borrowed(text)) };
    match expect_version(text, READ) {
        Err(unsupported @ CodecError::UnsupportedVersion { .. }) => {
            let migrated = serde_json::from_str(text).ok().and_then(migrate);
            migrated.map(|payload| Cow::Owned(payload.to_string())).ok_or(unsupported)
        }
        Ok(()) | Err(_) => Ok(Cow::Borrowed(text)),
    }
}

fn signature_of(text: &str) -> Option<crate::signing::SignatureWire> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    serde_json::from_str(members.get("signature")?.get()).ok()
}

fn unknown_fields(text: &str) -> Attributes {
    let members: BTreeMap<String, Json> = serde_json::from_str(text).unwrap_or_default();
    let unknown = members.into_iter().filter(|(name, _)| !FIELDS.contains(&name.as_str()));
    unknown.map(|(name, value)| (name.into(), value.0)).collect()
}

/// The run of a payload, with its ids.
fn restore(wire: ContinuationWire) -> Result<Loaded, Fault> {
    let ids = Ids::of(&wire)?;
    check::agrees(&wire, &ids)?;
    check::usage(&wire.usage)?;
    check::context(&wire.context)?;
    let mut snapshot = Snapshot {
        context: wire.context.0,
        messages: wire.messages,
        model: wire.model.map(|text| text.0),
        usage: wire.usage.turns,
        ..wire.state
    };
    for (at, pending) in wire.pending.iter().enumerate() {
        let call = snapshot.calls.get_mut(pending.index as usize).map(|call| &mut call.state);
        if let (Some(Some(result)), Some(CallState::Settled(settled))) = (&pending.result, call) {
            let result = result.clone().core();
            settled.result = Arc::new(result.map_err(|fault| fault.within("result").item("pending", at))?);
        }
    }
    check::snapshot(&snapshot)?;
    let turn = TurnCalls { run: &ids.run, turn: snapshot.turn, calls: &snapshot.calls };
    let expected: Vec<PendingWire> =
        turn.listed(snapshot.reason).map(|(listed, kept)| PendingWire::of(&listed, &kept)).collect();
    if expected.len() != wire.pending.len() {
        return Err(Fault::at("pending"));
    }
    for (index, (found, expected)) in wire.pending.iter().zip(&expected).enumerate() {
        found.expect(expected).map_err(|fault| fault.item("pending", index))?;
    }
    Ok(Loaded {
        context: Context::from_stored(&snapshot.context).with_run_id(ids.run.clone()),
        run_id: ids.run,
        continuation_id: ids.continuation,
        parent_continuation_id: ids.parent,
        batch_id: ids.batch,
        reason: snapshot.reason,
        snapshot,
        trust: crate::signing::Trust::Unsigned,
        extra: Attributes::new(),
    })
}

/// The ids of a payload: all of one run, none from the future.
pub(super) struct Ids {
    pub(super) run: RunId,
    pub(super) continuation: ContinuationId,
    pub(super) parent: Option<ContinuationId>,
    pub(super) batch: BatchId,
}

impl Ids {
    fn of(wire: &ContinuationWire) -> Result<Self, Fault> {
        let run = RunId::new(wire.run_id.0.clone());
        if run.as_str().trim().is_empty() {
            return Err(Fault::at("run_id"));
        }
        let continuation = ContinuationId::parse(wire.continuation_id.as_str())
            .filter(|id| id.run == run && (1..=check::COUNT_MAX).contains(&id.pause.0))
            .ok_or_else(|| Fault::at("continuation_id"))?;
        let earlier = |pause: PauseNumber| pause.0 >= 1 && pause < continuation.pause;
        let parent = match &wire.parent_continuation_id {
            None => None,
            Some(text) => Some(
                ContinuationId::parse(text.as_str())
                    .filter(|id| id.run == run && earlier(id.pause))
                    .ok_or_else(|| Fault::at("parent_continuation_id"))?,
            ),
        };
        if !(1..=check::COUNT_MAX).contains(&wire.turn) {
            return Err(Fault::at("turn"));
        }
        let batch = BatchId::parse(wire.batch_id.as_str())
            .filter(|id| id.run == run && id.turn == Turn(wire.turn))
            .ok_or_else(|| Fault::at("batch_id"))?;
        Ok(Self { run, continuation, parent, batch })
    }
}
