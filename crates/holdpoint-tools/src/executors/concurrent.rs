//! Calls beside each other, as tasks.

use async_trait::async_trait;

use super::schedule::{self, Lane};
use super::{Batch, Execute};
use crate::Place;

/// Tools that may run beside others do, as tasks, up to the batch's limit; any other is a barrier at its position.
#[derive(Clone, Copy, Debug, Default)]
pub struct Concurrent;

#[async_trait]
impl Execute for Concurrent {
    async fn execute(&self, batch: Batch) {
        schedule::run(&batch, |_| Lane::Beside(Place::Task)).await;
    }
}
