//! All records of a run in one growing buffer.

use std::sync::Arc;

use holdpoint_core::{Revision, Timestamp};

use crate::{AuditRow, Link, Record, next_link};

/// Each record is its length with its kind, its moment as the distance to the moment before, and its bytes; both numbers
/// take one byte while they are small. What a transition left in the audit log follows its records.
#[derive(Default)]
pub(super) struct Log {
    bytes: Vec<u8>,
}

/// The most that one number takes.
const VARINT_BYTES_MAX: usize = 10;

impl Log {
    /// Adds records that happened at `at`, after others of which the last happened at `previous`.
    pub(super) fn append(&mut self, records: &[Vec<u8>], at: Timestamp, previous: Timestamp) {
        let framed = records.iter().map(|record| record.len() + 2 * VARINT_BYTES_MAX).sum();
        self.bytes.reserve(framed);
        let mut distance = at.0.wrapping_sub(previous.0);
        for record in records {
            self.push(Kind::Record, distance, record);
            distance = 0;
        }
    }

    /// Adds what the transition of the last records left in the audit log.
    pub(super) fn append_audit(&mut self, body: &[u8]) {
        self.push(Kind::Audit, 0, body);
    }

    fn push(&mut self, kind: Kind, distance: i64, body: &[u8]) {
        push_varint(&mut self.bytes, (body.len() as u64) << 1 | kind as u64);
        push_varint(&mut self.bytes, zigzag(distance));
        self.bytes.extend_from_slice(body);
    }

    /// Gives spare room back.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// The records after the first `after`. `start` is the moment that the first one's distance is counted from.
    pub(super) fn records(&self, after: Revision, start: Timestamp) -> Vec<Record> {
        let records = self.pieces(start).filter(|piece| matches!(piece.kind, Kind::Record) && piece.seq > after);
        records.map(|piece| Record { seq: piece.seq, at: piece.at, body: Arc::from(piece.body) }).collect()
    }

    /// What the transitions left in the audit log, chained from this link on.
    pub(super) fn audit(&self, start: Timestamp, first: Link) -> Vec<AuditRow> {
        let mut link = first;
        let row = |piece: Piece<'_>| {
            link = next_link(link, piece.seq, piece.at, piece.body);
            AuditRow { revision: piece.seq, at: piece.at, body: Arc::from(piece.body), link }
        };
        self.pieces(start).filter(|piece| matches!(piece.kind, Kind::Audit)).map(row).collect()
    }

    fn pieces(&self, start: Timestamp) -> impl Iterator<Item = Piece<'_>> {
        let (mut rest, mut at, mut seq) = (self.bytes.as_slice(), start, Revision(0));
        std::iter::from_fn(move || {
            let (kind, distance, body) = take_piece(&mut rest)?;
            at = Timestamp(at.0.wrapping_add(distance));
            match kind {
                Kind::Record => seq = Revision(seq.0 + 1),
                Kind::Audit => {}
            }
            Some(Piece { kind, seq, at, body })
        })
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Record = 0,
    Audit = 1,
}

struct Piece<'a> {
    kind: Kind,
    /// The last record so far.
    seq: Revision,
    at: Timestamp,
    body: &'a [u8],
}

/// Nothing when the buffer is at its end.
fn take_piece<'a>(rest: &mut &'a [u8]) -> Option<(Kind, i64, &'a [u8])> {
    let tagged = take_varint(rest)?;
    let kind = if tagged & 1 == 0 { Kind::Record } else { Kind::Audit };
    let length = usize::try_from(tagged >> 1).ok()?;
    let distance = unzigzag(take_varint(rest)?);
    let (body, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some((kind, distance, body))
}

fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number as u8 & 0x7f) | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Small distances in either direction become small numbers.
fn zigzag(distance: i64) -> u64 {
    ((distance << 1) ^ (distance >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}
