//! What the commands print, return and leave behind. One program, so that it is linked once.
#![allow(clippy::unwrap_used, reason = "the whole program is a test, its helpers included")]

mod audit;
mod backends;
mod cli;
mod common;
mod config;
#[cfg(feature = "server-tests")]
mod http_examples;
#[cfg(feature = "server-tests")]
mod machines;
mod policy;
#[cfg(target_os = "linux")]
mod programs;
mod serve;
mod stores;
