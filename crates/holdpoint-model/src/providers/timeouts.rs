//! How long each part of a request may take.

use std::time::Duration;

use crate::error::{ModelError, ModelErrorKind};

/// How long each part of a request may take. Each ends in the same kind of error, with its own text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To connect.
    pub connect: Duration,
    /// From the request to the first byte of the answer.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub between_chunks: Duration,
    /// For one attempt, from the request to the end of the answer.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            // A local model may read a long prompt for minutes.
            first_byte: Duration::from_secs(300),
            between_chunks: Duration::from_secs(120),
            total: Duration::from_secs(900),
        }
    }
}

/// Which of the times ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    FirstByte,
    NextChunk,
    Total,
}

impl Late {
    pub(crate) fn error(self, limit: Duration) -> ModelError {
        let what = match self {
            Late::FirstByte => "the provider did not begin to answer",
            Late::NextChunk => "the provider stopped in the middle of its answer",
            Late::Total => "the provider did not come to an end",
        };
        ModelError::of(ModelErrorKind::TooSlow, format!("{what} within {} ms", limit.as_millis()))
    }
}
