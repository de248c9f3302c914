//! Whole numbers, however JSON writes them: `100` and `100.0` are the same number.

use serde::de::{Deserializer, Error, Unexpected, Visitor};

struct Whole;

impl<'de> Visitor<'de> for Whole {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a whole number that is not negative")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        // Beyond this a double does not hold every whole number.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if number.fract() == 0.0 && (0.0..EXACT).contains(&number) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is whole, small and positive"
            )]
            return Ok(Some(number as u64));
        }
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }
}

/// Reads one that may be absent.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(Whole)
}

/// Reads a small one that may be absent.
pub(crate) fn optional_small<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let number = optional(deserializer)?;
    number.map(|number| u32::try_from(number).map_err(|_| D::Error::custom("too large"))).transpose()
}
