//! What servers keep for those who ask them: responses, and who does tasks.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{Timestamp, ToolName};
use holdpoint_store::{
    DUE_LIMIT_MAX, RESPONSE_KEPT_MS, Reservation, Reserved, ResponseKey, Scope, StoreError, StoreTally, Swept,
    WORKER_KEPT_MS, WORKER_TOOLS_MAX, WORKERS_MAX, WorkerRow, WorkerSeen, packed,
};

use crate::batch::{Batch, Given, StatementNo, Values};
use crate::columns::{Reader, signed_len, tenant_key, unpack_one};
use crate::fault::corrupt;
use crate::group::Group;
use crate::run_log::Readers;

/// Takes the place of one that is past its time, and of the same one that somebody gave up.
pub(crate) const RESERVE: &str = "INSERT INTO responses (request, digest, begun_at) VALUES ($1, $2, $3) \
     ON CONFLICT (request) DO UPDATE SET digest = excluded.digest, begun_at = excluded.begun_at, response = NULL, \
     tries = CASE WHEN begun_at <= $4 THEN 1 ELSE tries + 1 END \
     WHERE begun_at <= $4 OR (digest = excluded.digest AND response IS NULL AND begun_at <= $5) RETURNING tries";
pub(crate) const RESERVED: &str = "SELECT digest, response FROM responses WHERE request = $1";
pub(crate) const KEPT: &str =
    "SELECT response FROM responses WHERE request = $1 AND begun_at > $2 AND response IS NOT NULL";
pub(crate) const KEEP: &str = "UPDATE responses SET response = $2 WHERE request = $1 AND response IS NULL";
pub(crate) const DROP: &str = "DELETE FROM responses WHERE request = $1 AND response IS NULL";
pub(crate) const SEEN: &str = "INSERT INTO workers (tenant, name, tools, since, seen_at) VALUES ($1, $2, $3, $4, $4) \
     ON CONFLICT (tenant, name) DO UPDATE SET tools = excluded.tools, seen_at = excluded.seen_at";
pub(crate) const SWEEP_RESPONSES: &str = "DELETE FROM responses WHERE rowid IN (SELECT rowid FROM responses \
     WHERE begun_at <= $1 ORDER BY begun_at LIMIT $2) RETURNING 1";
pub(crate) const SWEEP_WORKERS: &str = "DELETE FROM workers WHERE rowid IN (SELECT rowid FROM workers \
     WHERE seen_at <= $1 ORDER BY seen_at LIMIT $2) RETURNING 1";
pub(crate) const WORKERS: &str = "SELECT w.name, w.tenant, w.tools, w.since, w.seen_at, (SELECT count(*) FROM tasks t \
     WHERE t.state = 1 AND t.worker = w.name AND (w.tenant = '' OR '=' || t.tenant = w.tenant)) \
     FROM workers w WHERE w.seen_at > $1 AND ($2 IS NULL OR w.tenant = $2) ORDER BY w.seen_at DESC, w.name LIMIT $3";

pub(crate) const TALLY: &str = "SELECT (SELECT count(*) FROM runs WHERE status = 0), \
     (SELECT count(*) FROM runs WHERE status = 1 AND status IN (1, 2)), \
     (SELECT count(*) FROM runs WHERE status = 2 AND status IN (1, 2)), \
     (SELECT count(*) FROM questions WHERE status = 0), (SELECT min(asked_at) FROM questions WHERE status = 0), \
     (SELECT count(*) FROM tasks WHERE state = 0), (SELECT count(*) FROM tasks WHERE state = 1), \
     (SELECT count(*) FROM tasks WHERE state = 2)";

pub(crate) const FIRST_SETTING: &str =
    "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = value RETURNING value";
pub(crate) const CHANGE_SETTING: &str =
    "UPDATE settings SET value = $3 WHERE name = $1 AND value IN ($2, $3) RETURNING 1";

/// One thing to write.
pub(crate) enum DeskWrite {
    Reserve(Reservation),
    /// With the response as it is stored.
    Keep(ResponseKey, Vec<u8>),
    Drop(ResponseKey),
    Seen(WorkerSeen),
    Sweep,
    FirstSetting {
        name: Box<str>,
        value: Box<str>,
    },
    ChangeSetting {
        name: Box<str>,
        from: Box<str>,
        to: Box<str>,
    },
}

/// The statements of one thing to write: what they give says what became of it.
pub(crate) enum DeskReply {
    Reserve { taken: StatementNo, there: StatementNo, wanted: Box<Reservation> },
    Done,
    Swept { responses: StatementNo, workers: StatementNo },
    First(StatementNo),
    Changed(StatementNo),
}

/// What became of it.
pub(crate) enum DeskAnswer {
    Reserved(Reserved),
    Done,
    Swept(Swept),
    Setting(Arc<str>),
    Changed(bool),
}

/// A moment so long ago.
fn before(now: Timestamp, ms: u64) -> i64 {
    now.0.saturating_sub(Timestamp(0).plus_ms(ms).0)
}

impl DeskWrite {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            DeskWrite::Keep(_, response) => response.len(),
            DeskWrite::FirstSetting { .. } | DeskWrite::ChangeSetting { .. } => 0,
            DeskWrite::Reserve(_) | DeskWrite::Drop(_) | DeskWrite::Seen(_) | DeskWrite::Sweep => 0,
        }
    }

    /// Adds its statements.
    pub(crate) fn add(self, batch: &mut Batch, group: &mut Group) -> DeskReply {
        let now = group.now;
        match self {
            DeskWrite::FirstSetting { name, value } => {
                DeskReply::First(batch.add(FIRST_SETTING, Values::none().text(&name).text(&value)))
            }
            DeskWrite::ChangeSetting { name, from, to } => {
                DeskReply::Changed(batch.add(CHANGE_SETTING, Values::none().text(&name).text(&from).text(&to)))
            }
            DeskWrite::Reserve(wanted) => {
                let request = wanted.key.to_text();
                let values = Values::none().text(&request).bytes(&wanted.digest.0).int(now.0);
                let values = values.int(before(now, RESPONSE_KEPT_MS)).int(before(now, wanted.reserved_ms));
                let taken = batch.add(RESERVE, values);
                let there = batch.add(RESERVED, Values::none().text(&request));
                DeskReply::Reserve { taken, there, wanted: Box::new(wanted) }
            }
            DeskWrite::Keep(key, response) => {
                batch.add(KEEP, Values::none().text(&key.to_text()).bytes(&response));
                DeskReply::Done
            }
            DeskWrite::Drop(key) => {
                batch.add(DROP, Values::none().text(&key.to_text()));
                DeskReply::Done
            }
            DeskWrite::Seen(seen) => {
                let values = Values::none().text(&tenant_key(seen.tenant.as_deref())).text(&seen.name);
                batch.add(SEEN, values.bytes(&tools_bytes(&seen.tools)).int(now.0));
                DeskReply::Done
            }
            DeskWrite::Sweep => {
                let values = |ms| Values::none().int(before(now, ms)).int(signed_len(DUE_LIMIT_MAX));
                let responses = batch.add(SWEEP_RESPONSES, values(RESPONSE_KEPT_MS));
                let workers = batch.add(SWEEP_WORKERS, values(WORKER_KEPT_MS));
                DeskReply::Swept { responses, workers }
            }
        }
    }
}

impl DeskReply {
    /// Reads what the statements gave.
    pub(crate) fn read(self, given: &mut Given) -> Result<DeskAnswer, StoreError> {
        match self {
            DeskReply::Done => Ok(DeskAnswer::Done),
            DeskReply::Changed(statement) => Ok(DeskAnswer::Changed(!given.take(statement).is_empty())),
            DeskReply::First(statement) => {
                let rows = given.take(statement);
                let row = rows.first().ok_or_else(|| corrupt("a setting is missing"))?;
                Ok(DeskAnswer::Setting(Reader::new(row).text()?))
            }
            DeskReply::Swept { responses, workers } => Ok(DeskAnswer::Swept(Swept {
                responses: given.take(responses).len() as u64,
                workers: given.take(workers).len() as u64,
            })),
            DeskReply::Reserve { taken, there, wanted } => {
                if let Some(row) = given.take(taken).first() {
                    let tries = Reader::new(row).int()?;
                    return Ok(DeskAnswer::Reserved(if tries > 1 { Reserved::Again } else { Reserved::New }));
                }
                let rows = given.take(there);
                let row = rows.first().ok_or_else(|| corrupt("a reservation is missing"))?;
                let mut reader = Reader::new(row);
                let digest = reader.bytes()?;
                Ok(DeskAnswer::Reserved(match reader.bytes_or_null()? {
                    _ if digest != wanted.digest.0 => Reserved::Mismatch,
                    Some(response) => Reserved::Kept(unpack_one(response)?),
                    None => Reserved::InProgress,
                }))
            }
        }
    }
}

/// Each tool once, in order.
fn tools_bytes(tools: &[ToolName]) -> Vec<u8> {
    let names: BTreeSet<&str> = tools.iter().map(ToolName::as_str).collect();
    let names: Vec<Vec<u8>> = names.into_iter().take(WORKER_TOOLS_MAX).map(Into::into).collect();
    packed::pack(&names)
}

impl Readers {
    pub(crate) async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError> {
        const SETTING: &str = "SELECT value FROM settings WHERE name = $1";
        let rows = self.all(SETTING, Values::none().text(name), "read a setting").await?;
        rows.first().map(|row| Reader::new(row).text()).transpose()
    }

    pub(crate) async fn kept_response(
        &self,
        key: &ResponseKey,
        now: Timestamp,
    ) -> Result<Option<Arc<[u8]>>, StoreError> {
        let values = Values::none().text(&key.to_text()).int(before(now, RESPONSE_KEPT_MS));
        let rows = self.all(KEPT, values, "look for a response").await?;
        rows.first().map(|row| unpack_one(Reader::new(row).bytes()?)).transpose()
    }

    pub(crate) async fn tally(&self) -> Result<StoreTally, StoreError> {
        let rows = self.all(TALLY, Values::none(), "count what is there").await?;
        let Some(row) = rows.first() else { return Ok(StoreTally::default()) };
        let mut reader = Reader::new(row);
        Ok(StoreTally {
            runs_running: reader.big()?,
            runs_awaiting_confirmation: reader.big()?,
            runs_awaiting_results: reader.big()?,
            questions_pending: reader.big()?,
            question_oldest: reader.int_or_null()?.map(Timestamp),
            tasks_waiting: reader.big()?,
            tasks_leased: reader.big()?,
            tasks_delivered: reader.big()?,
        })
    }

    pub(crate) async fn workers(&self, scope: &Scope, now: Timestamp) -> Result<Vec<WorkerRow>, StoreError> {
        let tenant = scope.tenant().map(|tenant| tenant_key(Some(tenant)));
        let values = Values::none().int(before(now, WORKER_KEPT_MS)).text_or_null(tenant.as_deref());
        let rows = self.all(WORKERS, values.int(signed_len(WORKERS_MAX)), "list workers").await?;
        let read = |row| {
            let mut reader = Reader::new(row);
            let (name, tenant) = (reader.text()?, reader.tenant()?);
            let tools = packed::unpack(reader.bytes()?)?.into_iter().map(|name| {
                let name = std::str::from_utf8(&name).map_err(|_| corrupt("a name is no text"))?;
                Ok(ToolName::new(name))
            });
            let tools = tools.collect::<Result<_, StoreError>>()?;
            Ok(WorkerRow {
                name,
                tenant,
                tools,
                since: reader.moment()?,
                seen_at: reader.moment()?,
                leases: reader.big()?,
            })
        };
        rows.iter().map(read).collect()
    }
}
