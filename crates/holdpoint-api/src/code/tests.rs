use std::collections::BTreeSet;

use holdpoint_core::Code;

use super::{ApiCode, ProblemCode};

fn all() -> Vec<ProblemCode> {
    let run = Code::ALL.iter().map(|code| ProblemCode::Run(*code));
    run.chain(ApiCode::ALL.iter().map(|code| ProblemCode::Api(*code))).collect()
}

#[test]
fn no_two_codes_have_one_name() {
    let names: BTreeSet<&str> = all().into_iter().map(ProblemCode::as_str).collect();
    assert_eq!(names.len(), all().len());
}

#[test]
fn every_code_is_an_error() {
    for code in all() {
        assert!((400..600).contains(&code.status()), "{code}: {}", code.status());
        assert!(!code.title().is_empty(), "{code}");
    }
}

#[test]
fn the_codes_that_clients_branch_on_have_their_promised_status() {
    let promised = [
        ("not_an_approver", 403),
        ("continuation_not_found", 404),
        ("stale_continuation", 409),
        ("wrong_pause", 409),
        ("conflicting_result", 409),
        ("conflicting_decision", 409),
        ("lease_lost", 409),
        ("not_retryable", 409),
        ("run_paused", 409),
        ("run_busy", 409),
        ("run_cancelled", 410),
        ("missing_decision", 422),
        ("unknown_tool_call", 422),
        ("digest_mismatch", 422),
        ("invalid_request", 400),
        ("unauthenticated", 401),
        ("body_too_large", 413),
        ("too_many_requests", 429),
        ("store_unavailable", 503),
    ];
    for (name, status) in promised {
        let code = all().into_iter().find(|code| code.as_str() == name);
        assert_eq!(code.map(ProblemCode::status), Some(status), "{name}");
    }
}
