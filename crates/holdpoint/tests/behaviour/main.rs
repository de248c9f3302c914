//! What the entry points, the driver and the parts they are given do together. One program, so that it is linked once.
#![allow(clippy::unwrap_used, reason = "the whole program is a test, its helpers included")]

#[cfg(feature = "server-tests")]
mod agentdojo;
mod agents;
mod asking;
mod blocking;
mod callbacks;
mod cancelling;
mod changed_tools;
mod commits;
mod common;
mod contexts;
mod crashes;
mod declared_tools;
mod entry_points;
mod executors;
mod grants;
#[cfg(feature = "providers")]
mod half_messages;
mod history_rules;
mod inbox;
mod interrupted;
mod keepers;
mod lapsed_leases;
#[cfg(feature = "providers")]
mod models;
mod payloads;
mod properties;
mod ready_made_hooks;
#[cfg(all(feature = "providers", feature = "server-tests"))]
mod real_llm;
mod receipts;
mod retrying;
mod sealing;
mod serving;
mod sessions;
mod spelling;
mod stopping;
mod streaming;
mod taking_over;
mod workers;
