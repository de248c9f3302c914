//! The program as people run it, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;
use reqwest::Client;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::front::client;

/// How long a start may take at most; far more than is asked for.
const START_MAX: Duration = Duration::from_secs(60);
/// The ticks of a second in which Linux tells the CPU time of a process.
const TICKS_PER_SECOND: f64 = 100.0;

/// A folder with a configuration: an agent that asks a person, and one whose tool does not come back.
pub(super) struct Home {
    folder: TempDir,
    program: PathBuf,
}

impl Home {
    /// `silent` is an address that takes requests and does not answer.
    pub(super) fn new(program: &Path, store: &str, silent: &str) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("holdpoint-bench-").tempdir()?;
        let config = format!(
            r#"[server]
listen = "127.0.0.1:0"
store = "{store}"
requests_per_second = 1000000
requests_burst = 1000000
max_streams = 100000
max_streams_per_token = 100000
max_runs = 100000

[agents.asks]
model = "scripted:asks.yaml"
policy = "asks.toml"

[agents.asks.tools.ask]
kind = "command"
description = "Does nothing"
command = ["true"]

[agents.hangs]
model = "scripted:hangs.yaml"
policy = "hangs.toml"

[agents.hangs.tools.hang]
kind = "http"
description = "Does not come back"
url = "{silent}"
allow_private = true
timeout_ms = 600000
"#
        );
        let policy = |tool: &str, decide: &str| {
            format!("[[rule]]\ntool = \"{tool}\"\ndecide = \"{decide}\"\nreason = \"a person must say yes\"\n")
        };
        let script = |tool: &str| format!("- calls: [{{id: one, tool: {tool}, arguments: {{}}}}]\n- text: \"done\"\n");
        for (file, text) in [
            ("holdpoint.toml", config),
            ("asks.toml", policy("ask", "confirm")),
            ("hangs.toml", policy("hang", "allow")),
            ("asks.yaml", script("ask")),
            ("hangs.yaml", script("hang")),
        ] {
            std::fs::write(folder.path().join(file), text)?;
        }
        Ok(Self { folder, program: program.to_path_buf() })
    }

    /// Starts the program, and waits until it is ready.
    pub(super) async fn start(&self) -> anyhow::Result<Program> {
        let began = Instant::now();
        let mut command = Command::new(&self.program);
        command.arg("serve").current_dir(self.folder.path()).env_remove("HOLDPOINT_LOG").kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().context("the program has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = tokio::time::timeout(START_MAX, lines.next_line()).await??;
        let url = line.context("the program did not start; hint: run `holdpoint serve` by hand to see why")?;
        let client = client()?;
        let ready = format!("{url}/readyz");
        while !client.get(&ready).send().await?.status().is_success() {
            anyhow::ensure!(began.elapsed() < START_MAX, "the program does not get ready");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(Program { child, url, client, ready_after: began.elapsed() })
    }
}

/// A program that runs, until it is dropped.
pub(super) struct Program {
    child: Child,
    pub(super) url: String,
    pub(super) client: Client,
    /// How long it took until it was ready.
    pub(super) ready_after: Duration,
}

impl Program {
    /// Ends it as a power failure would.
    pub(super) async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// The host and port.
    pub(super) fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    fn about(&self, file: &str) -> anyhow::Result<String> {
        let id = self.child.id().context("the program ended")?;
        Ok(std::fs::read_to_string(format!("/proc/{id}/{file}"))?)
    }

    /// What the system counts as its memory now, in megabytes.
    pub(super) fn resident_mb(&self) -> anyhow::Result<f64> {
        let status = self.about("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let line = line.context("the system does not say how much memory it has")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? * 1024.0 / 1e6)
    }

    /// The CPU time that it used so far, in seconds.
    pub(super) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let stat = self.about("stat")?;
        // The name in brackets may hold anything.
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok());
        let both = ticks(11).zip(ticks(12)).context("the system does not say how long it ran")?;
        Ok((both.0 + both.1) / TICKS_PER_SECOND)
    }

    /// How often it asked its store for something so far.
    pub(super) async fn store_calls(&self) -> anyhow::Result<f64> {
        let text = self.client.get(format!("{}/metrics", self.url)).send().await?.error_for_status()?.text().await?;
        let counts = text.lines().filter(|line| line.starts_with("holdpoint_store_seconds_count"));
        Ok(counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }
}
