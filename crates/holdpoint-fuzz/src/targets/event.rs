//! Stored events: what the store gives back is an event that is written as it was read, or an error.

use holdpoint_codec::{decode_event, encode_event};
use holdpoint_core::Code;

use super::expect;
use super::sample::sample;

pub(super) fn corpus() -> Vec<Vec<u8>> {
    sample().log.iter().map(encode_event).collect()
}

pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    match decode_event(bytes) {
        Ok(event) => {
            let written = encode_event(&event);
            let again = decode_event(&written).map_err(|error| format!("cannot read what it wrote: {error}"))?;
            expect(encode_event(&again) == written, || "what was written is not read as it was".to_owned())
        }
        Err(error) => {
            let code = error.code();
            let known = matches!(code, Code::StoreFailed | Code::UnsupportedSchemaVersion);
            expect(known, || format!("`{code}` is no code of stored events"))
        }
    }
}
