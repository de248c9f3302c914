//! Arguments of a call: canonical text and its digest, or what the model wrote when that cannot be used.

use std::fmt;
use std::sync::Arc;

use crate::Digest;

/// A JSON text that the core carries and never reads. `Debug` shows only its length.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonText(Arc<str>);

impl JsonText {
    /// Takes a text that the codec made or checked.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The one door to the raw text. Nothing that came through it may reach a log, a trace, a metric or an error.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonText({} bytes)", self.0.len())
    }
}

/// Canonical arguments: what is shown, digested, authorized and run.
#[derive(Clone, PartialEq, Eq)]
pub struct Arguments {
    text: Arc<str>,
    digest: Digest,
}

impl Arguments {
    /// Only the codec makes these: it keeps the text canonical and the digest true.
    pub fn from_canonical(text: impl Into<Arc<str>>, digest: Digest) -> Self {
        Self { text: text.into(), digest }
    }

    /// The one door to the raw text. Nothing that came through it may reach a log, a trace, a metric or an error.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The raw text, shared.
    pub fn share(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// Covers the registered name and the arguments.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arguments({} bytes)", self.text.len())
    }
}
