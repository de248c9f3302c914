use super::{Purpose, Sealer};

fn sealer() -> Sealer {
    Sealer::new(&[7; 32])
}

#[test]
fn what_was_sealed_opens_for_its_purpose_alone() {
    let sealed = sealer().seal(Purpose::LEASE, &"payload");
    assert_eq!(sealer().open::<String>(Purpose::LEASE, &sealed).as_deref(), Some("payload"));
    assert_eq!(sealer().open::<String>(Purpose::CURSOR, &sealed), None);
    assert_eq!(Sealer::new(&[8; 32]).open::<String>(Purpose::LEASE, &sealed), None);
}

#[test]
fn nothing_opens_that_was_changed() {
    let sealed = sealer().seal(Purpose::SESSION, &"payload");
    for at in 0..sealed.len() {
        let mut changed = sealed.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        // The last letter of a part may hold bits that count for nothing; then the text still says the same.
        if let Some(opened) = sealer().open::<String>(Purpose::SESSION, &changed) {
            assert_eq!(opened, "payload");
        }
    }
    assert_eq!(sealer().open::<String>(Purpose::SESSION, ""), None);
    assert_eq!(sealer().open::<String>(Purpose::SESSION, "no dot"), None);
    assert_eq!(sealer().open::<String>(Purpose::SESSION, &"a".repeat(1 << 20)), None);
}
