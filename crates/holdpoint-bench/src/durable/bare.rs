//! Bare commits of the same database: single inserts of 200 bytes, and nothing else.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions, Connection, Executor};
use tokio::process::Command;
use tokio::task::JoinSet;

use super::database::Scratch;

/// What is measured.
const INSERT: &str = "insert into t(b) values (repeat('x',200))";
/// The file of SQLite's bare commits, beside the store's.
const FILE: &str = "bare.db";
/// Where Debian keeps pgbench.
const SERVERS: &str = "/usr/lib/postgresql";
/// pgbench's threads, when there are as many clients.
const THREADS: usize = 2;

/// Bare commits per second.
pub(super) struct Bare<'a> {
    scratch: &'a Scratch,
    pgbench: Option<PathBuf>,
}

/// What one round measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct BareRates {
    /// By a loop of this process.
    pub(super) own: f64,
    /// By pgbench, where it is found.
    pub(super) pgbench: Option<f64>,
}

impl<'a> Bare<'a> {
    pub(super) async fn prepare(scratch: &'a Scratch) -> anyhow::Result<Self> {
        match scratch.postgres() {
            Some(options) => {
                let mut connection = PgConnection::connect_with(&options).await?;
                connection.execute("create table t(id bigserial primary key, b text)").await?;
                Ok(Self { scratch, pgbench: find_pgbench().await })
            }
            None => {
                let mut connection = scratch.sqlite(FILE).await?;
                connection.execute("create table t(id integer primary key, b text)").await?;
                Ok(Self { scratch, pgbench: None })
            }
        }
    }

    /// Commits for so long. SQLite has one writer, so there it is one client however many are asked for.
    pub(super) async fn measure(&self, clients: usize, time: Duration) -> anyhow::Result<BareRates> {
        let Some(options) = self.scratch.postgres() else {
            return Ok(BareRates { own: sqlite_rate(self.scratch.sqlite(FILE).await?, time).await?, pgbench: None });
        };
        let pgbench = match &self.pgbench {
            Some(program) => Some(pgbench_rate(program, &options, clients, time).await?),
            None => None,
        };
        Ok(BareRates { own: postgres_rate(&options, clients, time).await?, pgbench })
    }
}

async fn sqlite_rate(mut connection: SqliteConnection, time: Duration) -> anyhow::Result<f64> {
    let body = "x".repeat(200);
    let started = Instant::now();
    let mut commits = 0_u64;
    while started.elapsed() < time {
        sqlx::query("insert into t(b) values ($1)").bind(&body).execute(&mut connection).await?;
        commits += 1;
    }
    let rate = commits as f64 / started.elapsed().as_secs_f64();
    connection.close().await?;
    Ok(rate)
}

async fn postgres_rate(options: &PgConnectOptions, clients: usize, time: Duration) -> anyhow::Result<f64> {
    let mut connections = Vec::new();
    for _ in 0..clients {
        connections.push(PgConnection::connect_with(options).await?);
    }
    let started = Instant::now();
    let mut looping = JoinSet::new();
    for mut connection in connections {
        looping.spawn(async move {
            let mut commits = 0_u64;
            while started.elapsed() < time {
                sqlx::query(INSERT).execute(&mut connection).await?;
                commits += 1;
            }
            connection.close().await?;
            Ok::<u64, sqlx::Error>(commits)
        });
    }
    let mut commits = 0;
    while let Some(done) = looping.join_next().await {
        commits += done??;
    }
    Ok(commits as f64 / started.elapsed().as_secs_f64())
}

async fn find_pgbench() -> Option<PathBuf> {
    let servers = std::fs::read_dir(SERVERS).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = servers.map(|server| server.path().join("bin/pgbench")).collect();
    found.sort();
    found.push("pgbench".into());
    for program in found.into_iter().rev() {
        let said = Command::new(&program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().await;
        if said.is_ok_and(|status| status.success()) {
            return Some(program);
        }
    }
    None
}

async fn pgbench_rate(
    program: &PathBuf,
    options: &PgConnectOptions,
    clients: usize,
    time: Duration,
) -> anyhow::Result<f64> {
    let script = tempfile::NamedTempFile::new()?;
    std::fs::write(script.path(), format!("{INSERT};\n"))?;
    let mut command = Command::new(program);
    command.arg("-n").arg("-f").arg(script.path());
    command.args(["-c", &clients.to_string(), "-j", &clients.min(THREADS).to_string()]);
    command.args(["-T", &time.as_secs().max(1).to_string()]);
    command.args(["-h", options.get_host(), "-p", &options.get_port().to_string(), "-U", options.get_username()]);
    // Not among the arguments, which everybody on the machine can see.
    if let Some(password) = options.to_url_lossy().password() {
        command.env("PGPASSWORD", password);
    }
    let output = command.arg(options.get_database().unwrap_or_default()).output().await?;
    anyhow::ensure!(output.status.success(), "pgbench failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    let said = String::from_utf8_lossy(&output.stdout);
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")).and_then(|rest| rest.split(' ').next());
    let rate = rate.ok_or_else(|| anyhow::anyhow!("pgbench said nothing of its rate"))?;
    Ok(rate.parse()?)
}
