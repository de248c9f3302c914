use super::*;

fn round(records: &[Vec<u8>]) -> Vec<u8> {
    let packed = pack(records);
    let read = unpack(&packed).expect("what was packed is read");
    assert_eq!(read.iter().map(|record| record.to_vec()).collect::<Vec<_>>(), records);
    packed
}

#[test]
fn small_records_stay_plain() {
    let packed = round(&[b"one".to_vec(), Vec::new(), b"three".to_vec()]);
    assert_eq!(packed.len(), 1 + 3 * LENGTH_BYTES + 8);
}

#[test]
fn large_text_becomes_smaller() {
    let packed = round(&[b"the same words again and again. ".repeat(1_000)]);
    assert!(packed.len() < 1_000, "{} bytes", packed.len());
}

#[test]
fn noise_does_not_grow() {
    let mut seed = 7_u32;
    let noise: Vec<u8> = (0..20_000)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        })
        .collect();
    let packed = round(std::slice::from_ref(&noise));
    assert_eq!(packed.len(), noise.len() + LENGTH_BYTES + 1);
}

#[test]
fn what_nobody_packed_is_refused() {
    for broken in [&b""[..], b"\x09abc", b"\x00\x05\x00\x00\x00ab", b"\x00\x01\x00", b"\x01\xff\xff\xff\xff\x00"] {
        assert!(unpack(broken).is_err(), "{broken:?} was read");
    }
}
