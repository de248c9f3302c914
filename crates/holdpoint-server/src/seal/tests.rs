use super::{Purpose, Sealer};

fn sealer() -> Sealer {
    Sealer::new(&[7; 32])
}

#[test]
fn what_was_sealed_opens_for_its_purpose_alone() {
    let sealed = sealer().seal(Purpose::Lease, b"payload");
    assert_eq!(sealer().open(Purpose::Lease, &sealed).as_deref(), Some(&b"payload"[..]));
    assert_eq!(sealer().open(Purpose::Cursor, &sealed), None);
    assert_eq!(Sealer::new(&[8; 32]).open(Purpose::Lease, &sealed), None);
}

#[test]
fn nothing_opens_that_was_changed() {
    let sealed = sealer().seal(Purpose::Session, b"payload");
    for at in 0..sealed.len() {
        let mut changed = sealed.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        // The last letter of a part may hold bits that count for nothing; then the text still says the same.
        if let Some(opened) = sealer().open(Purpose::Session, &changed) {
            assert_eq!(opened, b"payload");
        }
    }
    assert_eq!(sealer().open(Purpose::Session, ""), None);
    assert_eq!(sealer().open(Purpose::Session, "no dot"), None);
    assert_eq!(sealer().open(Purpose::Session, &"a".repeat(1 << 20)), None);
}
