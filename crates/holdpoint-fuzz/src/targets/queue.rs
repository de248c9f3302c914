//! What the queue and the audit log keep: tasks, deliveries and audit documents read back or are refused, whichever of
//! them a file is taken for.

use holdpoint_codec::tasks::{decode_delivery, decode_task, encode_delivery, encode_task};
use holdpoint_codec::{CodecError, audit};
use holdpoint_core::{Call, Code, Timestamp};

use super::expect;
use super::sample::sample;

pub(super) fn corpus() -> Vec<Vec<u8>> {
    let sample = sample();
    let out = &sample.for_results;
    let tasks = out.deferred().filter_map(|(index, _)| encode_task(out, index, None));
    let deliveries = out.calls().iter().filter_map(Call::settlement).map(encode_delivery);
    let steps = sample.log.chunks(5).filter_map(|events| audit::encode(out, events, Timestamp(1_700_000_000_000_000)));
    tasks.chain(deliveries).chain(steps).collect()
}

pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    match decode_delivery(bytes) {
        Ok(settlement) => {
            let written = encode_delivery(&settlement);
            let again = decode_delivery(&written).map_err(|error| format!("cannot read what it wrote: {error}"))?;
            expect(encode_delivery(&again) == written, || "what was written is not read as it was".to_owned())?;
        }
        Err(error) => check_code(&error)?,
    }
    if let Err(error) = decode_task(bytes) {
        check_code(&error)?;
    }
    match audit::decode(bytes) {
        Ok(audit) => expect(!audit.entries.is_empty(), || "a document that says nothing".to_owned()),
        Err(error) => check_code(&error),
    }
}

fn check_code(error: &CodecError) -> Result<(), String> {
    let code = error.code();
    let known = matches!(code, Code::StoreFailed | Code::UnsupportedSchemaVersion);
    expect(known, || format!("`{code}` is no code of what is stored"))
}
