//! Tools that are addresses and programs. One program, so that it is linked once.
#![allow(clippy::unwrap_used, reason = "the whole program is a test, its helpers included")]

mod command;
mod http;
mod http_addresses;
mod http_faults;
mod support;
mod tools_in_toml;
