//! Why something could not be encoded or read.

use holdpoint_core::{Code, named};

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
    #[error("the {} has a schema version that is not known; hint: this program reads version {known}", document.as_str())]
    UnsupportedVersion {
        /// What was read.
        document: Document,
        /// The version that is known.
        known: u32,
    },
    /// Malformed, a missing field, a wrong type, an unknown word, or something that does not fit together.
    #[error("the {} is not valid at `{field}`", document.as_str())]
    Invalid {
        /// What was read.
        document: Document,
        /// The path of the field.
        field: String,
    },
    /// No signature, or not the right one.
    #[error("the {} is not valid at `signature`: {}", document.as_str(), problem.as_str())]
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

named! {
    /// What a text is meant to be.
    #[non_exhaustive]
    pub enum Document {
        /// An event as it is stored.
        Event = "stored event",
        /// A portable continuation.
        Continuation = "continuation",
        /// A task payload.
        Tasks = "task payload",
        /// A task as the queue keeps it.
        StoredTask = "stored task",
        /// What a worker delivered, as the queue keeps it.
        Delivery = "stored delivery",
        /// What one step of a run left in the audit log.
        Audit = "audit entry",
        /// A grant as it is stored.
        Grant = "stored grant",
        /// A question as it is stored, or what was said to it.
        Question = "stored question",
        /// The result of a call.
        Result = "result",
    }
}

named! {
    /// What is wrong with a signature.
    #[non_exhaustive]
    pub enum SignatureProblem {
        /// There is none.
        Missing = "it is missing",
        /// It was made with a key that is not known here.
        UnknownKey = "its key is not known here",
        /// The payload was changed or extended after it was signed.
        Mismatch = "the payload was changed after it was signed",
    }
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
