//! Task payloads: what was changed after it was signed is refused.

use std::sync::LazyLock;

use holdpoint_codec::tasks::{self, DumpOptions};
use holdpoint_codec::{LoadOptions, SigningKey, Trust, Unsigned, canonical_json};
use holdpoint_core::Code;

use super::expect;
use super::sample::sample;

static KEYS: LazyLock<[SigningKey; 1]> = LazyLock::new(|| [SigningKey::new("fuzz", b"not a secret")]);
static CORPUS: LazyLock<[String; 2]> = LazyLock::new(|| {
    let run = sample().for_results;
    [Some(&KEYS[0]), None].map(|key| {
        let options = DumpOptions { key, ..DumpOptions::default() };
        tasks::dump(&run, &options).expect("the sample waits for results")
    })
});

pub(super) fn corpus() -> Vec<Vec<u8>> {
    CORPUS.iter().map(|payload| payload.as_bytes().to_vec()).collect()
}

pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let signed = LoadOptions { keys: &*KEYS, ..LoadOptions::default() };
    let unsigned = LoadOptions { unsigned: Unsigned::Accept, ..LoadOptions::default() };
    for options in [signed, unsigned] {
        match tasks::load(bytes, &options) {
            Ok(loaded) => {
                let honest = loaded.trust == Trust::Unsigned || is_original(bytes);
                expect(honest, || "accepted a payload that was changed after it was signed".to_owned())?;
            }
            Err(error) => {
                let code = error.code();
                let known = matches!(
                    code,
                    Code::InvalidContinuation | Code::UnsupportedSchemaVersion | Code::ContextValueTooLarge
                );
                expect(known, || format!("`{code}` is no code of payloads"))?;
            }
        }
    }
    Ok(())
}

/// Whether a payload says what the signed one of the corpus says, however it is written.
fn is_original(bytes: &[u8]) -> bool {
    let canonical = |text: &str| canonical_json(text).ok();
    let text = std::str::from_utf8(bytes).ok().and_then(canonical);
    text.is_some() && canonical(&CORPUS[0]) == text
}
