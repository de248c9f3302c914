//! The clock of everything durable.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use holdpoint_core::Timestamp;
use holdpoint_store::{Clock, SteadyClock, StoreError, boot_us};
use sqlx::postgres::PgConnection;
use tokio::time::sleep;

use crate::fault::store_error;
use crate::pool::Pool;

/// How often the clock of the database is read at the beginning: the quickest answer is the best.
const READINGS: usize = 3;
/// How often it is read afterwards.
const FOLLOW_EVERY: Duration = Duration::from_secs(30);
const READ: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";

/// The given clock, or that of the database as far as it is known here. Between two readings it advances by the machine's clock
/// that counts suspended time and that nobody sets.
pub(crate) struct StoreClock {
    given: Option<Arc<dyn Clock>>,
    start_us: i64,
    /// What the database's clock showed at `start_us`.
    offset_us: AtomicI64,
    shown: SteadyClock,
}

impl StoreClock {
    pub(crate) async fn open(given: Option<Arc<dyn Clock>>, first: &mut PgConnection) -> Result<Self, StoreError> {
        let clock = Self::new(given);
        if clock.given.is_none() {
            let read = clock.read(first).await;
            read.map_err(|error| store_error("read the clock of the database", &error))?;
        }
        Ok(clock)
    }

    fn new(given: Option<Arc<dyn Clock>>) -> Self {
        Self { given, start_us: boot_us(), offset_us: AtomicI64::new(0), shown: SteadyClock::default() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        if let Some(clock) = &self.given {
            return clock.now();
        }
        let elapsed_us = self.elapsed_us();
        self.shown.follow(elapsed_us.saturating_add(self.offset_us.load(Ordering::Relaxed)), elapsed_us)
    }

    /// The moment that statements are to go by. Nothing: they ask the database itself.
    pub(crate) fn given_us(&self) -> Option<i64> {
        self.given.as_ref().map(|clock| clock.now().0)
    }

    /// How long this clock has been going.
    fn elapsed_us(&self) -> i64 {
        boot_us().saturating_sub(self.start_us)
    }

    /// Reads the clock of the database, and keeps the answer that took the shortest time.
    async fn read(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let mut best: Option<(i64, i64, i64)> = None;
        for _ in 0..READINGS {
            let asked = self.elapsed_us();
            let seen: i64 = sqlx::query_scalar(READ).fetch_one(&mut *connection).await?;
            let answered = self.elapsed_us();
            if best.is_none_or(|(from, to, _)| answered - asked < to - from) {
                best = Some((asked, answered, seen));
            }
        }
        if let Some((asked, answered, seen)) = best {
            self.adjust(asked, answered, seen);
        }
        Ok(())
    }

    /// The database showed `seen_us` at some moment between two of ours.
    fn adjust(&self, asked_us: i64, answered_us: i64, seen_us: i64) {
        let middle = asked_us + (answered_us - asked_us) / 2;
        self.offset_us.store(seen_us.saturating_sub(middle), Ordering::Relaxed);
    }
}

/// Clocks drift apart; reads it now and then.
pub(crate) async fn follow(pool: Arc<Pool>, clock: Arc<StoreClock>) {
    while clock.given.is_none() {
        sleep(FOLLOW_EVERY).await;
        // When it fails the clock goes on as it did.
        let _ = pool.with(async |connection| clock.read(connection).await).await;
    }
}

impl fmt::Debug for StoreClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.given.is_some() { "a given clock" } else { "the clock of the database" })
    }
}

#[cfg(test)]
mod tests;
