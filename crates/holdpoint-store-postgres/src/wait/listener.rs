//! Notifications between processes, and what replaces them when they are lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holdpoint_core::Revision;
use holdpoint_store::{StoreError, Topics};
use sqlx::postgres::{PgConnection, PgListener, PgPoolOptions};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::Wakes;
use super::notification::Notification;
use crate::fault::timed_out;
use crate::pool::{Pool, STATEMENT_LIMIT};

const CHANNEL: &str = "holdpoint";
/// A process sends at most one notification in this time.
const TELL_EVERY: Duration = Duration::from_millis(5);
/// How often the runs that a caller waits for are looked at, whatever notifications said.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long to wait before a broken connection is opened again.
const RECONNECT_AFTER: Duration = Duration::from_millis(200);
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// A notification may be lost in a crash of the server; so are the connections that would have received it.
const SESSION: &str = "set synchronous_commit = off";
const WHO: &str = "select pg_backend_pid()";
const TELL: &str = "select pg_notify($1, $2)";
const LOOK: &str = "select run_no, revision from holdpoint_runs where run_no = any($1)";

/// Tells others what happened here.
pub(super) async fn tell(wakes: Arc<Wakes>, pool: Arc<Pool>) {
    let mut connection: Option<PgConnection> = None;
    loop {
        wakes.told.notified().await;
        let next = Instant::now() + TELL_EVERY;
        let payload = wakes.take_notification().to_payload();
        match send(&wakes, &pool, connection.take(), &payload).await {
            Ok(open) => connection = Some(open),
            Err(error) => {
                tracing::debug!(%error, "a notification was not sent");
                // What was in it is lost; the next says that everything may have changed.
                wakes.lost_notification();
                sleep(RECONNECT_AFTER).await;
            }
        }
        sleep_until(next).await;
    }
}

async fn send(
    wakes: &Wakes,
    pool: &Pool,
    connection: Option<PgConnection>,
    payload: &str,
) -> Result<PgConnection, sqlx::Error> {
    let mut connection = match connection {
        Some(connection) => connection,
        None => {
            let mut connection = pool.connect().await?;
            sqlx::raw_sql(SESSION).execute(&mut connection).await?;
            let who: i32 = sqlx::query_scalar(WHO).fetch_one(&mut connection).await?;
            wakes.teller.store(who, Ordering::Relaxed);
            connection
        }
    };
    let tell = sqlx::query(TELL).bind(CHANNEL).bind(payload).execute(&mut connection);
    timeout(STATEMENT_LIMIT, tell).await.map_err(|_| timed_out())??;
    Ok(connection)
}

/// Receives what happened elsewhere.
pub(super) async fn listen(wakes: Arc<Wakes>, pool: Arc<Pool>) {
    loop {
        if let Err(error) = hear(&wakes, &pool).await {
            tracing::debug!(%error, "the connection for notifications broke");
        }
        sleep(RECONNECT_AFTER).await;
    }
}

/// Listens until the connection breaks.
async fn hear(wakes: &Wakes, pool: &Pool) -> Result<(), sqlx::Error> {
    let own = PgPoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
    let own = own.acquire_timeout(CONNECT_LIMIT).connect_lazy_with(pool.address().options().clone());
    let mut listener = PgListener::connect_with(&own).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    // Notifications that were sent before are missed.
    wakes.missed.notify_one();
    while let Some(said) = listener.try_recv().await? {
        // What this process sent, its callers know already.
        if i64::from(said.process_id()) != i64::from(wakes.teller.load(Ordering::Relaxed)) {
            wakes.heard(&Notification::from_payload(said.payload()));
        }
    }
    Ok(())
}

/// Looks now and then, and when something was missed, at the runs that a caller waits for.
pub(super) async fn look(wakes: Arc<Wakes>, pool: Arc<Pool>) {
    loop {
        // Both ways out of the wait are the same to us.
        let missed = timeout(LOOK_EVERY, wakes.missed.notified()).await.is_ok();
        if missed {
            wakes.wake(Topics::ALL);
        }
        wakes.echo();
        // A look that fails is followed by another one soon.
        let _ = look_at_awaited(&wakes, &pool).await;
    }
}

async fn look_at_awaited(wakes: &Wakes, pool: &Pool) -> Result<(), StoreError> {
    let awaited = wakes.notifier.awaited_runs();
    if awaited.is_empty() {
        return Ok(());
    }
    let rows = pool.rows("look at runs", || sqlx::query(LOOK).bind(&awaited)).await?;
    let seen = rows.iter().map(|row| Ok((row.int("run_no")?, Revision(row.number("revision")?))));
    let seen = seen.collect::<Result<HashMap<i64, Revision>, StoreError>>()?;
    for run_no in &awaited {
        match seen.get(run_no) {
            Some(revision) => wakes.notifier.moved(run_no, *revision),
            None => wakes.notifier.pruned(run_no),
        }
    }
    Ok(())
}

impl Wakes {
    /// Another process moved runs.
    pub(super) fn heard(&self, notification: &Notification) {
        for (run_no, revision) in &notification.moves {
            self.notifier.moved(run_no, *revision);
        }
        self.wake(notification.topics);
        if notification.everything {
            self.missed.notify_one();
        }
    }

    /// A notification was not sent and is not known any more.
    fn lost_notification(&self) {
        self.tell(|notification| notification.everything = true);
    }
}
