//! How a server is reached, and which of its tools are offered.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use holdpoint_codec::canonical_value;
use holdpoint_config::{KeyPath, Problem, within};
use serde::Deserialize;
use serde_json::json;

use crate::{SecretSource, ToolDigest};

/// What a child process gets of our environment unless a configuration lists something else.
const ENV_DEFAULT: [&str; 2] = ["PATH", "HOME"];
const MAX_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;
const MAX_MESSAGE_BYTES: usize = 1024 * 1024 * 1024;
const MAX_TOOLS: usize = 100_000;
const MAX_CONCURRENCY: usize = 64;

/// One server: `command` for one that is started and spoken to over its input and output, `url` for one that is reached
/// over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
    /// How many calls the server gets at once, at most 64. One after another by default.
    pub max_concurrency: usize,
    /// Tools that may run beside others of a turn.
    pub parallelizable: Vec<String>,
    /// Tools for which doing it twice is doing it once.
    pub repeat_safe: Vec<String>,
    /// The limit of one call; the run's when absent.
    pub timeout_ms: Option<u64>,
    /// How long the server may take to start and to list its tools. 30 s by default.
    pub connect_timeout_ms: u64,
    /// The largest message that is read. 8 MiB by default.
    pub max_message_bytes: usize,
    /// The most tools that the server may list. 500 by default.
    pub max_tools: usize,
    /// How the connection is opened.
    pub protocol: Protocol,
    /// Whether nothing is to begin without this server.
    pub required: bool,
    /// How often in a row a connection is opened again before the server is left alone until a caller wants it. 8 by
    /// default.
    pub max_reconnects: u32,
}

/// How a connection is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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
            max_concurrency: 1,
            parallelizable: Vec::new(),
            repeat_safe: Vec::new(),
            timeout_ms: None,
            connect_timeout_ms: 30_000,
            max_message_bytes: 8 * 1024 * 1024,
            max_tools: 500,
            protocol: Protocol::Auto,
            required: false,
            max_reconnects: 8,
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

    /// The same server with relative paths resolved against the folder of a configuration.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.cwd = self.cwd.map(|cwd| folder.join(cwd));
        for secret in self.headers.values_mut().chain(self.env_from.values_mut()).chain(&mut self.bearer) {
            if let SecretSource::File(path) = secret {
                *path = folder.join(&*path);
            }
        }
        self
    }

    /// Every secret that it names.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretSource> {
        self.headers.values().chain(self.env_from.values()).chain(&self.bearer)
    }

    /// Finds keys that are missing or contradict each other, and values out of bounds. Reaches nothing.
    ///
    /// # Errors
    /// The first problem, with the key that it is about.
    pub fn check(&self) -> Result<(), Problem> {
        match (&self.url, self.command.is_empty()) {
            (None, true) => return Err(Problem::new("needs `command` or `url`")),
            (Some(_), false) => {
                return Err(Problem::at("url", "stands beside `command`").with_hint("keep one of them"));
            }
            (Some(url), true) => self.check_http(url)?,
            (None, false) => self.check_stdio()?,
        }
        within("max_concurrency", self.max_concurrency, 1..=MAX_CONCURRENCY)?;
        within("timeout_ms", self.timeout_ms, 1..=MAX_TIMEOUT_MS)?;
        within("connect_timeout_ms", self.connect_timeout_ms, 1..=MAX_TIMEOUT_MS)?;
        within("max_tools", self.max_tools, 1..=MAX_TOOLS)?;
        within("max_message_bytes", self.max_message_bytes, 1024..=MAX_MESSAGE_BYTES)?;
        self.offered().map(drop)
    }

    fn check_http(&self, url: &str) -> Result<(), Problem> {
        let address = reqwest::Url::parse(url).map_err(|_| Problem::at("url", "is not a URL"))?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(Problem::at("url", "must begin with `http://` or `https://`"));
        }
        if !address.username().is_empty() || address.password().is_some() {
            let problem = Problem::at("url", "holds a user or a password");
            return Err(problem.with_hint("give it as `bearer` or in `headers`"));
        }
        let of_a_command = [("env_from", !self.env_from.is_empty()), ("cwd", self.cwd.is_some())];
        only_for("command", &of_a_command)
    }

    fn check_stdio(&self) -> Result<(), Problem> {
        let of_a_url = [("headers", !self.headers.is_empty()), ("bearer", self.bearer.is_some())];
        only_for("url", &of_a_url)?;
        let cannot_be = |name: &String| name.is_empty() || name.contains(['=', '\0']);
        for (key, has_bad_name) in
            [("env", self.env.iter().any(cannot_be)), ("env_from", self.env_from.keys().any(cannot_be))]
        {
            if has_bad_name {
                return Err(Problem::at(key, "has a name that no variable can have"));
            }
        }
        Ok(())
    }

    /// The globs of what is offered of the first list.
    pub(crate) fn offered(&self) -> Result<GlobSet, Problem> {
        let mut globs = GlobSetBuilder::new();
        for (index, glob) in self.offer.iter().enumerate() {
            let not_a_glob = |_| Problem::at(KeyPath::from("offer").index(index), "is not a glob");
            globs.add(Glob::new(glob).map_err(not_a_glob)?);
        }
        globs.build().map_err(|_| Problem::at("offer", "has globs that are too large"))
    }
}

fn only_for(other: &str, keys: &[(&str, bool)]) -> Result<(), Problem> {
    match keys.iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => Err(Problem::at(*key, format_args!("is for servers with a `{other}`"))),
        None => Ok(()),
    }
}
