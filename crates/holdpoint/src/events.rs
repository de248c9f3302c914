//! What is told about a run: streams, callbacks, instruments, spans, counts.

pub(crate) mod callbacks;
pub(crate) mod deltas;
pub(crate) mod instrument;
pub(crate) mod listen;
pub(crate) mod spans;
pub(crate) mod stream;
pub(crate) mod tool_stats;
