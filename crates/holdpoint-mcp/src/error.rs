//! What can go wrong with a server, in words that hold nothing of what it said.

use holdpoint_config::Problem;
use thiserror::Error;

use crate::{ServerName, ToolDigest};

/// Why a server or one of its tools cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum McpError {
    /// A server's configuration cannot be used. The path begins with its name.
    #[error("an MCP server cannot be configured like this: {0}")]
    Config(Problem),
    /// The server cannot be reached.
    #[error("the MCP server `{server}` cannot be used: {problem}")]
    Connect {
        /// Which.
        server: ServerName,
        /// Why.
        problem: ConnectProblem,
    },
    /// There is no such server.
    #[error("there is no MCP server `{server}`")]
    UnknownServer {
        /// The name that was given.
        server: String,
    },
    /// The server has no such tool.
    #[error("the MCP server `{server}` lists no tool of this name")]
    UnknownTool {
        /// Which server.
        server: ServerName,
    },
    /// The tool is not as it was when somebody looked at it.
    #[error("the tool is not what was looked at: its digest is `{current}` now")]
    DigestMismatch {
        /// What it has now.
        current: ToolDigest,
    },
    /// The tool cannot be offered to any model.
    #[error("the tool cannot be offered: {reason}")]
    Unusable {
        /// Why.
        reason: &'static str,
    },
    /// The machine gives no thread.
    #[error("no thread for MCP servers could be started")]
    NoThread,
}

/// Why a server cannot be reached or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectProblem {
    /// Its program could not be started.
    #[error("its program could not be started")]
    NotStarted,
    /// It ended, or closed the connection.
    #[error("it ended or closed the connection")]
    Closed,
    /// It did not answer in time.
    #[error("it did not answer in time")]
    TimedOut,
    /// It answered something that is not the protocol.
    #[error("it answered something that is not the protocol")]
    Protocol,
    /// It refused to talk to us.
    #[error("it refused the connection")]
    Refused,
    /// It sent a message above the limit.
    #[error("it sent a message above the limit")]
    MessageTooLarge,
    /// It has more tools than the limit.
    #[error("it lists more tools than the limit")]
    TooManyTools,
    /// A secret could not be read.
    #[error("a secret for it could not be read")]
    Secret,
}
