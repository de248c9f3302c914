//! Portable continuations: a paused run as one signed JSON text, for apps that keep their own storage.
//!
//! What is handed in is checked in this order: size, version, shape, signature.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{Attributes, BatchId, ContinuationId, PauseReason, Run, RunId, Snapshot};

use crate::signing::sign;
use crate::{CodecError, Context, Document, SigningKey};

mod check;
mod read;
#[cfg(test)]
mod tests;
mod wire;

pub use crate::signing::{LoadOptions, Migrate, Trust, Unsigned};
pub use read::load;

/// The version of continuations and of everything in them.
pub const SCHEMA_VERSION: u32 = 1;

/// What goes into a payload besides the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct DumpOptions<'a> {
    /// The live context, which may hold more than the run stored.
    pub context: Option<&'a Context>,
    /// The attributes that may go into the payload; `None` for those of the run's settings.
    pub context_keys: Option<&'a BTreeSet<Arc<str>>>,
    /// Whether the records of all calls are included.
    pub traces: Traces,
    /// Signs the payload.
    pub key: Option<&'a SigningKey>,
    /// Unknown fields of the payload that the run came from.
    pub extra: Option<&'a Attributes>,
}

/// Whether a payload has traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traces {
    /// It has none.
    #[default]
    Omit,
    /// The records of all calls of the run.
    Include,
}

/// A payload that was read and checked.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The run.
    pub run_id: RunId,
    /// The pause that the payload would resume.
    pub continuation_id: ContinuationId,
    /// The pause before it in the same turn.
    pub parent_continuation_id: Option<ContinuationId>,
    /// The batch of the turn.
    pub batch_id: BatchId,
    /// What the run waits for.
    pub reason: PauseReason,
    /// The run as it was: what an import begins with.
    pub snapshot: Snapshot,
    /// The context attributes of the payload.
    pub context: Context,
    /// Whether the payload is known to be as it was written.
    pub trust: Trust,
    /// Fields that this version does not know. Only a payload without a signature can have gained any.
    pub extra: Attributes,
}

/// The continuation of a paused run as JSON text.
///
/// # Errors
/// When the run is not paused, or a context value is too large.
pub fn dump(run: &Run, options: &DumpOptions<'_>) -> Result<String, CodecError> {
    let mut snapshot = run.snapshot().ok_or(CodecError::NotPaused)?;
    let stored = Context::from_stored(run.context());
    let context = options.context.map_or_else(|| stored.clone(), |live| stored.merged(live));
    snapshot.context = context.stored(options.context_keys.unwrap_or(&run.settings().context_keys))?;
    let texts: usize = snapshot.messages.iter().map(|message| message_len(message)).sum();
    let payload = wire::ContinuationWire::of(run, snapshot, options.traces);
    let mut body = payload.to_text(texts + texts / 8 + 1024);
    if let Some(extra) = options.extra.filter(|extra| !extra.is_empty()) {
        body = with_extra(body, extra);
    }
    Ok(match options.key {
        Some(key) => sign(body, Document::Continuation, key),
        None => body,
    })
}

/// About how long a message is, so that the text need not grow while it is written.
fn message_len(message: &holdpoint_core::Message) -> usize {
    use holdpoint_core::Message;
    let blocks = |blocks: &[holdpoint_core::Block]| blocks.iter().map(holdpoint_core::Block::len_bytes).sum();
    match message {
        Message::System(text) => text.len(),
        Message::User(content) => blocks(content),
        Message::Assistant(message) => message.text.len(),
        Message::Tool(message) => blocks(&message.result.blocks),
    }
}

/// Adds unknown fields, each in its place. A field that is known by now stays as it is.
fn with_extra(mut body: String, extra: &Attributes) -> String {
    let added = extra.iter().filter(|(name, _)| !wire::FIELDS.contains(&&***name));
    body.pop();
    for (name, value) in added {
        body.push(',');
        crate::canonical::write_string(&mut body, name);
        body.push(':');
        body.push_str(value.expose());
    }
    body.push('}');
    // Whatever was read as JSON has a canonical form.
    crate::canonical_json(&body).unwrap_or(body)
}
