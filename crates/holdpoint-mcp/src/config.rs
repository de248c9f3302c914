//! How a server is reached, and which of its tools are offered.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use holdpoint_codec::canonical_value;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{SecretSource, ToolDigest};

/// What a child process gets of our environment unless a configuration lists something else.
const ENV_DEFAULT: [&str; 2] = ["PATH", "HOME"];
const CONNECT_TIMEOUT_MS: u64 = 30_000;
const MESSAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
const TOOLS_MAX: usize = 500;
const RECONNECTS_MAX: u32 = 8;
/// The most calls that one server gets at once, whatever is configured.
const CONCURRENCY_MAX: u32 = 64;

/// One server: `command` for one that is started and spoken to over its input and output, `url` for one that is reached
/// over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// The program and its arguments. Never a shell.
    pub command: Vec<String>,
    /// Where the server answers.
    pub url: Option<String>,
    /// The folder that the program is started in.
    pub cwd: Option<PathBuf>,
    /// The variables that the program gets of our environment; no others.
    pub env: Vec<String>,
    /// Further variables of the program, whose values are secrets.
    pub env_from: BTreeMap<String, SecretSource>,
    /// Headers of each request, whose values are secrets.
    pub headers: BTreeMap<String, SecretSource>,
    /// Sent as `Authorization: Bearer …`.
    pub bearer: Option<SecretSource>,
    /// Which tools of the first list are offered, as globs. They accept nothing that comes later.
    pub offer: Vec<String>,
    /// The tools that are offered, each exactly as it was when somebody looked at it. When given, no others are.
    pub accepted: Option<BTreeMap<String, ToolDigest>>,
    /// How many calls the server gets at once. One after another unless set.
    pub concurrency: NonZeroU32,
    /// Tools that may run beside others of a turn.
    pub parallelizable: Vec<String>,
    /// Tools for which doing it twice is doing it once.
    pub repeat_safe: Vec<String>,
    /// The limit of one call; the run's when absent.
    pub timeout_ms: Option<u64>,
    /// How long the server may take to start and to list its tools.
    pub connect_timeout_ms: u64,
    /// The largest message that is read.
    pub message_bytes_max: usize,
    /// The most tools that the server may list.
    pub tools_max: usize,
    /// How the connection is opened.
    pub protocol: Protocol,
    /// Whether nothing is to begin without this server.
    pub required: bool,
    /// How often in a row a connection is opened again before the server is left alone until somebody calls it.
    pub reconnects_max: u32,
}

/// How a connection is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Ask what the server speaks, and take the older way when it does not understand the question.
    #[default]
    Auto,
    /// The way of the versions up to 2025-11-25.
    Initialize,
    /// The way of the versions from 2026-07-28 on.
    Discover,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            url: None,
            cwd: None,
            env: ENV_DEFAULT.map(str::to_owned).to_vec(),
            env_from: BTreeMap::new(),
            headers: BTreeMap::new(),
            bearer: None,
            offer: vec!["*".to_owned()],
            accepted: None,
            concurrency: NonZeroU32::MIN,
            parallelizable: Vec::new(),
            repeat_safe: Vec::new(),
            timeout_ms: None,
            connect_timeout_ms: CONNECT_TIMEOUT_MS,
            message_bytes_max: MESSAGE_BYTES_MAX,
            tools_max: TOOLS_MAX,
            protocol: Protocol::Auto,
            required: false,
            reconnects_max: RECONNECTS_MAX,
        }
    }
}

impl ServerConfig {
    /// What is started or reached, for approvals and grants: another program or another address makes other tools.
    pub(crate) fn implementation(&self) -> Arc<str> {
        canonical_value(&json!({ "command": self.command, "url": self.url, "cwd": self.cwd })).into()
    }

    /// A server that is started as a program.
    pub fn stdio<A: Into<String>>(command: impl IntoIterator<Item = A>) -> Self {
        Self { command: command.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// A server that is reached over HTTP.
    pub fn http(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..Self::default() }
    }

    pub(crate) fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.connect_timeout_ms)
    }

    pub(crate) fn calls_at_once(&self) -> usize {
        usize::try_from(self.concurrency.get().min(CONCURRENCY_MAX)).unwrap_or(1)
    }

    /// Says what cannot be, without reaching anything. The text is for people.
    ///
    /// # Errors
    /// When keys are missing, contradict each other, or have values that cannot be.
    pub fn check(&self) -> Result<(), String> {
        match (&self.url, self.command.is_empty()) {
            (None, true) => return Err("it needs `command` or `url`".to_owned()),
            (Some(_), false) => return Err("it has both `command` and `url`".to_owned()),
            (Some(url), true) => self.check_http(url)?,
            (None, false) => self.check_stdio()?,
        }
        if self.connect_timeout_ms == 0 || self.timeout_ms == Some(0) {
            return Err("a time limit must not be 0".to_owned());
        }
        if self.tools_max == 0 || self.message_bytes_max < 1024 {
            return Err("`tools_max` must be at least 1, `message_bytes_max` at least 1024".to_owned());
        }
        self.offered().map(drop)
    }

    fn check_http(&self, url: &str) -> Result<(), String> {
        let address = reqwest::Url::parse(url).map_err(|_| "`url` is not a URL".to_owned())?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err("`url` must begin with http:// or https://".to_owned());
        }
        if !address.username().is_empty() || address.password().is_some() {
            return Err("`url` holds a password: give it as `bearer` or in `headers`".to_owned());
        }
        if !self.env_from.is_empty() || self.cwd.is_some() {
            return Err("`env_from` and `cwd` are for servers with a `command`".to_owned());
        }
        Ok(())
    }

    fn check_stdio(&self) -> Result<(), String> {
        if !self.headers.is_empty() || self.bearer.is_some() {
            return Err("`headers` and `bearer` are for servers with a `url`".to_owned());
        }
        let names = self.env.iter().chain(self.env_from.keys());
        match names.into_iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            Some(_) => Err("the name of a variable is empty or has `=` in it".to_owned()),
            None => Ok(()),
        }
    }

    /// The globs of what is offered of the first list.
    pub(crate) fn offered(&self) -> Result<GlobSet, String> {
        let mut globs = GlobSetBuilder::new();
        for glob in &self.offer {
            globs.add(Glob::new(glob).map_err(|_| format!("`{}` in `offer` is not a glob", glob.escape_debug()))?);
        }
        globs.build().map_err(|_| "the globs in `offer` are too large".to_owned())
    }
}
