//! What MCP servers are asked, and what is made of their answers. One program, so that it is linked once.
#![allow(clippy::unwrap_used, reason = "the whole program is a test, its helpers included")]

mod asks;
mod common;
mod conformance;
mod faults;
mod http;
mod real_servers;
