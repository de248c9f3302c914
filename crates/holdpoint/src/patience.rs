//! How long to try again when a store is out of reach for a while.

use std::time::Duration;

use tokio::time::Instant;

/// The first pause between two tries.
const FIRST: Duration = Duration::from_millis(50);
/// The longest pause between two tries.
const LONGEST: Duration = Duration::from_secs(2);
/// Nobody tries again after this time. A store may be patient by itself within each try.
const IN_ALL: Duration = Duration::from_secs(30);

/// The pauses between tries, until there are no more.
#[derive(Debug)]
pub(crate) struct Patience {
    until: Instant,
    next: Duration,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self { until: Instant::now() + IN_ALL, next: FIRST }
    }

    /// Waits before the next try. Says whether there is one.
    pub(crate) async fn wait(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(LONGEST);
        true
    }
}
