//! Durations such as `4h`.

/// Milliseconds of a whole number with a unit. Nothing if it is not that or too large.
pub(crate) fn parse_ms(text: &str) -> Option<u64> {
    let unit_at = text.find(|char: char| !char.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60 * 1_000,
        "h" => 60 * 60 * 1_000,
        "d" => 24 * 60 * 60 * 1_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit_ms)
}
