//! How long to try again when a store is out of reach for a while.

use std::time::Duration;

/// The first pause between two tries.
const FIRST: Duration = Duration::from_millis(50);
/// The longest pause between two tries.
const LONGEST: Duration = Duration::from_secs(2);
/// The tries in all: about half a minute with these pauses.
const TRIES_MAX: u32 = 20;

/// The pauses between tries, until there are no more.
#[derive(Debug)]
pub(crate) struct Patience {
    tries: u32,
    next: Duration,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self { tries: 1, next: FIRST }
    }

    /// Waits before the next try. Says whether there is one.
    pub(crate) async fn wait(&mut self) -> bool {
        if self.tries >= TRIES_MAX {
            return false;
        }
        self.tries += 1;
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(LONGEST);
        true
    }
}
