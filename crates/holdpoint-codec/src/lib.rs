//! Versioned JSON of everything that Holdpoint stores or sends.
//!
//! The core knows no JSON: types of this crate's own stand between its types and every text, so that neither can change
//! without the other being looked at, and each text has a version and a golden file (I10).

mod arguments;
pub mod audit;
mod canonical;
mod context;
pub mod continuation;
mod definition;
mod error;
mod event;
mod grant;
mod message;
mod pending;
mod question;
mod question_digest;
mod read;
pub mod receipt;
mod render;
mod result;
mod settings;
mod shown;
mod signing;
pub mod tasks;
pub mod view;
mod wire;

pub use arguments::{
    ArgumentsProblem, CanonicalText, arguments_for, arguments_summary, idempotency_key, parse_arguments,
};
pub use canonical::{JsonProblem, canonical_json, canonical_value};
pub use context::Context;
pub use definition::{ToolDefinition, ToolMetadata};
pub use error::{CodecError, Document, SignatureProblem};
pub use event::{decode_event, encode_event};
pub use grant::{RememberRequest, decode_grant, encode_grant};
pub use message::message_view;
pub use pending::{Pending, pending};
pub use question::{
    DecisionWord, StoredQuestion, decode_question, decode_question_note, encode_question, encode_question_note,
};
pub use question_digest::{imported_run, new_run, question_digest};
pub use render::Narrator;
pub use result::{result_from_short, result_from_short_text, result_from_text, result_to_text};
pub use settings::{ConcurrencySpec, ExecutorSpec, RouteSpec, SettingsSpec, Unlimited};
pub use shown::Shown;
pub use signing::{LoadOptions, Migrate, SigningKey, Trust, Unsigned};

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    digits.map(char::from).collect()
}
