//! Arguments of a call: whatever a model writes is a canonical object or a code that the model can act on.

use holdpoint_codec::{arguments_for, arguments_summary, canonical_json, parse_arguments};
use holdpoint_core::Code;

use super::expect;

pub(super) fn corpus() -> Vec<Vec<u8>> {
    let samples = [
        "",
        "null",
        "{}",
        r#"{"order":"42","amount":12.50,"lines":[{"sku":"a","count":2},{"sku":"b","count":0}],"note":null}"#,
        r#"{"id":9007199254740993,"big":123456789012345678901234567890,"small":1e-7,"huge":1.7976931348623157e308}"#,
        "```json\n{\"path\": \"a/b.txt\", \"text\": \"line\\nline\"}\n```",
        r#""{\"city\":\"Z\u00fcrich\",\"emoji\":\"\ud83d\ude00\"}""#,
        r#"{"é":1,"e\u0301":2,"\u0000":3,"":4,"z":{"y":{"x":[[],[[]],{}]}}}"#,
    ];
    samples.iter().map(|sample| sample.as_bytes().to_vec()).collect()
}

pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    match parse_arguments(Some(&text)) {
        Ok(canonical) => {
            let text = canonical.expose();
            expect(text.starts_with('{'), || "accepted something else than an object".to_owned())?;
            expect(canonical_json(text).as_deref() == Ok(text), || "the canonical form is not canonical".to_owned())?;
            expect(parse_arguments(Some(text)).as_ref() == Ok(&canonical), || {
                "reads its own form otherwise".to_owned()
            })?;
            expect(serde_json::from_str::<serde_json::Value>(text).is_ok(), || {
                "the canonical form is no JSON".to_owned()
            })?;
            let arguments = arguments_for("tool", &canonical);
            let other = arguments_for("other", &canonical);
            expect(arguments.digest() != other.digest(), || "the digest does not cover the name".to_owned())?;
            arguments_summary(&arguments);
            Ok(())
        }
        Err(problem) => {
            let code = problem.code();
            let known = matches!(code, Code::InvalidArguments | Code::ArgumentsTooLarge);
            expect(known, || format!("`{code}` is no code of arguments"))
        }
    }
}
