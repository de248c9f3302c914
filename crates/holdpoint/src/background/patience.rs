//! Retries while a store is out of reach.

use std::time::Duration;

use tokio::time::Instant;

/// The first pause between two tries. It doubles with each try.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// How long a caller is kept waiting. A store may retry by itself within each try.
const CALLER_WAITS: Duration = Duration::from_secs(30);
/// How long a result that a tool has already given is kept for a store that is out of reach.
const RESULT_KEPT: Duration = Duration::from_secs(60 * 60);

/// The pauses between tries, until the time for all of them is over.
#[derive(Debug)]
pub(crate) struct Patience {
    until: Instant,
    pause: Duration,
}

impl Patience {
    /// For somebody who waits for the outcome.
    pub(crate) fn new() -> Self {
        Self::at_least(Duration::ZERO)
    }

    /// For the holder of a lease, who tries at least as long as the lease lasts.
    pub(crate) fn at_least(lease: Duration) -> Self {
        Self { until: Instant::now() + CALLER_WAITS.max(lease), pause: FIRST_PAUSE }
    }

    /// For a result in the background that must not get lost.
    pub(crate) fn for_result() -> Self {
        Self { until: Instant::now() + RESULT_KEPT, pause: FIRST_PAUSE }
    }

    /// Waits before the next try. `false` when the time is over.
    pub(crate) async fn wait(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        true
    }
}
