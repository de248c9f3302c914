//! Reads what people write for Holdpoint: configurations, policies, scenarios, the frontmatter of skills.
//!
//! A [`Document`] is one file in TOML or YAML. [`Document::read`] deserializes it into a struct with derived
//! `Deserialize`; [`Document::error`] gives a [`Problem`] that was found later its file, line and column. Every
//! [`ConfigError`] has one form: the place, the key, what is wrong with it, and a hint on a line of its own.
//!
//! ```
//! # #[cfg(feature = "toml")] {
//! use holdpoint_config::{Document, Problem};
//! use serde::Deserialize;
//!
//! #[derive(Debug, Deserialize)]
//! struct Server {
//!     listen: String,
//! }
//!
//! let document = Document::toml("lisen = \"127.0.0.1:7411\"\n", "server.toml").unwrap();
//! let error = document.read::<Server>().unwrap_err();
//! assert_eq!(error.to_string(), "server.toml:1:1: `lisen` is an unknown key\nhint: did you mean `listen`?");
//!
//! let document = Document::toml("listen = \"here\"\n", "server.toml").unwrap();
//! let error = document.error(Problem::at("listen", "is not an address"));
//! assert_eq!(error.to_string(), "server.toml:1:10: `listen` is not an address");
//! # }
//! ```
//!
//! Errors never quote a string of a document in full: it may be a secret that stands in the wrong place.

#![cfg_attr(
    not(all(feature = "toml", feature = "yaml")),
    allow(dead_code, reason = "one format needs only some parts")
)]

mod choice;
mod document;
mod duration;
mod error;
mod file;
mod flatten;
mod key_path;
mod nearest;
mod node;
pub mod printable;
mod problem;
mod raw_json;
mod read;
mod secret;
#[cfg(test)]
mod tests;
#[cfg(feature = "toml")]
mod toml_tree;
#[cfg(feature = "yaml")]
mod yaml_tree;

pub use choice::{TableOr, Variants, named};
pub use document::{Document, from_json};
pub use duration::{Millis, NotADuration};
pub use error::{ConfigError, Located, Place};
pub use file::read_text;
pub use flatten::{Flatten, Named, next_part, read_parts};
pub use key_path::KeyPath;
pub use nearest::{nearest, suggestion};
pub use problem::{Problem, within};
pub use raw_json::RawJson;
pub use secrecy::{ExposeSecret, SecretString};
pub use secret::{SecretError, SecretSource, VariableName};
#[cfg(feature = "yaml")]
pub use yaml_tree::YamlLimits;
