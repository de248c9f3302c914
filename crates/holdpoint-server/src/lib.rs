//! The HTTP server: runs, approvals, tasks and events for programs of any language.
//!
//! [`Server::builder`] takes a store, agents and tokens; [`Server::serve`] answers on a listener until it is told to stop.
//! The server drives runs in tasks of its own: a connection that breaks stops nothing.

mod agents;
mod app;
mod auth;
mod body;
mod builder;
mod connection;
mod console;
mod cursor;
mod docs;
mod driving;
mod follow;
mod guard;
mod heads;
mod idempotency;
mod limits;
mod metrics;
mod noted;
mod outer;
mod params;
mod refusal;
mod routes;
mod seal;
mod server;
mod sse;
mod streams;
mod telemetry;

pub use agents::ServedAgent;
pub use auth::{Token, TokenRole};
pub use builder::{BuildError, ServerBuilder};
pub use limits::Limits;
pub use metrics::Metrics;
pub use routes::openapi;
pub use server::{ServeError, Server};
pub use telemetry::{Otlp, OtlpError};
