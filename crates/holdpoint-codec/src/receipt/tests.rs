use holdpoint_core::{Arguments, CallId, CallIndex, CallKey, Digest, RunId, Timestamp, ToolName, Turn};

use super::*;

const SEED: [u8; 32] = [7; 32];

fn key(id: &str) -> ReceiptKey {
    ReceiptKey::new(id, &SEED).unwrap()
}

/// A call that is about to run.
struct About {
    key: CallKey,
    id: CallId,
    tool: ToolName,
    arguments: Arguments,
    at: Timestamp,
}

impl About {
    fn new() -> Self {
        let text = r#"{"amount":5}"#;
        Self {
            key: CallKey { run: RunId::new("run-1"), turn: Turn(2), index: CallIndex(3) },
            id: CallId::new("tc_4"),
            tool: ToolName::new("pay"),
            arguments: Arguments::from_canonical(text, digest_of("pay", text)),
            at: Timestamp(1_700_000_000_000_000),
        }
    }

    fn claim(&self) -> ReceiptClaim<'_> {
        let Self { key, id, tool, arguments, at } = self;
        ReceiptClaim { key, id, tool, arguments, at: *at }
    }

    fn receipt(&self) -> Receipt {
        Receipt {
            call: self.key.clone(),
            id: self.id.clone(),
            tool: self.tool.clone(),
            digest: self.arguments.digest(),
            policy_version: Some("2024-05".into()),
            approved_by: vec![Some("ana".into()), None],
            granted_at: self.at,
            expires_at: Some(self.at.plus_ms(1_000)),
        }
    }
}

fn refused(receipt: &Receipt, about: &About) -> ReceiptProblem {
    let keys = ReceiptKeys::from(key("k1").public());
    keys.verify(Some(&receipt.sign(&key("k1"))), &about.claim()).unwrap_err()
}

#[test]
fn a_receipt_is_read_as_it_was_signed() {
    let about = About::new();
    let keys = ReceiptKeys::from(key("k1").public());
    let plain = Receipt { policy_version: None, approved_by: Vec::new(), expires_at: None, ..about.receipt() };
    for receipt in [about.receipt(), plain] {
        let token = receipt.sign(&key("k1"));
        assert_eq!(keys.verify(Some(&token), &about.claim()), Ok(receipt));
    }
}

#[test]
fn a_receipt_is_for_one_run_one_call_one_tool_and_one_set_of_arguments() {
    let about = About::new();
    let receipt = about.receipt();
    let other_run = CallKey { run: RunId::new("run-2"), ..about.key.clone() };
    let other_turn = CallKey { turn: Turn(3), ..about.key.clone() };
    let other_index = CallKey { index: CallIndex(0), ..about.key.clone() };
    assert_eq!(refused(&Receipt { call: other_run, ..receipt.clone() }, &about), ReceiptProblem::OtherRun);
    for key in [other_turn, other_index] {
        assert_eq!(refused(&Receipt { call: key, ..receipt.clone() }, &about), ReceiptProblem::OtherCall);
    }
    assert_eq!(refused(&Receipt { id: "tc_5".into(), ..receipt.clone() }, &about), ReceiptProblem::OtherCall);
    assert_eq!(refused(&Receipt { tool: "pay_all".into(), ..receipt.clone() }, &about), ReceiptProblem::OtherTool);
    let digest = Digest([0; 32]);
    assert_eq!(refused(&Receipt { digest, ..receipt.clone() }, &about), ReceiptProblem::OtherArguments);
}

#[test]
fn arguments_that_claim_the_digest_of_others_are_refused() {
    let approved = About::new();
    let digest = approved.arguments.digest();
    let changed = About { arguments: Arguments::from_canonical(r#"{"amount":500}"#, digest), ..About::new() };
    assert_eq!(refused(&approved.receipt(), &changed), ReceiptProblem::OtherArguments);
    let mislabelled = Arguments::from_canonical(approved.arguments.expose(), Digest([1; 32]));
    let mislabelled = About { arguments: mislabelled, ..About::new() };
    assert_eq!(refused(&approved.receipt(), &mislabelled), ReceiptProblem::OtherArguments);
}

#[test]
fn a_receipt_proves_nothing_from_its_expiry_on() {
    let receipt = About::new().receipt();
    let at = |ms| About { at: About::new().at.plus_ms(ms), ..About::new() };
    let keys = ReceiptKeys::from(key("k1").public());
    assert!(keys.verify(Some(&receipt.sign(&key("k1"))), &at(999).claim()).is_ok());
    assert_eq!(refused(&receipt, &at(1_000)), ReceiptProblem::Expired);
}

#[test]
fn only_known_keys_are_believed_and_a_rotation_ends() {
    let about = About::new();
    let (old, new) = (key("2024"), ReceiptKey::generate("2025").unwrap());
    let by_old = about.receipt().sign(&old);
    let by_new = about.receipt().sign(&new);
    let both = ReceiptKeys::from(old.public()).with(new.public());
    assert!(both.open(&by_old).is_ok() && both.open(&by_new).is_ok());
    let after = both.without("2024");
    assert_eq!(after.open(&by_old), Err(ReceiptProblem::UnknownKey));
    assert!(after.open(&by_new).is_ok());
    // A key that only has the same name is another key.
    let namesake = ReceiptKeys::from(ReceiptKey::generate("2024").unwrap().public());
    assert_eq!(namesake.open(&by_old), Err(ReceiptProblem::BadSignature));
    assert_eq!(ReceiptKeys::new().open(&by_old), Err(ReceiptProblem::UnknownKey));
}

#[test]
fn what_is_no_receipt_is_said_to_be_none() {
    let keys = ReceiptKeys::from(key("k1").public());
    let token = About::new().receipt().sign(&key("k1"));
    assert_eq!(keys.verify(None, &About::new().claim()), Err(ReceiptProblem::Missing));
    for text in ["", "v1", "v1.k1", "v1.k1.", "....", &format!("{token}.x"), &format!("x.{token}")] {
        assert_eq!(keys.open(text), Err(ReceiptProblem::Malformed), "{text}");
    }
    assert_eq!(keys.open("v1.k1.e30.!"), Err(ReceiptProblem::Malformed));
    assert_eq!(keys.open("v1.k1.e30.AAAA"), Err(ReceiptProblem::BadSignature));
    assert_eq!(keys.open(&token.replacen("v1", "v2", 1)), Err(ReceiptProblem::UnsupportedVersion));
    assert_eq!(keys.open(&"v".repeat(RECEIPT_BYTES_MAX + 1)), Err(ReceiptProblem::TooLarge));
}

#[test]
fn what_a_key_signed_for_something_else_is_no_receipt() {
    let keys = ReceiptKeys::from(key("k1").public());
    let forged = |payload: &str, domain: &str| {
        let body = format!("v1.k1.{}", URL_SAFE_NO_PAD.encode(payload));
        let signature = key("k1").sign(format!("{domain}{body}").as_bytes());
        format!("{body}.{}", URL_SAFE_NO_PAD.encode(signature))
    };
    let payload = serde_json::to_string(&About::new().receipt()).unwrap();
    assert!(keys.open(&forged(&payload, DOMAIN)).is_ok());
    assert_eq!(keys.open(&forged(&payload, "")), Err(ReceiptProblem::BadSignature));
    assert_eq!(keys.open(&forged(&payload, "holdpoint.seal\0")), Err(ReceiptProblem::BadSignature));
    // Signed as a receipt, and none: fields that are missing, are not known, are there twice, or are not of their form.
    let wrong = [
        payload.replace("\"index\":3,", ""),
        payload.replace("\"turn\":2", "\"turn\":2,\"turn\":2"),
        payload.replace("\"id\":\"tc_4\",", ""),
        payload.replace("{\"approved_by\"", "{\"any\":1,\"approved_by\""),
        payload.replace("\"id\":\"tc_4\",", "\"id\":\"tc_4\",\"id\":\"tc_4\","),
        "{}".to_owned(),
    ];
    for payload in wrong {
        assert_eq!(keys.open(&forged(&payload, DOMAIN)), Err(ReceiptProblem::Malformed), "{payload}");
    }
}

#[test]
fn keys_are_printed_and_read_back() {
    let keys = ReceiptKeys::from(key("a").public()).with(ReceiptKey::generate("b").unwrap().public());
    assert_eq!(ReceiptKeys::from_json(&keys.to_json().to_string()), Ok(keys.clone()));
    let ids: Vec<&str> = keys.iter().map(|key| key.id().as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    let text = keys.key("a").unwrap().to_text();
    assert_eq!(PublicReceiptKey::new("a", &text), Ok(key("a").public()));
    let kept = ReceiptKey::new("a", key("a").expose_seed()).unwrap();
    assert_eq!(kept.public(), key("a").public());
}

#[test]
fn what_is_no_key_is_refused() {
    let long = "k".repeat(65);
    for id in ["", " ", "a.b", "ä", "a b", "a\n", &long] {
        assert_eq!(ReceiptKey::new(id, &SEED).unwrap_err(), ReceiptKeyError::InvalidId, "{id}");
    }
    let good = key("a").public().to_text();
    // The last two are points that everybody can sign for, and no point at all.
    let weak = URL_SAFE_NO_PAD.encode([0; 32]);
    let no_point = URL_SAFE_NO_PAD.encode([2; 32]);
    for text in ["", "!", &good[1..], &format!("{good}="), &weak, &no_point] {
        assert_eq!(PublicReceiptKey::new("a", text), Err(ReceiptKeyError::InvalidPublicKey), "{text}");
    }
    for text in ["", "[]", "{}", r#"{"keys": {}}"#, r#"{"keys": [{"id": "a"}]}"#] {
        assert_eq!(ReceiptKeys::from_json(text), Err(ReceiptKeyError::InvalidSet), "{text}");
    }
    let twice = format!(r#"{{"keys": [{{"id":"a","public_key":"{good}"}},{{"id":"a","public_key":"{good}"}}]}}"#);
    assert_eq!(ReceiptKeys::from_json(&twice), Err(ReceiptKeyError::RepeatedId));
    let padded = format!("{}{twice}", " ".repeat(64 * 1024));
    assert_eq!(ReceiptKeys::from_json(&padded), Err(ReceiptKeyError::InvalidSet));
    let later = format!(r#"{{"keys": [{{"id":"a","public_key":"{good}","algorithm":"ed25519"}}]}}"#);
    assert_eq!(ReceiptKeys::from_json(&later), Ok(key("a").public().into()));
}

#[test]
fn generated_keys_differ() {
    let [one, other] = [(); 2].map(|()| ReceiptKey::generate("k").unwrap());
    assert_ne!(one.expose_seed(), other.expose_seed());
}

#[test]
fn debug_shows_no_secret_and_nothing_of_people() {
    let shown = format!("{:?} {:?}", key("k1"), About::new().receipt());
    assert_eq!(shown, "ReceiptKey(k1) Receipt(run-1.b2.c3 pay)");
}
