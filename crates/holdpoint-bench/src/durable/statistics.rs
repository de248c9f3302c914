//! Medians: a noisy machine makes single measurements worthless.

/// The middle of some numbers; not a number when there are none.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The smallest and the largest.
pub(crate) fn range(numbers: &[f64]) -> (f64, f64) {
    let fold = |pick: fn(f64, f64) -> f64| numbers.iter().copied().reduce(pick).unwrap_or(f64::NAN);
    (fold(f64::min), fold(f64::max))
}

#[cfg(test)]
mod tests;
