//! What the PostgreSQL store keeps, whatever happens. One program, so that it is linked once.
#![allow(clippy::unwrap_used, reason = "the whole program is a test, its helpers included")]

mod broken_connections;
mod common;
mod conformance;
mod golden;
mod opening;
mod proxy;
mod tampering;
mod waking;
