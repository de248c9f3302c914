//! What rules decide, and which rules are refused. One program, so that it is linked once.
#![allow(clippy::unwrap_used, reason = "the whole program is a test, its helpers included")]

mod conditions;
mod context_and_history;
mod explain_and_replay;
mod guarded;
mod guide;
mod modes;
mod rules;
mod rules_file;
mod rules_refused;
mod spelling;
