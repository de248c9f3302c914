//! Words of a text, whatever its grammar: strings, runs of letters and digits, single signs.

use std::ops::Range;

/// What readers of JSON and YAML trip over.
pub(super) const DICTIONARY: [&str; 48] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "1.5",
    "1e999",
    "-1e-999",
    "9007199254740993",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "4294967296",
    "00",
    "NaN",
    "Infinity",
    "\"\"",
    "\" \"",
    "\"null\"",
    "\"0\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\"\u{202e}\u{200b}\"",
    "\"e\u{301}\"",
    "\"\\",
    "{}",
    "[]",
    "{\"a\":1,\"a\":2}",
    "[[[[[[[[]]]]]]]]",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    ": ",
    "- ",
    "\n",
    "```json\n",
    "\n```",
    "&a",
    "*a",
    "!!binary",
    "<<: *a",
    "? ",
    "\t",
    "\u{feff}",
];

/// The words of a text, in order.
pub(super) fn words(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'"' => string_end(bytes, at),
            byte if is_word(*byte) => at + bytes[at..].iter().take_while(|byte| is_word(**byte)).count(),
            _ => at + 1,
        };
        found.push(at..end);
        at = end;
    }
    found
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-') || byte >= 0x80
}
