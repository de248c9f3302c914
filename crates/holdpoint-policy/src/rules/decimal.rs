//! Numbers as they are written, compared exactly.

use std::cmp::Ordering;
use std::fmt;

use holdpoint_config::RawJson;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The most digits that a sum can have. Numbers further apart than that are not added.
pub(crate) const SUM_DIGITS_MAX: usize = 4_096;
/// The most zeros that are written at the end of a number; beyond that it has an exponent.
const ZEROS_SHOWN_MAX: usize = 20;

/// A decimal number of any size: `0.DIGITS` times ten to the power of `exponent`. Two spellings of one number are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
        Some(Self::trimmed(negative, &digits, exponent.saturating_add(i64::try_from(whole.len()).ok()?)))
    }

    /// Both together, exactly. Nothing if that would need more than [`SUM_DIGITS_MAX`] digits.
    pub(crate) fn checked_add(&self, other: &Self) -> Option<Self> {
        if self.digits.is_empty() || other.digits.is_empty() {
            return Some(if self.digits.is_empty() { other.clone() } else { self.clone() });
        }
        // One place more than the larger one has, for what is carried.
        let top = self.exponent.max(other.exponent).checked_add(1)?;
        let bottom = self.lowest()?.min(other.lowest()?);
        let places = usize::try_from(top.checked_sub(bottom)?).ok().filter(|places| *places <= SUM_DIGITS_MAX)?;
        let (larger, smaller) = if self.cmp_magnitude(other) == Ordering::Less { (other, self) } else { (self, other) };
        let (more, less) = (larger.spread(top, places)?, smaller.spread(top, places)?);
        let sign = if larger.negative == smaller.negative { 1 } else { -1 };
        let mut digits = vec![b'0'; places];
        let mut carry = 0_i8;
        for place in (0..places).rev() {
            let sum = more[place] + sign * less[place] + carry;
            carry = sum.div_euclid(10);
            digits[place] += u8::try_from(sum.rem_euclid(10)).ok()?;
        }
        Some(Self::trimmed(larger.negative, &digits, top))
    }

    /// A whole number.
    pub(crate) fn whole(count: usize) -> Self {
        let digits = count.to_string();
        let exponent = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        Self::trimmed(false, digits.as_bytes(), exponent)
    }

    /// `0.DIGITS` times ten to the power of `point`, with zeros at either end.
    fn trimmed(negative: bool, digits: &[u8], point: i64) -> Self {
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        let Some(last) = digits.iter().rposition(|digit| *digit != b'0') else {
            return Self { negative: false, digits: Box::default(), exponent: 0 };
        };
        let exponent = point.saturating_sub(i64::try_from(leading).unwrap_or(i64::MAX));
        Self { negative, digits: digits[leading..=last].into(), exponent }
    }

    /// The power of ten of the last digit.
    fn lowest(&self) -> Option<i64> {
        self.exponent.checked_sub(i64::try_from(self.digits.len()).ok()?)
    }

    /// The digits as numbers, from the power `top` downwards.
    fn spread(&self, top: i64, places: usize) -> Option<Vec<i8>> {
        let mut spread = vec![0_i8; places];
        let from = usize::try_from(top.checked_sub(self.exponent)?).ok()?;
        for (place, digit) in spread.get_mut(from..)?.iter_mut().zip(&self.digits) {
            *place = i8::try_from(digit - b'0').ok()?;
        }
        Some(spread)
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

/// As JSON, and the same for every spelling.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits.is_empty() {
            return f.write_str("0");
        }
        if self.negative {
            f.write_str("-")?;
        }
        let digits = str::from_utf8(&self.digits).unwrap_or_default();
        let count = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let zeros = self.exponent.saturating_sub(count);
        match (usize::try_from(zeros), usize::try_from(self.exponent)) {
            (Ok(zeros), _) if zeros <= ZEROS_SHOWN_MAX => write!(f, "{digits}{}", "0".repeat(zeros)),
            (Err(_), Ok(point)) if point > 0 => write!(f, "{}.{}", &digits[..point], &digits[point..]),
            (Err(_), Ok(_)) => write!(f, "0.{digits}"),
            (Ok(_) | Err(_), _) => write!(f, "{digits}e{zeros}"),
        }
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RawJson(text) = RawJson::deserialize(deserializer)?;
        Decimal::parse(&text).ok_or_else(|| serde::de::Error::custom("must be a number"))
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
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
