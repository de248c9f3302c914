//! Chance that can be repeated: the same seed gives the same throws.

/// Throws numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        stir(self.0)
    }

    /// A number below `end`, or 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.throw() % end.max(1)
    }

    /// A number from `low` to below `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low))
    }

    /// True so many times in a thousand.
    pub(crate) fn chance(&mut self, permille: u64) -> bool {
        self.below(1000) < permille
    }
}

/// One number out of several, always the same.
pub(crate) fn mix(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x51_7C_C1_B7_27_22_0A_95, |all, number| stir(all ^ stir(number.wrapping_add(1))))
}

/// One number out of a text, always the same.
pub(crate) fn mix_text(seed: u64, text: &str) -> u64 {
    text.bytes().fold(stir(seed), |all, byte| stir(all ^ u64::from(byte)))
}

fn stir(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
