//! The rules that the guide shows are rules.

use holdpoint_config::Document;
use holdpoint_core::Decision;
use holdpoint_policy::{Condition, Mode, Policy, Rules, RulesFile};

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/samples/policy.toml");
const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/policies.md");

#[test]
fn the_guides_policy_loads_without_warnings_and_decides() {
    let rules = Rules::load(POLICY).unwrap();
    assert_eq!(rules.warnings(), []);
    assert!(rules.needs_history());
    assert!(rules.check_context_keys([""; 0]).is_ok(), "it reads nothing but who asks");
    assert!(matches!(rules.decide("refund", r#"{"amount":250}"#).unwrap(), Decision::Confirm(..)));
    assert!(matches!(rules.decide("read_page", "{}").unwrap(), Decision::Allow(_)));
    assert!(matches!(rules.decide("read_file", r#"{"path":"/srv/vault/a"}"#).unwrap(), Decision::Deny(_)));
    assert!(matches!(rules.decide("admin_reset", "{}").unwrap(), Decision::Deny(_)));
    assert!(rules.hides("admin_reset"));
    assert_eq!(RulesFile::load(POLICY).unwrap().mode(), Mode::Enforce);
}

/// The rows of the table of operators: operator, a sample, a value that meets it, one that does not.
fn rows(guide: &str) -> Vec<[&str; 4]> {
    let rows = guide.lines().skip_while(|line| !line.starts_with("| operator |")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let mut cells = line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`'));
            let (operator, sample) = (cells.next().unwrap(), cells.next().unwrap());
            let (_, meets, misses) = (cells.next().unwrap(), cells.next().unwrap(), cells.next().unwrap());
            [operator, sample, meets, misses]
        })
        .collect()
}

#[test]
fn the_guides_table_of_operators_is_complete_and_true() {
    let guide = std::fs::read_to_string(GUIDE).unwrap();
    let rows = rows(&guide);
    for [operator, sample, meets, misses] in &rows {
        let text = format!("[[rule]]\ntool = \"t\"\nwhen = {{ \"/x\" = {sample} }}\ndecide = \"allow\"");
        let rules = Rules::parse(&text, "guide").unwrap_or_else(|error| panic!("{sample}: {error}"));
        assert!(sample.contains(&format!("{operator} =")), "{operator}");
        let allows = |value: &str| {
            let arguments = if value == "nothing" { "{}".to_owned() } else { format!("{{\"x\":{value}}}") };
            matches!(rules.decide("t", &arguments).unwrap(), Decision::Allow(_))
        };
        assert!(allows(meets), "{sample} and {meets}");
        assert!(!allows(misses), "{sample} and {misses}");
    }
    let mut listed: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    listed.sort_unstable();
    let document = Document::toml("zzzzzzzzzzzzzzzz = 1", "condition.toml").unwrap();
    let unknown = document.read::<Condition>().unwrap_err().to_string();
    let (_, known) = unknown.split_once("known are `").expect("the error lists what is known");
    let known = known
        .split('`')
        .step_by(2)
        .take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
    let mut known: Vec<&str> = known.filter(|word| !word.is_empty()).collect();
    known.sort_unstable();
    assert_eq!(listed, known);
}
