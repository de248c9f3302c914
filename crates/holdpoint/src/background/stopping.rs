//! Tells those who drive runs to let go of them.

use std::sync::Arc;

use futures_util::future::select_all;
use tokio_util::sync::CancellationToken;

/// On as soon as one of its tokens is cancelled; without a token never.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopping {
    tokens: Arc<[CancellationToken]>,
}

impl Stopping {
    /// The same, and on when this token is cancelled too.
    pub(crate) fn and(&self, token: CancellationToken) -> Self {
        Self { tokens: self.tokens.iter().cloned().chain([token]).collect() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.tokens.iter().any(CancellationToken::is_cancelled)
    }

    /// Waits until it is on.
    pub(crate) async fn on(&self) {
        if self.tokens.is_empty() {
            return std::future::pending().await;
        }
        select_all(self.tokens.iter().map(|token| Box::pin(token.cancelled()))).await;
    }
}
