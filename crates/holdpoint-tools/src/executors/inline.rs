//! One call after another.

use async_trait::async_trait;

use super::{Batch, Execute};

/// One call after another, in the order in which the model asked. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inline;

#[async_trait]
impl Execute for Inline {
    async fn execute(&self, batch: Batch) {
        for call in batch.calls() {
            batch.run(call.index).await;
        }
    }
}
