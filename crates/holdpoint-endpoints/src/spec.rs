//! What the three kinds of tables have in common.

mod common;
mod error;
mod keys;
mod kind;
mod surroundings;
#[cfg(test)]
mod tests;

pub(crate) use common::{Common, within};
pub use common::{Parameters, RepeatSpec, TIMEOUT_MS_MAX};
pub use error::SpecError;
pub(crate) use keys::NearestKeys;
pub use keys::{fields_of, nearest};
pub use kind::ToolSpec;
pub use surroundings::Surroundings;
