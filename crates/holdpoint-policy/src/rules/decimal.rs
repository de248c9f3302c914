//! Numbers as they are written, compared exactly.

use std::cmp::Ordering;

/// A decimal number of any size: `0.DIGITS` times ten to the power of `exponent`. Two spellings of one number are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    /// Without zeros at either end. Empty for zero.
    digits: Box<[u8]>,
    exponent: i64,
}

impl Decimal {
    /// Reads a number as JSON writes it. Nothing if it is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        let Some(last) = digits.iter().rposition(|digit| *digit != b'0') else {
            return Some(Self { negative: false, digits: Box::default(), exponent: 0 });
        };
        let point = i64::try_from(whole.len()).ok()?.checked_sub(i64::try_from(leading).ok()?)?;
        Some(Self { negative, digits: digits[leading..=last].into(), exponent: exponent.saturating_add(point) })
    }

    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        // Digits without zeros in front compare like fractions: byte by byte, and the longer one is the larger.
        self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits))
    }

    /// -1, 0 or 1.
    fn signum(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.signum(), other.signum()) {
            (1, 1) => self.cmp_magnitude(other),
            (-1, -1) => other.cmp_magnitude(self),
            (mine, theirs) => mine.cmp(&theirs),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An exponent too large for 64 bits is as good as the largest: no number that fits into memory is beyond it.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX / 2).min(i64::MAX / 2);
    Some(if negative { -magnitude } else { magnitude })
}
