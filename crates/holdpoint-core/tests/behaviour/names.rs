//! Words that other people's programs read: names, codes, sentences.

use std::collections::HashSet;

use holdpoint_core::{
    CallId, Code, ContinuationId, Failure, ModelStop, Outcome, PauseNumber, PauseReason, Rejection, Repeat, RunId,
    Source, Status, StopReason,
};

fn all_differ<'a>(names: impl IntoIterator<Item = &'a str>) {
    let mut seen = HashSet::new();
    for name in names {
        assert!(seen.insert(name.to_owned()), "{name} twice");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
    }
}

#[test]
fn names_differ_and_are_in_one_style() {
    all_differ(Code::ALL.iter().map(|code| code.as_str()));
    all_differ(Outcome::ALL.iter().map(|outcome| outcome.as_str()));
    all_differ(Source::ALL.iter().map(|source| source.as_str()));
    all_differ(Repeat::ALL.iter().map(|repeat| repeat.as_str()));
    all_differ(Failure::ALL.iter().map(|failure| failure.as_str()));
    all_differ(Status::ALL.iter().map(|status| status.as_str()));
}

#[test]
fn codes_are_read_back() {
    for code in Code::ALL {
        assert_eq!(Code::parse(code.as_str()), Some(code));
    }
    assert_eq!(Code::parse("no_such_code"), None);
}

#[test]
fn the_models_reasons_are_read_back() {
    for word in ["end_turn", "tool_use", "max_tokens", "stop_sequence", "content_filter", "something_new"] {
        assert_eq!(ModelStop::parse(word).as_str(), word);
    }
}

#[test]
fn a_pause_is_named_like_the_reason_to_stop_that_it_is() {
    for reason in [PauseReason::AwaitingToolConfirmation, PauseReason::AwaitingToolResults] {
        assert_eq!(reason.stop_reason().as_str(), reason.as_str());
    }
    assert_eq!(StopReason::Failed(Failure::HookFailed).to_string(), "hook_failed");
}

#[test]
fn sentences_are_for_people() {
    let call = || CallId::new("tc_3");
    let id = ContinuationId { run: RunId::new("r"), pause: PauseNumber(2) };
    let (people, results) = (PauseReason::AwaitingToolConfirmation, PauseReason::AwaitingToolResults);
    let rejections = [
        Rejection::WrongPause { waits_for: people, brought: results },
        Rejection::StaleContinuation { current: Some(id) },
        Rejection::StaleContinuation { current: None },
        Rejection::ContinuationNotFound,
        Rejection::RunCancelled,
        Rejection::Call { call: call(), code: Code::DigestMismatch },
        Rejection::Missing { calls: vec![call()], code: Code::MissingResult },
        Rejection::NotRetryable,
        Rejection::LeaseLost,
        Rejection::Stopping,
        Rejection::RunExists,
        Rejection::InvalidSnapshot { field: "turn" },
        Rejection::BatchNeedsPartial,
        Rejection::NotExpected { input: "began" },
    ];
    for rejection in &rejections {
        let sentence = rejection.to_string();
        assert!(!sentence.ends_with('.'), "{sentence}");
        assert!(sentence.starts_with(|letter: char| letter.is_lowercase() || letter == '`'), "{sentence}");
    }
    assert_eq!(rejections[0].to_string(), "the run is `awaiting_tool_confirmation`, not `awaiting_tool_results`");
    assert_eq!(rejections[1].to_string(), "this continuation was used; `r.p2` followed");
    assert_eq!(rejections[5].to_string(), "call `tc_3`: what was shown is not what would run");
    assert_eq!(rejections[6].to_string(), "a result is missing for `tc_3`");
}

#[test]
fn every_code_of_a_decision_or_a_result_has_its_own_sentence() {
    let codes = [
        Code::UnknownToolCall,
        Code::InvalidDecision,
        Code::ConflictingDecision,
        Code::NotAnApprover,
        Code::DigestMismatch,
        Code::UnexpectedResult,
        Code::InvalidResult,
        Code::ConflictingResult,
    ];
    let sentences: HashSet<String> =
        codes.map(|code| Rejection::Call { call: "a".into(), code }.to_string()).into_iter().collect();
    assert_eq!(sentences.len(), codes.len());
    assert!(sentences.iter().all(|sentence| !sentence.contains('_')), "{sentences:?}");
}
