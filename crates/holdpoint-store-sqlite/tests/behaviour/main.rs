//! What the SQLite store keeps, whatever happens. One program, so that it is linked once.
#![allow(clippy::unwrap_used, reason = "the whole program is a test, its helpers included")]

mod common;
mod conformance;
mod faults;
mod golden;
mod groups;
mod tampering;
mod two_stores;
