//! What the machine does, told as transcripts: a file per behaviour.

#![allow(clippy::unwrap_used, reason = "a script that cannot be read is a mistake in the test")]

mod approvals;
mod cancel;
mod changed_tools;
mod conductor;
mod context;
mod crash;
mod deferral;
mod edits;
mod expiry;
mod four_eyes;
mod grants;
mod halt;
mod history;
mod hooks;
mod ids;
mod import;
mod late_results;
mod leases;
mod limits;
mod lost_tasks;
mod mistakes;
mod names;
mod order;
mod orders;
mod partial;
mod properties;
mod questions;
mod quorum;
mod recheck;
mod remembering;
mod results;
mod resumes;
mod retry;
mod secrets;
mod siblings;
mod support;
mod task_deadlines;
mod turns;
mod workers;
