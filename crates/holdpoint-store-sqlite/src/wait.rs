//! Notices what other processes write to the file, while a caller of this one waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_core::{Revision, RunId};
use holdpoint_store::{Notifier, StoreError, Topics};
use tokio::sync::{mpsc, oneshot};

use crate::Readers;
use crate::json_rows::JsonRows;
use crate::request::Request;

/// How often the file is looked at, while a caller waits.
pub(crate) const POLL: Duration = Duration::from_millis(75);
/// How many runs are looked at in one statement.
const LOOK_MAX: usize = 500;

pub(crate) const REVISIONS: &str = "SELECT r.run_id, r.revision FROM json_each($1) j \
     CROSS JOIN runs r ON r.run_id = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT)";

/// Polls the file while a caller waits, and only then. Ends with the writer.
///
/// The connection that writes is asked, since it alone does not count its own commits.
pub(crate) async fn poll(notifier: Arc<Notifier<RunId>>, queue: mpsc::WeakSender<Request>, readers: Readers) {
    let mut seen = None;
    loop {
        notifier.until_awaited().await;
        tokio::time::sleep(POLL).await;
        let (answer, version) = oneshot::channel();
        let Some(queue) = queue.upgrade() else { return };
        if queue.send(Request::ForeignVersion(answer)).await.is_err() {
            return;
        }
        drop(queue);
        let Ok(Ok(version)) = version.await else { continue };
        if seen == Some(version) {
            continue;
        }
        notifier.notify(Topics::ALL);
        // A file that cannot be read now is read again at the next poll.
        if look(&notifier, &readers).await.is_ok() {
            seen = Some(version);
        }
    }
}

/// Looks at the runs that callers wait for.
async fn look(notifier: &Notifier<RunId>, readers: &Readers) -> Result<(), StoreError> {
    for awaited in notifier.awaited_runs().chunks(LOOK_MAX) {
        let names = JsonRows::of_texts(awaited.iter().map(RunId::as_str));
        let rows = readers.rows("read the runs", Readers::search(REVISIONS, names.into_values())).await?;
        let found = rows.iter().map(|row| Ok((row.run()?, Revision(row.number("revision")?))));
        let found = found.collect::<Result<HashMap<RunId, Revision>, StoreError>>()?;
        for run in awaited {
            match found.get(run) {
                Some(revision) => notifier.moved(run, *revision),
                None => notifier.pruned(run),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
