//! What people said about calls that are yet to come, as the store keeps it and as it is asked for: it reads back or is
//! refused.

use holdpoint_codec::view::GrantView;
use holdpoint_codec::{RememberRequest, decode_grant, encode_grant};
use holdpoint_core::{Code, Event, Timestamp};

use super::expect;
use super::sample::sample;

pub(super) fn corpus() -> Vec<Vec<u8>> {
    let log = sample().log;
    let given = log.iter().filter_map(|entry| match &entry.event {
        Event::GrantGiven { grant, .. } => Some(encode_grant(grant)),
        _ => None,
    });
    let asked = [
        r#"{"arguments":"any","scope":"session","expires_in":"12h"}"#,
        r#"{"scope":"tenant","until":"2026-01-02T03:04:05Z"}"#,
        r#"{"arguments":"these","expires_in_ms":60000}"#,
    ];
    given.chain(asked.map(|text| text.as_bytes().to_vec())).collect()
}

pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    if let Ok(value) = serde_json::from_slice(bytes)
        && let Some(request) = RememberRequest::from_json(&value)
    {
        let now = Timestamp(1_700_000_000_000_000);
        expect(request.said_at(now) == request.said_at(now), || "the same is said in two ways".to_owned())?;
    }
    match decode_grant(bytes) {
        Ok(grant) => {
            let written = encode_grant(&grant);
            let again = decode_grant(&written).map_err(|error| format!("cannot read what it wrote: {error}"))?;
            expect(again == grant, || "what was written is not read as it was".to_owned())?;
            expect(GrantView::of(&grant).id == grant.id.as_str(), || "it cannot be shown".to_owned())
        }
        Err(error) => {
            let code = error.code();
            let known = matches!(code, Code::StoreFailed | Code::UnsupportedSchemaVersion);
            expect(known, || format!("`{code}` is no code of stored grants"))
        }
    }
}
