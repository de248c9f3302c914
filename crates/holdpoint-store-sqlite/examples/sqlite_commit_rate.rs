//! How many transitions per second: `cargo run --release -p holdpoint-store-sqlite --example sqlite_commit_rate [FOLDER]`.
//!
//! Prints the rate of bare commits (one insert each, one connection, synchronous=FULL) of the same folder beside it.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use holdpoint_core::{Attempt, CallIndex, Repeat, Revision, RunId, Status, ToolName, Turn};
use holdpoint_store::{HeadUpdate, Hold, OwnerId, Store, TaskChange, TaskGuard, TaskOpening, Transition};
use holdpoint_store_sqlite::SqliteStore;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Executor};

const BARE_COMMITS: u32 = 5_000;
const TRANSITIONS: usize = 40_000;
/// How many transitions a run has.
const STEPS: u64 = 5;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let folder = match std::env::args().nth(1) {
        Some(within) => tempfile::tempdir_in(within)?,
        None => tempfile::tempdir()?,
    };
    let mut out = std::io::stdout();
    writeln!(out, "bare commits: {:.0}/s", bare(folder.path()).await?)?;
    for callers in [1, 4, 16, 64] {
        let url = format!("sqlite:{}", folder.path().join(format!("{callers}.db")).display());
        let store = Store::from(SqliteStore::open(&url).await?);
        let started = Instant::now();
        let each = TRANSITIONS / callers / if callers == 1 { 8 } else { 1 };
        let tasks: Vec<_> = (0..callers).map(|caller| tokio::spawn(drive(store.clone(), caller, each))).collect();
        for task in tasks {
            task.await??;
        }
        let rate = (each * callers) as f64 / started.elapsed().as_secs_f64();
        writeln!(out, "{callers} callers: {rate:.0} transitions/s")?;
    }
    Ok(())
}

async fn bare(folder: &Path) -> Result<f64, Failure> {
    let options = SqliteConnectOptions::new().filename(folder.join("bare.db")).create_if_missing(true);
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await?;
    connection.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, body BLOB)").await?;
    let started = Instant::now();
    for _ in 0..BARE_COMMITS {
        sqlx::query("INSERT INTO bare (body) VALUES ($1)").bind(vec![7_u8; 600]).execute(&mut connection).await?;
    }
    let rate = f64::from(BARE_COMMITS) / started.elapsed().as_secs_f64();
    connection.close().await?;
    Ok(rate)
}

async fn drive(store: Store, caller: usize, transitions: usize) -> Result<(), Failure> {
    let hold = Hold { owner: OwnerId::unique(), lease_ms: 30_000 };
    for number in 0..transitions as u64 {
        let (run, step) = (RunId::new(format!("run-{caller:03}-{:08}", number / STEPS)), number % STEPS);
        store.runs.commit(&run, Revision(3 * step), transition(step, &hold)).await?;
    }
    Ok(())
}

/// Three events and an audit row; the third pauses the run and opens a task, the fourth goes on and closes it.
fn transition(step: u64, hold: &Hold) -> Transition {
    let records = vec![vec![b'a'; 150], vec![b'b'; 250], vec![b'c'; 200]];
    let status = match step {
        2 => Status::AwaitingToolResults,
        4 => Status::Finished,
        _ => Status::Running,
    };
    let head = HeadUpdate { agent: Some("support".into()), ..HeadUpdate::new(status) };
    let mut transition = Transition::new(records, head, holdpoint_core::Timestamp(1_700_000_000_000_000));
    transition.audit = Some(vec![b'd'; 200]);
    transition.hold = (status == Status::Running).then(|| hold.clone());
    let (turn, index) = (Turn(1), CallIndex(0));
    match step {
        2 => transition.tasks.push(TaskChange::Open(Box::new(TaskOpening {
            turn,
            index,
            tool: ToolName::new("refund"),
            attempts: Attempt(0),
            attempts_max: Attempt(3),
            repeat: Repeat::Never,
            deadline: None,
            body: vec![b'e'; 400],
        }))),
        3 => transition.tasks.push(TaskChange::Close { turn, index, guard: TaskGuard::Any }),
        _ => {}
    }
    transition
}
