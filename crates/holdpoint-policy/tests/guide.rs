//! The rules that the guide shows are rules.

use holdpoint_core::Decision;
use holdpoint_policy::Rules;

#[test]
fn the_guides_policy_loads_and_decides() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/samples/policy.toml");
    let rules = Rules::load(path).unwrap();
    assert!(matches!(rules.decide("refund", r#"{"amount":250}"#).unwrap(), Decision::Confirm(..)));
    assert!(matches!(rules.decide("refund", r#"{"amount":25}"#).unwrap(), Decision::Allow(_)));
    assert!(matches!(rules.decide("admin_reset", "{}").unwrap(), Decision::Deny(_)));
    assert!(rules.hides("admin_reset"));
}
