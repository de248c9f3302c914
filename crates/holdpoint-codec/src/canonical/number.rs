//! Numbers as ECMAScript writes them, with the exception for large integers.

use std::borrow::Cow;

/// Integers with at most so many digits are below 2^53 whatever they are.
const SAFE_DIGITS: usize = 15;
/// No finite double has more digits before its point.
const FINITE_DIGITS_MAX: usize = 309;

/// The canonical form of a number's literal; `None` when it is not one, or not finite.
pub(crate) fn canonical(literal: &str) -> Option<Cow<'_, str>> {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    match shape(digits)? {
        Shape::Integer if digits == "0" => Some(Cow::Borrowed("0")),
        Shape::Integer if digits.len() <= SAFE_DIGITS => Some(Cow::Borrowed(literal)),
        Shape::Integer if digits.len() > FINITE_DIGITS_MAX => Some(Cow::Borrowed(literal)),
        Shape::Integer => Some(large_integer(literal, digits)),
        Shape::Fraction => {
            let value: f64 = literal.parse().ok()?;
            value.is_finite().then(|| Cow::Owned(ecmascript(value)))
        }
    }
}

enum Shape {
    Integer,
    Fraction,
}

/// Checks the grammar of RFC 8259, without the sign.
fn shape(digits: &str) -> Option<Shape> {
    let bytes = digits.as_bytes();
    let count = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = count(0);
    if at == 0 || (at > 1 && bytes[0] == b'0') {
        return None;
    }
    let mut found = Shape::Integer;
    if bytes.get(at) == Some(&b'.') {
        let fraction = count(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
        found = Shape::Fraction;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = if at <= bytes.len() { count(at) } else { 0 };
        if exponent == 0 {
            return None;
        }
        at += exponent;
        found = Shape::Fraction;
    }
    (at == bytes.len()).then_some(found)
}

/// An integer stays as written unless a double holds it and ECMAScript writes that double as the same integer: what
/// runs must be what was asked for, to the last digit.
fn large_integer<'a>(literal: &'a str, digits: &str) -> Cow<'a, str> {
    let Ok(value) = literal.parse::<f64>() else { return Cow::Borrowed(literal) };
    let held = value.is_finite() && format!("{:.0}", value.abs()) == digits;
    let (significant, _) = shortest(value.abs());
    if held && digits.trim_end_matches('0') == significant {
        return Cow::Owned(ecmascript(value));
    }
    Cow::Borrowed(literal)
}

/// `Number::toString` of ECMAScript.
fn ecmascript(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let (digits, exponent) = shortest(value.abs());
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The value is `0.DIGITS * 10^point`.
    let point = exponent + 1;
    let sign = if value < 0.0 { "-" } else { "" };
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if count <= point && point <= 21 {
        return format!("{sign}{digits}{}", zeros(point - count));
    }
    if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        return format!("{sign}{whole}.{fraction}");
    }
    if -6 < point && point <= 0 {
        return format!("{sign}0.{}{digits}", zeros(-point));
    }
    let (first, rest) = digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    let plus = if exponent < 0 { "" } else { "+" };
    format!("{sign}{first}{dot}{rest}e{plus}{exponent}")
}

/// The fewest digits that read back as the same double, and the exponent of the first of them.
fn shortest(value: f64) -> (String, i32) {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}
