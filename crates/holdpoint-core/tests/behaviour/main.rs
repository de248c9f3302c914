//! What the machine does, told as transcripts: a file per behaviour.

#![allow(clippy::unwrap_used, reason = "a script that cannot be read is a mistake in the test")]

mod approvals;
mod cancel;
mod conductor;
mod context;
mod crash;
mod deferral;
mod edits;
mod expiry;
mod halt;
mod hooks;
mod ids;
mod import;
mod late_results;
mod limits;
mod lost_tasks;
mod names;
mod order;
mod partial;
mod properties;
mod quorum;
mod recheck;
mod results;
mod resumes;
mod retry;
mod siblings;
mod support;
mod task_deadlines;
mod turns;
mod workers;
