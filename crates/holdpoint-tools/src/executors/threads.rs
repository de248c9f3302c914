//! Calls beside each other, on threads.

use std::sync::Arc;

use async_trait::async_trait;

use super::schedule::{self, Lane};
use super::{Batch, Execute};
use crate::{Place, ThreadPool};

/// Like [`Concurrent`](crate::Concurrent), on threads of a pool of its own.
#[derive(Clone, Debug)]
pub struct Threads {
    pool: Arc<ThreadPool>,
}

impl Threads {
    /// On the threads of this pool.
    pub fn new(pool: Arc<ThreadPool>) -> Self {
        Self { pool }
    }
}

#[async_trait]
impl Execute for Threads {
    async fn execute(&self, batch: Batch) {
        schedule::run(&batch, |_| Lane::Beside(Place::Threads(Arc::clone(&self.pool)))).await;
    }
}
