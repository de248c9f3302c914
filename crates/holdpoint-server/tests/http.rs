//! The server as clients see it: a real listener, real requests.
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

#[path = "http/answers.rs"]
mod answers;
#[path = "http/approvals.rs"]
mod approvals;
#[path = "http/bodies.rs"]
mod bodies;
#[path = "http/console.rs"]
mod console;
#[path = "http/events.rs"]
mod events;
#[path = "http/faults.rs"]
mod faults;
#[path = "http/idempotency.rs"]
mod idempotency;
#[path = "http/insight.rs"]
mod insight;
#[path = "http/matrix.rs"]
mod matrix;
#[path = "http/meta.rs"]
mod meta;
#[path = "http/openapi.rs"]
mod openapi;
#[path = "http/reads.rs"]
mod reads;
#[path = "http/runs.rs"]
mod runs;
#[path = "http/stage.rs"]
mod stage;
#[path = "http/tasks.rs"]
mod tasks;
#[path = "http/two_servers.rs"]
mod two_servers;
