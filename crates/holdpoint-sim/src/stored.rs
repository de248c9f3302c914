//! The stored form of events, and the portable one of a paused run: every rebuild goes through the real bytes.

use holdpoint_codec::continuation::{self, DumpOptions, Traces};
use holdpoint_codec::{LoadOptions, SigningKey, decode_event, encode_event};
use holdpoint_core::{LogEntry, Run, Snapshot};

/// One record of a log.
pub(crate) type Record = Vec<u8>;

pub(crate) fn write(entry: &LogEntry) -> Record {
    encode_event(entry)
}

/// What was written reads back; a world in which it does not cannot go on.
pub(crate) fn read(record: &Record) -> LogEntry {
    decode_event(record).expect("an event reads back from the bytes that were written for it")
}

/// A paused run as it arrives in another store: through a signed continuation.
pub(crate) fn exported(run: &Run) -> Snapshot {
    let key = SigningKey::new("sim", "a secret of the simulated world");
    let options = DumpOptions { key: Some(&key), traces: Traces::Include, ..DumpOptions::default() };
    let payload = continuation::dump(run, &options).expect("a paused run can be exported");
    let keys = [key];
    let options = LoadOptions { keys: &keys, ..LoadOptions::default() };
    continuation::load(&payload, &options).expect("what was exported can be imported").snapshot
}
