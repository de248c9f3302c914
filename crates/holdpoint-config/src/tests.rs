//! What people write is read, or told back to them with its place.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

mod messages;
mod texts;
mod yaml;
