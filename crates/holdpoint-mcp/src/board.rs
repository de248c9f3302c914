//! The calls that a server has at the moment: what it says in between is for one of them.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use holdpoint_tools::ToolCall;
use rmcp::model::{ElicitRequestParams, ElicitResult, ProgressNotificationParam, ProgressToken, RequestId};
use rmcp::service::InboundStreamOrigin;
use tokio::sync::{mpsc, oneshot};

/// How many things a server may ask about one call before any of them is answered.
const ASKS_MAX: usize = 4;
/// How much of a report of progress is passed on.
const PROGRESS_CHARS_MAX: usize = 500;

/// Something that a server asks a person.
pub(crate) struct Ask {
    pub(crate) params: ElicitRequestParams,
    pub(crate) reply: oneshot::Sender<ElicitResult>,
}

/// The calls that a server has.
pub(crate) struct Board {
    calls: Mutex<HashMap<u64, Entry>>,
    next: AtomicU64,
}

struct Entry {
    request: Option<(RequestId, ProgressToken)>,
    call: Option<ToolCall>,
    asks: mpsc::Sender<Ask>,
}

/// The first, if it is the only one.
fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    all.next().filter(|_| all.next().is_none())
}

/// A call's place on the board, for as long as this lives.
pub(crate) struct Ticket {
    board: Arc<Board>,
    number: u64,
}

impl Default for Board {
    /// Numbers begin where no earlier process can have been: a wait that it kept is none of ours.
    fn default() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let next = AtomicU64::new(u64::try_from(now.as_micros()).unwrap_or_default());
        Self { calls: Mutex::default(), next }
    }
}

impl Board {
    pub(crate) fn enter(self: &Arc<Self>, call: &ToolCall) -> (Ticket, mpsc::Receiver<Ask>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (asks, asked) = mpsc::channel(ASKS_MAX);
        let entry = Entry { request: None, call: Some(call.clone()), asks };
        self.lock().insert(number, entry);
        (Ticket { board: Arc::clone(self), number }, asked)
    }

    /// Passes on what a server asks, to the call that it is about. Says no when nobody knows which that is.
    pub(crate) fn ask(&self, origin: Option<&InboundStreamOrigin>, ask: Ask) -> bool {
        let calls = self.lock();
        let entry = match origin {
            Some(InboundStreamOrigin::OutboundRequest(id)) => {
                let known = calls.values().find(|entry| entry.request.as_ref().is_some_and(|(known, _)| known == id));
                // A server may ask before we know under which request it has the call.
                known.or_else(|| only(calls.values().filter(|entry| entry.request.is_none())))
            }
            // Over input and output a server does not say which call it asks for. One that waits for a person is a call
            // of the server like any other: what it asks next may be about that.
            Some(InboundStreamOrigin::Unassociated) | None => only(calls.values()),
        };
        match entry {
            Some(entry) => entry.asks.try_send(ask).is_ok(),
            None => false,
        }
    }

    pub(crate) fn progress(&self, report: &ProgressNotificationParam) {
        let calls = self.lock();
        let is_of = |entry: &&Entry| entry.request.as_ref().is_some_and(|(_, token)| *token == report.progress_token);
        let Some(call) = calls.values().find(is_of).and_then(|entry| entry.call.clone()) else { return };
        drop(calls);
        let total = report.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let text = report.message.clone().unwrap_or_else(|| format!("{}{total}", report.progress));
        call.progress(&text.chars().take(PROGRESS_CHARS_MAX).collect::<String>());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Entry>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Tells calls of one server apart.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The request under which the server knows the call.
    pub(crate) fn sent(&self, request: RequestId, progress: ProgressToken) {
        self.change(|entry| entry.request = Some((request, progress)));
    }

    /// The run waits for a person: nobody listens for progress.
    pub(crate) fn park(&self) {
        self.change(|entry| entry.call = None);
    }

    pub(crate) fn resume(&self, call: &ToolCall) {
        self.change(|entry| entry.call = Some(call.clone()));
    }

    fn change(&self, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.board.lock().get_mut(&self.number) {
            change(entry);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.board.lock().remove(&self.number);
    }
}
