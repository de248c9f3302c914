//! Receipts: what version 1 looks like, and that nothing of one can be changed.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::support;

use std::path::PathBuf;
use std::sync::Arc;

use holdpoint_codec::receipt::{Receipt, ReceiptClaim, ReceiptKey, ReceiptKeys, ReceiptMaker, ReceiptProblem};
use holdpoint_codec::tasks::{DumpOptions, decode_task, dump, encode_task, load};
use holdpoint_codec::{LoadOptions, Unsigned, arguments_for, continuation, imported_run, parse_arguments};
use holdpoint_core::{CallId, CallIndex, CallKey, Digest, Run, RunId, Timestamp, ToolName, Turn};
use proptest::prelude::*;
use support::story;
use support::workers::worker_story;

const NOW: Timestamp = Timestamp(1_700_000_000_000_000);

fn key() -> ReceiptKey {
    ReceiptKey::new("golden-1", b"thirty-two bytes everybody knows").unwrap()
}

fn keys() -> ReceiptKeys {
    key().public().into()
}

fn digest() -> Digest {
    arguments_for("mail_send", &parse_arguments(Some(r#"{"to":"bo"}"#)).unwrap()).digest()
}

fn full() -> Receipt {
    Receipt {
        call: CallKey { run: RunId::new("run-1"), turn: Turn(2), index: CallIndex(0) },
        id: CallId::new("tc_1"),
        tool: ToolName::new("mail_send"),
        digest: digest(),
        policy_version: Some("sha256:ab".into()),
        approved_by: vec![Some("ana".into()), Some("bo".into()), None],
        granted_at: NOW,
        expires_at: Some(NOW.plus_ms(3_600_000)),
    }
}

fn plain() -> Receipt {
    Receipt { policy_version: None, approved_by: Vec::new(), expires_at: None, ..full() }
}

/// Compares with a golden file, which `UPDATE_GOLDEN=1` writes.
fn check(name: &str, text: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1/receipts").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, format!("{text}\n")).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim_end(), text, "{name} is not what it was");
}

#[test]
fn golden_tokens_and_keys() {
    for (name, receipt) in [("approved.txt", full()), ("allowed.txt", plain())] {
        let token = receipt.sign(&key());
        check(name, &token);
        assert_eq!(keys().open(&token).unwrap(), receipt, "{name}");
    }
    let text = keys().to_json().to_string();
    check("keys.json", &text);
    assert_eq!(ReceiptKeys::from_json(&text).unwrap(), keys());
}

/// The run with its calls handed out, and what makes their receipts.
fn out() -> Run {
    worker_story().out
}

fn maker(key: &ReceiptKey) -> ReceiptMaker<'_> {
    ReceiptMaker { key, at: NOW }
}

#[test]
fn every_call_that_is_handed_out_has_a_receipt_and_no_other() {
    let (key, run) = (key(), out());
    let mut handed_out = 0;
    for (place, call) in run.calls().iter().enumerate() {
        let index = CallIndex::from_usize(place);
        let Some(stored) = encode_task(&run, index, Some(maker(&key))) else {
            assert_eq!(maker(&key).token(&run, index), None);
            continue;
        };
        let stored = decode_task(&stored).unwrap();
        let of = CallKey { run: run.id().clone(), turn: run.turn(), index };
        let claim = ReceiptClaim {
            key: &of,
            id: &call.id,
            tool: &stored.task.executed_name,
            arguments: &stored.task.arguments,
            at: NOW,
        };
        let receipt = keys().verify(stored.task.receipt.as_deref(), &claim).unwrap();
        assert_eq!((&receipt.call, receipt.granted_at), (&of, NOW));
        assert_eq!(receipt.expires_at, call.deadline());
        handed_out += 1;
    }
    assert!(handed_out > 0);
    let without = decode_task(&encode_task(&run, CallIndex(0), None).unwrap()).unwrap();
    assert_eq!(without.task.receipt, None);
}

#[test]
fn a_receipt_names_those_who_approved_also_after_an_import() {
    let run = story().for_results;
    let payload = continuation::dump(&run, &continuation::DumpOptions::default()).unwrap();
    let options = LoadOptions { unsigned: Unsigned::Accept, ..LoadOptions::default() };
    let loaded = continuation::load(&payload, &options).unwrap();
    let imported = imported_run(run.id().clone(), Arc::new(loaded.snapshot));
    let (index, _) = run.deferred().next().unwrap();
    let receipt = Receipt::of(&run, index, NOW).unwrap();
    assert!(!receipt.approved_by.is_empty(), "people approved it in this story");
    assert_eq!(Receipt::of(&imported, index, NOW).unwrap(), receipt);
}

#[test]
fn a_task_payload_has_the_receipts() {
    let (key, run) = (key(), story().for_results);
    let options = DumpOptions { receipts: Some(maker(&key)), ..DumpOptions::default() };
    let options_in = LoadOptions { unsigned: Unsigned::Accept, ..LoadOptions::default() };
    let loaded = load(dump(&run, &options).unwrap(), &options_in).unwrap();
    for task in &loaded.tasks {
        let receipt = keys().open(task.receipt.as_deref().unwrap()).unwrap();
        assert_eq!(receipt, Receipt::of(&run, task.index, NOW).unwrap());
    }
    assert!(!loaded.tasks.is_empty());
}

fn text() -> impl Strategy<Value = Arc<str>> {
    ".{0,20}".prop_map(Arc::from)
}

fn receipts() -> impl Strategy<Value = Receipt> {
    let call = (text(), any::<u32>(), any::<u32>(), text(), text());
    let rest = (any::<[u8; 32]>(), prop::option::of(text()), prop::collection::vec(prop::option::of(text()), 0..4));
    (call, rest, any::<i64>(), prop::option::of(any::<i64>())).prop_map(|(call, rest, granted_at, expires_at)| {
        let (run, turn, index, id, tool) = call;
        let (digest, policy_version, approved_by) = rest;
        Receipt {
            call: CallKey { run: RunId::new(run), turn: Turn(turn), index: CallIndex(index) },
            id: CallId::new(id),
            tool: ToolName::new(tool),
            digest: Digest(digest),
            policy_version,
            approved_by,
            granted_at: Timestamp(granted_at),
            expires_at: expires_at.map(Timestamp),
        }
    })
}

proptest! {
    #[test]
    fn any_receipt_is_read_as_it_was_signed(receipt in receipts()) {
        prop_assert_eq!(keys().open(&receipt.sign(&key())).unwrap(), receipt);
    }

    #[test]
    fn any_changed_byte_is_refused(receipt in receipts(), place in any::<prop::sample::Index>(), byte in 0_u8..128) {
        let token = receipt.sign(&key());
        let mut bytes = token.as_bytes().to_vec();
        let place = place.index(bytes.len());
        prop_assume!(bytes[place] != byte);
        bytes[place] = byte;
        prop_assert!(keys().open(std::str::from_utf8(&bytes).unwrap()).is_err());
    }

    #[test]
    fn bytes_more_or_less_are_refused(
        receipt in receipts(),
        place in any::<prop::sample::Index>(),
        more in "[A-Za-z0-9_.=-]{1,4}",
    ) {
        let token = receipt.sign(&key());
        let (before, after) = token.split_at(place.index(token.len()));
        for changed in [format!("{before}{more}{after}"), format!("{token}{more}"), before.to_owned()] {
            prop_assert!(keys().open(&changed).is_err());
        }
    }

    /// The signature of one receipt is not the signature of any other, whichever field differs.
    #[test]
    fn a_signature_fits_no_other_receipt(one in receipts(), other in receipts()) {
        prop_assume!(one != other);
        let (mine, theirs) = (one.sign(&key()), other.sign(&key()));
        let (body, signature) = (mine.rsplit_once('.').unwrap().0, theirs.rsplit_once('.').unwrap().1);
        prop_assert_eq!(keys().open(&format!("{body}.{signature}")), Err(ReceiptProblem::BadSignature));
    }

    #[test]
    fn no_text_is_a_receipt_by_chance(text in "(v1\\.golden-1\\.)?[A-Za-z0-9_.-]{0,200}") {
        prop_assert!(keys().open(&text).is_err());
    }

    /// Whatever field of a receipt differs from what is about to run.
    #[test]
    fn any_changed_field_is_refused(other in receipts(), field in 0..6) {
        let arguments = arguments_for("mail_send", &parse_arguments(Some(r#"{"to":"bo"}"#)).unwrap());
        let about = full();
        let claim = ReceiptClaim { key: &about.call, id: &about.id, tool: &about.tool, arguments: &arguments, at: NOW };
        let mut changed = about.clone();
        match field {
            0 => changed.call.run = other.call.run,
            1 => changed.call.turn = other.call.turn,
            2 => changed.call.index = other.call.index,
            3 => changed.id = other.id,
            4 => changed.tool = other.tool,
            _ => changed.digest = other.digest,
        }
        prop_assume!(changed != about);
        prop_assert!(keys().verify(Some(&changed.sign(&key())), &claim).is_err());
        prop_assert!(keys().verify(Some(&about.sign(&key())), &claim).is_ok());
    }
}
