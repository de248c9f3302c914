use super::*;

#[test]
fn what_cannot_be_seen_is_shown() {
    for (written, wanted) in [
        ("plain, ünd 漢字 🙂", "plain, ünd 漢字 🙂"),
        ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
        ("pay \u{202e}001\u{202c}", "pay \\u{202e}001\\u{202c}"),
        ("a\u{200b}b\u{feff}c", "a\\u{200b}b\\u{feff}c"),
        ("tag\u{e0041}", "tag\\u{e0041}"),
        ("a\nb\tc\r", "a\\u{a}b\\u{9}c\\u{d}"),
    ] {
        assert_eq!(line(written), wanted);
    }
    assert_eq!(lines("a\nb\tc\r\u{7}"), "a\nb\tc\\u{d}\\u{7}");
}
