//! Continuation payloads: what was changed after it was signed is refused, and what is taken in without a signature
//! makes a run that does not panic and can be written again.

use std::sync::{Arc, LazyLock};

use holdpoint_codec::continuation::{self, DumpOptions, LoadOptions, Loaded, Traces, Trust, Unsigned};
use holdpoint_codec::{CodecError, SigningKey, canonical_json, new_run, pending};
use holdpoint_core::{Cancelled, Code, Input, Timestamp};

use super::expect;
use super::sample::sample;

static KEYS: LazyLock<[SigningKey; 1]> = LazyLock::new(|| [SigningKey::new("fuzz", b"not a secret")]);
static CORPUS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let sample = sample();
    let options = [
        DumpOptions { key: Some(&KEYS[0]), ..DumpOptions::default() },
        DumpOptions { key: Some(&KEYS[0]), traces: Traces::Include, ..DumpOptions::default() },
        DumpOptions::default(),
    ];
    let runs = [&sample.for_people, &sample.for_results, &sample.lost];
    let dumped = runs.iter().flat_map(|run| options.iter().map(|options| continuation::dump(run, options)));
    dumped.map(|payload| payload.expect("the sample is paused")).collect()
});

pub(super) fn corpus() -> Vec<Vec<u8>> {
    CORPUS.iter().map(|payload| payload.as_bytes().to_vec()).collect()
}

pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let signed = LoadOptions { keys: &*KEYS, ..LoadOptions::default() };
    match continuation::load(bytes, &signed) {
        Ok(loaded) => {
            expect(loaded.trust == Trust::Signed, || "accepted a payload that nobody signed".to_owned())?;
            expect(is_original(bytes), || "accepted a payload that was changed after it was signed".to_owned())?;
        }
        Err(error) => check_code(&error)?,
    }
    let unsigned = LoadOptions { unsigned: Unsigned::Accept, ..LoadOptions::default() };
    match continuation::load(bytes, &unsigned) {
        Ok(loaded) => check_import(loaded, &unsigned),
        Err(error) => check_code(&error),
    }
}

/// Whether a payload says what one of the corpus says, however it is written.
fn is_original(bytes: &[u8]) -> bool {
    let canonical = |text: &str| canonical_json(text).ok();
    let text = std::str::from_utf8(bytes).ok().and_then(canonical);
    text.is_some() && CORPUS.iter().any(|payload| canonical(payload) == text)
}

fn check_code(error: &CodecError) -> Result<(), String> {
    let code = error.code();
    let known = matches!(code, Code::InvalidContinuation | Code::UnsupportedSchemaVersion | Code::ContextValueTooLarge);
    expect(known, || format!("`{code}` is no code of payloads"))
}

fn check_import(loaded: Loaded, options: &LoadOptions<'_>) -> Result<(), String> {
    let now = Timestamp(1_800_000_000_000_000);
    let mut run = new_run(loaded.run_id);
    if let Err(rejection) = run.step(Input::Imported(Arc::new(loaded.snapshot)), now) {
        // A payload of the right shape whose parts do not fit each other.
        let code = rejection.code();
        return expect(code == Code::InvalidContinuation, || format!("`{code}` is no code of imports"));
    }
    expect(run.continuation() == Some(loaded.continuation_id), || "the run waits for another resume".to_owned())?;
    let again = || DumpOptions { extra: Some(&loaded.extra), ..DumpOptions::default() };
    let written = continuation::dump(&run, &again()).map_err(|error| format!("cannot be written again: {error}"))?;
    let read = continuation::load(&written, options).map_err(|error| format!("cannot be read again: {error}"))?;
    expect(read.run_id == *run.id(), || "another run was read".to_owned())?;
    pending(&run);
    run.owed();
    run.records();
    for input in [
        Input::Recovered(holdpoint_core::Recovered::default()),
        Input::Elapsed,
        Input::Retried(holdpoint_core::Retried::default()),
        Input::Cancelled(Cancelled::default()),
    ] {
        // Some of these fit the state and some do not; none may panic.
        let _ = run.step(input, now);
    }
    Ok(())
}
