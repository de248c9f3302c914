//! What is written, how it is read again, and what is refused. One program, so that it is linked once.
#![allow(clippy::unwrap_used, reason = "the whole program is a test, its helpers included")]

mod continuation;
mod golden;
mod malformed;
mod properties;
mod receipts;
mod round_trip;
mod support;
