//! The records of one transition as one row: a byte that says how, then each record with its length before it.

use std::sync::Arc;

use crate::StoreError;

/// What is above this is compressed.
pub const COMPRESS_ABOVE_BYTES: usize = 4 * 1024;

const PLAIN: u8 = 0;
const LZ4: u8 = 1;
/// No byte of what is compressed stands for more bytes than this.
const LZ4_GROWTH_MAX: usize = 255;
/// The bytes of a length.
const LENGTH_BYTES: usize = size_of::<u32>();

/// Puts records into one value.
pub fn pack(records: &[Vec<u8>]) -> Vec<u8> {
    let bytes: usize = records.iter().map(|record| record.len() + LENGTH_BYTES).sum();
    let mut plain = Vec::with_capacity(bytes + 1);
    plain.push(PLAIN);
    for record in records {
        // A record is at most `RECORD_BYTES_MAX`, which is checked before anything is stored.
        let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
        plain.extend_from_slice(&length.to_le_bytes());
        plain.extend_from_slice(record);
    }
    if bytes <= COMPRESS_ABOVE_BYTES {
        return plain;
    }
    let mut packed = lz4_flex::block::compress_prepend_size(&plain[1..]);
    packed.insert(0, LZ4);
    // What does not become smaller stays as it is.
    if packed.len() < plain.len() { packed } else { plain }
}

/// One value, compressed if it is long.
pub fn pack_one(body: Vec<u8>) -> Vec<u8> {
    pack(&[body])
}

/// What [`pack_one`] packed.
///
/// # Errors
/// When nobody here wrote it.
pub fn unpack_one(packed: &[u8]) -> Result<Arc<[u8]>, StoreError> {
    unpack(packed)?.into_iter().next().ok_or_else(|| corrupt("it is empty"))
}

/// Takes records out of a value.
///
/// # Errors
/// When nobody here wrote it.
pub fn unpack(packed: &[u8]) -> Result<Vec<Arc<[u8]>>, StoreError> {
    let (how, body) = packed.split_first().ok_or_else(|| corrupt("it is empty"))?;
    match *how {
        PLAIN => split(body),
        LZ4 => split(&decompress(body)?),
        _ => Err(corrupt("it was packed by a newer version")),
    }
}

/// The length that stands before the rest is believed only as far as the rest could become that long: no room is made for
/// what cannot come.
fn decompress(body: &[u8]) -> Result<Vec<u8>, StoreError> {
    let (length, rest) = body.split_first_chunk::<LENGTH_BYTES>().ok_or_else(|| corrupt("it is too short"))?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > rest.len().saturating_mul(LZ4_GROWTH_MAX) {
        return Err(corrupt("it says that it is longer than it can be"));
    }
    let plain = lz4_flex::block::decompress(rest, length).map_err(corrupt)?;
    if plain.len() == length { Ok(plain) } else { Err(corrupt("it is not as long as it says")) }
}

fn split(mut body: &[u8]) -> Result<Vec<Arc<[u8]>>, StoreError> {
    let mut records = Vec::new();
    while let Some((length, rest)) = body.split_first_chunk::<LENGTH_BYTES>() {
        let length = u32::from_le_bytes(*length) as usize;
        let record = rest.get(..length).ok_or_else(|| corrupt("it is too short"))?;
        records.push(record.into());
        body = &rest[length..];
    }
    if body.is_empty() { Ok(records) } else { Err(corrupt("it is too short")) }
}

fn corrupt(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::fault(crate::StoreFault::Corrupt, "read stored records", cause)
}

#[cfg(test)]
mod tests;
