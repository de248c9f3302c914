//! Durations in buckets that grow with them: a fixed size, and a value that is off by at most 1/16.

/// Every doubling is divided into this many buckets.
const PARTS: u64 = 16;
const PARTS_BITS: u32 = PARTS.trailing_zeros();
/// What is longer, 19 hours in microseconds, counts as this long.
const VALUE_MAX: u64 = (1 << 36) - 1;
const BUCKETS: usize = place_of(VALUE_MAX) + 1;

pub(super) struct Histogram {
    counts: Box<[u64]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS].into() }
    }
}

impl Histogram {
    pub(super) fn record(&mut self, value: u64) {
        self.counts[place_of(value)] += 1;
    }

    /// The value that so many of 100 recorded values do not exceed: the highest of its bucket.
    pub(super) fn percentile(&self, percent: u64) -> Option<u64> {
        let total: u64 = self.counts.iter().sum();
        let rank = total.saturating_mul(percent).div_ceil(100).max(1);
        let mut seen = 0;
        let place = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        place.map(highest_in)
    }
}

/// Values below [`PARTS`] have a bucket each; above, the leading bits of a value are its place.
const fn place_of(value: u64) -> usize {
    let value = if value > VALUE_MAX { VALUE_MAX } else { value };
    if value < PARTS {
        return value as usize;
    }
    let shift = value.ilog2() - PARTS_BITS;
    (shift as u64 * PARTS + (value >> shift)) as usize
}

const fn highest_in(place: usize) -> u64 {
    let place = place as u64;
    if place < PARTS {
        return place;
    }
    let shift = place / PARTS - 1;
    let leading = place - shift * PARTS;
    ((leading + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bucket_is_never_wider_than_a_sixteenth_of_its_values(value in 0..=VALUE_MAX) {
            let highest = highest_in(place_of(value));
            prop_assert!(value <= highest && highest - value <= value / PARTS);
            prop_assert_eq!(place_of(highest), place_of(value));
        }
    }

    #[test]
    fn every_bucket_has_its_own_values_up_to_the_last() {
        for place in 0..BUCKETS {
            assert_eq!(place_of(highest_in(place)), place);
        }
        assert_eq!(place_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_found_by_rank_and_none_without_values() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50), None);
        (1..=10).for_each(|value| histogram.record(value));
        let percentiles = [1, 50, 95, 100].map(|percent| histogram.percentile(percent));
        assert_eq!(percentiles, [Some(1), Some(5), Some(10), Some(10)]);
    }
}
