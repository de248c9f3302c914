use serde_json::{Value, json};

use super::*;

const GOLDEN: &str = include_str!("../../tests/golden/v1/continuation/people.json");

/// A payload of a version before the first, signed as it was.
fn old(key: &SigningKey) -> String {
    let mut payload: Value = serde_json::from_str(GOLDEN).unwrap();
    let members = payload.as_object_mut().unwrap();
    members.remove("signature");
    members.insert("schema_version".into(), json!(0));
    let reason = members.remove("reason").unwrap();
    members.insert("waits_for".into(), reason);
    sign(crate::canonical_value(&payload), Document::Continuation, key)
}

fn migrate(mut payload: Value) -> Option<Value> {
    let members = payload.as_object_mut()?;
    let reason = members.remove("waits_for")?;
    members.insert("reason".into(), reason);
    members.insert("schema_version".into(), json!(1));
    Some(payload)
}

#[test]
fn the_signature_of_an_older_version_is_checked_as_it_came() {
    let keys = [SigningKey::new("k", "secret")];
    let options = LoadOptions { keys: &keys, migrate: Some(&migrate), ..LoadOptions::default() };
    let loaded = load(old(&keys[0]), &options).unwrap();
    assert_eq!((loaded.trust, loaded.run_id.as_str()), (Trust::Signed, "run-1"));
    let changed = old(&keys[0]).replace("earlier", "later");
    assert!(matches!(load(changed, &options), Err(CodecError::Signature { .. })));
    // The current version passes by the migration.
    let options = LoadOptions { unsigned: Unsigned::Accept, keys: &[], ..options };
    assert!(load(GOLDEN, &options).is_ok());
}
