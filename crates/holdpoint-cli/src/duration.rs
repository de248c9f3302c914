//! Durations such as `30d`, as people write them in a terminal.

/// Milliseconds of a whole number with a unit.
///
/// # Errors
/// With a sentence, when the text is not that.
pub(crate) fn parse_ms(text: &str) -> Result<u64, String> {
    let unit_at = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60 * 1_000,
        "h" => 60 * 60 * 1_000,
        "d" => 24 * 60 * 60 * 1_000,
        _ => return Err(HINT.to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| HINT.to_owned())?;
    number.checked_mul(unit_ms).ok_or_else(|| "that is longer than can be counted".to_owned())
}

const HINT: &str = "hint: write a whole number and `s`, `m`, `h` or `d`, as in `30d`";

#[cfg(test)]
mod tests;
