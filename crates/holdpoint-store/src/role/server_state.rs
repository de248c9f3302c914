//! What servers share beside runs.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Reservation, Reserved, ResponseKey, Scope, StoreError, StoreTally, Swept, WorkerRow, WorkerSeen};

/// What servers share beside runs: settings, responses to requests that may be sent again, workers, counts.
#[async_trait]
pub trait ServerState: Send + Sync + 'static {
    /// A value that all processes of this store share, if there is one of that name.
    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError>;

    /// Keeps a value that everybody who uses this store shares, unless there is one of that name. Returns the one that is
    /// there.
    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError>;

    /// Puts a value in the place of another one. Says whether that other one, or the new one already, was there.
    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError>;

    /// Begins a request that may be sent again. Of those who begin the same at the same time one gets
    /// [`Reserved::New`]; one who got it and says nothing for [`Reservation::reserved_ms`] gave it up.
    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError>;

    /// Keeps the response of a request that was begun, for [`crate::RESPONSE_KEPT_MS`] from its beginning. The first one
    /// that is kept stays. Nothing happens when it was not begun.
    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError>;

    /// The response that was kept for a request, while its time is not over. Looking changes nothing.
    async fn kept(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError>;

    /// Gives up a request that was begun and changed nothing: it may be begun again at once. One that has a response stays.
    async fn forget(&self, key: &ResponseKey) -> Result<(), StoreError>;

    /// Notes that a worker is there.
    async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError>;

    /// The workers within what somebody sees, those last seen first: at most [`crate::WORKERS_MAX`]
    /// and none that nobody has seen for [`crate::WORKER_KEPT_MS`].
    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError>;

    /// How much of what is there. Counts what is not over: as long as it takes to go through that.
    async fn counts(&self) -> Result<StoreTally, StoreError>;

    /// Throws away responses past their time and workers that nobody has seen for [`crate::WORKER_KEPT_MS`]: at most
    /// [`crate::DUE_LIMIT_MAX`] of each.
    async fn sweep(&self) -> Result<Swept, StoreError>;
}
