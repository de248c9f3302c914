//! What all cases of a campaign share: the store, the ledger, and a reader of the ledger.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use holdpoint::open_store;
use holdpoint_store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::broken::{Break, wrap};
use crate::ledger::{Ledger, Point, Tail};
use crate::records::{News, Records};
use crate::tools::{Bench, Habits};

/// How often the ledger is read.
const TICK: Duration = Duration::from_millis(3);

pub(super) struct Field {
    pub(super) folder: PathBuf,
    pub(super) url: String,
    pub(super) broken: Option<Break>,
    pub(super) store: Store,
    pub(super) bench: Arc<Bench>,
    pub(super) program: PathBuf,
    read: Mutex<Read>,
    lines: watch::Receiver<u64>,
    reader: Mutex<Option<JoinHandle<()>>>,
}

/// What the ledger says so far.
#[derive(Default)]
struct Read {
    records: Records,
    up: HashSet<String>,
    parked: HashSet<(String, Point)>,
}

impl Field {
    pub(super) async fn open(folder: &Path, url: &str, broken: Option<Break>) -> anyhow::Result<Arc<Self>> {
        let store = wrap(open_store(url).await.context("the store")?, broken);
        // The ledger is there before anybody reads it.
        Ledger::open(folder)?;
        let mut tail = Tail::open(folder)?;
        let (sender, lines) = watch::channel(0);
        let field = Arc::new(Self {
            folder: folder.to_owned(),
            url: url.to_owned(),
            broken,
            store,
            bench: Bench::open(folder, "people", Habits::default())?,
            program: std::env::current_exe()?,
            read: Mutex::default(),
            lines,
            reader: Mutex::default(),
        });
        let reading = Arc::clone(&field);
        let reader = tokio::spawn(async move {
            loop {
                let facts = tail.read_new().unwrap_or_default();
                if !facts.is_empty() {
                    let mut read = reading.read();
                    for fact in facts {
                        match read.records.take(fact) {
                            Some(News::Up(process)) => _ = read.up.insert(process),
                            Some(News::Parked(process, point)) => _ = read.parked.insert((process, point)),
                            Some(News::Begun(_) | News::Dozing(_)) | None => {}
                        }
                    }
                    drop(read);
                    sender.send_modify(|lines| *lines += 1);
                }
                tokio::time::sleep(TICK).await;
            }
        });
        *field.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader);
        Ok(field)
    }

    pub(super) fn close(&self) {
        if let Some(reader) = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take() {
            reader.abort();
        }
    }

    fn read(&self) -> std::sync::MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what the ledger says so far.
    pub(super) fn records<T>(&self, look: impl FnOnce(&Records) -> T) -> T {
        look(&self.read().records)
    }

    /// Waits until a process works.
    pub(super) async fn up(&self, process: &str) {
        self.until(|read| read.up.contains(process)).await;
    }

    /// Waits until a process is at a point.
    pub(super) async fn parked(&self, process: &str, point: Point) {
        let wanted = (process.to_owned(), point);
        self.until(|read| read.parked.contains(&wanted)).await;
    }

    async fn until(&self, is_so: impl Fn(&Read) -> bool) {
        let mut lines = self.lines.clone();
        while !is_so(&self.read()) {
            // The reader lives as long as the field.
            let _ = lines.changed().await;
        }
    }
}
