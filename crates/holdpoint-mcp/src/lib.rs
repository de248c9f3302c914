//! Tools from MCP servers.
//!
//! [`McpServers`] starts or reaches servers, keeps them reached, and gives their tools as ordinary
//! [`Tool`](holdpoint_tools::Tool)s with the source `mcp:SERVER`: policy, hooks and executors see them as any other.
//! What a server says about itself (annotations, instructions) is shown to people at most, and decides nothing.
//!
//! A tool is offered as it was accepted: by the first list of its server, by a digest in the configuration, or by
//! [`McpServers::accept`]. One that appears or changes later is not offered until somebody accepts it.

mod ask;
mod board;
mod catalog;
mod config;
mod content;
mod digest;
mod error;
mod exchange;
mod handler;
mod host;
mod http;
mod link;
mod name;
mod process;
mod server;
mod servers;
mod tool;

pub use catalog::{ListedTool, ToolStatus};
pub use config::{Protocol, ServerConfig};
pub use digest::ToolDigest;
pub use error::{ConnectProblem, McpError};
pub use holdpoint_config::SecretSource;
pub use name::{MAX_REGISTERED_NAME_BYTES, MAX_SERVER_NAME_BYTES, ServerName, registered_name};
pub use servers::{McpServers, ServerReport};
