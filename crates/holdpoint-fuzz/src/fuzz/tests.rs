use super::{Finding, Session, Until, fuzz, search};
use crate::Target;

const SHORT: Session = Session { target: Target::Arguments, seed: 7, until: Until::Inputs(512) };

fn find(check: impl Fn(&[u8]) -> Result<(), String>) -> Result<u64, Box<Finding>> {
    search(&[br#"{"a":1}"#.to_vec()], SHORT, check)
}

#[test]
fn no_target_fails_on_what_a_short_session_draws() {
    for target in Target::ALL {
        let inputs = fuzz(Session { target, ..SHORT });
        let inputs = inputs.unwrap_or_else(|finding| panic!("{}: {finding:?}", target.name()));
        assert!(inputs >= 512);
    }
}

#[test]
fn every_target_has_good_files_and_accepts_them() {
    for target in Target::ALL {
        let corpus = target.corpus();
        assert!(corpus.len() > 1, "{} has too few files", target.name());
        for file in corpus {
            assert_eq!(target.check(&file), Ok(()), "{}", target.name());
        }
    }
}

#[test]
fn what_is_wrong_is_found_with_the_fewest_edits() {
    let wrong = |bytes: &[u8]| if bytes.ends_with(b"}") { Ok(()) } else { Err("no end".to_owned()) };
    let finding = find(wrong).unwrap_err();
    assert_eq!((&*finding.reason, finding.plan.edits.len()), ("no end", 1));
    assert!(!finding.bytes.ends_with(b"}"));
}

#[test]
fn a_panic_is_a_finding() {
    let finding = find(|bytes| if bytes.is_empty() { panic!("nothing there") } else { Ok(()) }).unwrap_err();
    assert_eq!(finding.bytes, b"");
}

#[test]
fn the_same_seed_draws_the_same_inputs() {
    let drawn = || {
        let seen = std::cell::RefCell::new(Vec::new());
        find(|bytes| {
            seen.borrow_mut().push(bytes.to_vec());
            Ok(())
        })
        .unwrap();
        seen.into_inner()
    };
    assert_eq!(drawn(), drawn());
}
