//! Results that are delivered from outside: a result that can be written again, or `invalid_result`.

use holdpoint_codec::{CodecError, result_from_short, result_from_text, result_to_text};
use holdpoint_core::{Code, ToolResult};

use super::expect;
use super::sample::rich_result;

pub(super) fn corpus() -> Vec<Vec<u8>> {
    let whole = [rich_result(), ToolResult::error("no"), ToolResult::halt("enough")];
    let short = [r#"{"text":"done"}"#, r#"{"json":{"a":[1,2.5,null]}}"#, r#"{"error":"the bank is closed"}"#];
    let whole = whole.iter().map(result_to_text);
    whole.chain(short.map(str::to_owned)).map(String::into_bytes).collect()
}

pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    check_read(result_from_text(&text))?;
    match serde_json::from_str(&text) {
        Ok(value) => check_read(result_from_short(&value)),
        Err(_) => Ok(()),
    }
}

fn check_read(read: Result<ToolResult, CodecError>) -> Result<(), String> {
    match read {
        Ok(result) => {
            let again =
                result_from_text(&result_to_text(&result)).map_err(|error| format!("cannot be read again: {error}"))?;
            let same = again.same_as(&result) && again.metadata == result.metadata;
            expect(same, || "what was written is not read as it was".to_owned())
        }
        Err(error) => {
            let code = error.code();
            let known = matches!(code, Code::InvalidResult | Code::UnsupportedSchemaVersion);
            expect(known, || format!("`{code}` is no code of results"))
        }
    }
}
