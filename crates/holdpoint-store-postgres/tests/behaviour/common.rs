//! What several tests need.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use holdpoint_core::{Attempt, CallIndex, Repeat, Status, Timestamp, ToolName, Turn};
use holdpoint_store::{HeadUpdate, LeaseRequest, TaskChange, TaskOpening, Transition};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tempfile::TempDir;

/// How long something that must happen may take. Only a broken store lets it pass.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A transition with one record, after which the run goes on and nobody holds it.
pub(crate) fn step(body: &str) -> Transition {
    step_to(body, Status::Running)
}

pub(crate) fn step_to(body: &str, status: Status) -> Transition {
    let head = HeadUpdate { agent: Some("agent".into()), ..HeadUpdate::new(status) };
    Transition::new(vec![body.as_bytes().to_vec()], head, Timestamp(1_700_000_000_000_000))
}

pub(crate) fn opening(index: u32, tool: &str) -> TaskChange {
    TaskChange::Open(Box::new(TaskOpening {
        turn: Turn(1),
        index: CallIndex(index),
        tool: ToolName::new(tool),
        attempts: Attempt(0),
        attempts_max: Attempt(3),
        repeat: Repeat::Never,
        deadline: None,
        body: b"{\"to\":\"bank\"}".to_vec(),
    }))
}

pub(crate) fn asks_for(worker: &str, tool: &str) -> LeaseRequest {
    let tools = vec![("agent".into(), ToolName::new(tool))];
    LeaseRequest { worker: worker.into(), tools, tenant: None, limit: 10, lease_ms: 60_000 }
}

/// Runs statements on a connection of their own.
pub(crate) async fn sql(url: &str, text: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(text.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// A server of the test's own, which can be ended and started again.
pub(crate) struct Server {
    folder: TempDir,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = script("start", &folder);
        Self { folder, url }
    }

    /// Ends it as a crash would.
    pub(crate) fn halt(&self) {
        script("halt", &self.folder);
    }

    pub(crate) fn start_again(&self) {
        assert_eq!(script("start", &self.folder), self.url);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        script("stop", &self.folder);
    }
}

fn script(command: &str, folder: &TempDir) -> String {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres");
    let output = Command::new(script).arg(command).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "scripts/postgres {command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
