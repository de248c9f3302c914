//! Why something could not be encoded or read.

use holdpoint_core::Code;

/// Why something could not be encoded or read. Names fields, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// A payload above the size limit. It was not parsed.
    #[error("the payload has {len_bytes} bytes, more than the {max_bytes} that are accepted")]
    TooLarge {
        /// How large it is.
        len_bytes: usize,
        /// How large it may be.
        max_bytes: usize,
    },
    /// A version that is not known.
    #[error("the {document} has a schema version that is not known; hint: this program reads version {known}")]
    UnsupportedVersion {
        /// What was read.
        document: Document,
        /// The version that is known.
        known: u32,
    },
    /// Malformed, a missing field, a wrong type, an unknown word, or something that does not fit together.
    #[error("the {document} is not valid at `{field}`")]
    Invalid {
        /// What was read.
        document: Document,
        /// The path of the field.
        field: String,
    },
    /// No signature, or not the right one.
    #[error("the {document} is not valid at `signature`: {problem}")]
    Signature {
        /// What was read.
        document: Document,
        /// What is wrong with it.
        problem: SignatureProblem,
    },
    /// A context value above the limit. It is refused, never cut.
    #[error("the context value `{name}` has {len_bytes} bytes of JSON text, more than the {max_bytes} that are stored")]
    ContextValueTooLarge {
        /// Its name.
        name: String,
        /// How large it is.
        len_bytes: usize,
        /// How large it may be.
        max_bytes: usize,
    },
    /// A run that is not paused has no continuation, and one that waits for no results has no tasks.
    #[error("the run does not wait for this")]
    NotPaused,
}

/// What a text is meant to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Document {
    /// An event as it is stored.
    Event,
    /// A portable continuation.
    Continuation,
    /// A task payload.
    Tasks,
    /// A task as the queue keeps it.
    StoredTask,
    /// What a worker delivered, as the queue keeps it.
    Delivery,
    /// What one step of a run left in the audit log.
    Audit,
    /// A grant as it is stored.
    Grant,
    /// A question as it is stored, or what was said to it.
    Question,
    /// The result of a call.
    Result,
}

/// What is wrong with a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignatureProblem {
    /// There is none.
    Missing,
    /// It was made with a key that is not known here.
    UnknownKey,
    /// The payload was changed or extended after it was signed.
    Mismatch,
}

impl CodecError {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            CodecError::TooLarge { .. } | CodecError::Signature { .. } => Code::InvalidContinuation,
            CodecError::UnsupportedVersion { .. } => Code::UnsupportedSchemaVersion,
            CodecError::Invalid { document, .. } => match document {
                Document::Continuation | Document::Tasks => Code::InvalidContinuation,
                Document::Result => Code::InvalidResult,
                // Only the store hands in these.
                Document::Event
                | Document::StoredTask
                | Document::Delivery
                | Document::Audit
                | Document::Grant
                | Document::Question => Code::StoreFailed,
            },
            CodecError::ContextValueTooLarge { .. } => Code::ContextValueTooLarge,
            CodecError::NotPaused => Code::ContinuationNotFound,
        }
    }

    /// Without a field, the whole of it is meant.
    pub(crate) fn invalid(document: Document, field: impl Into<String>) -> Self {
        let field: String = field.into().chars().take(FIELD_CHARS_MAX).collect();
        Self::Invalid { document, field: if field.is_empty() { "(all of it)".to_owned() } else { field } }
    }
}

/// The path of a field may hold names that came with the payload: it is kept short.
const FIELD_CHARS_MAX: usize = 200;

impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Document::Event => "stored event",
            Document::Continuation => "continuation",
            Document::Tasks => "task payload",
            Document::StoredTask => "stored task",
            Document::Delivery => "stored delivery",
            Document::Audit => "audit entry",
            Document::Grant => "stored grant",
            Document::Question => "stored question",
            Document::Result => "result",
        })
    }
}

impl std::fmt::Display for SignatureProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SignatureProblem::Missing => "it is missing",
            SignatureProblem::UnknownKey => "its key is not known here",
            SignatureProblem::Mismatch => "the payload was changed after it was signed",
        })
    }
}
