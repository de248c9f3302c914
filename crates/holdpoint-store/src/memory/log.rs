//! All records of a run in one growing buffer.

use std::sync::Arc;

use holdpoint_core::{Revision, Timestamp};

use crate::Record;

/// Each record is its length, its moment as the distance to the moment before, and its bytes; both numbers take one byte
/// while they are small.
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
            push_varint(&mut self.bytes, record.len() as u64);
            push_varint(&mut self.bytes, zigzag(distance));
            self.bytes.extend_from_slice(record);
            distance = 0;
        }
    }

    /// Gives spare room back.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// The records after the first `after`. `start` is the moment that the first one's distance is counted from.
    pub(super) fn records(&self, after: Revision, start: Timestamp) -> Vec<Record> {
        let mut found = Vec::new();
        let mut rest = self.bytes.as_slice();
        let mut at = start;
        let mut seq = Revision(0);
        while let Some((distance, body)) = take_record(&mut rest) {
            at = Timestamp(at.0.wrapping_add(distance));
            seq = Revision(seq.0 + 1);
            if seq > after {
                found.push(Record { seq, at, body: Arc::from(body) });
            }
        }
        found
    }
}

/// Nothing when the buffer is at its end.
fn take_record<'a>(rest: &mut &'a [u8]) -> Option<(i64, &'a [u8])> {
    let length = usize::try_from(take_varint(rest)?).ok()?;
    let distance = unzigzag(take_varint(rest)?);
    let (body, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some((distance, body))
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
