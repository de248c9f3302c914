//! Durations such as `30s` or `4h`.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use thiserror::Error;

/// A duration that people write as a whole number with a unit, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

/// A text that is not a duration, or one that no number of milliseconds can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a duration\nhint: write a whole number and `ms`, `s`, `m`, `h` or `d`, as in `30s` or `4h`")]
pub struct NotADuration;

impl FromStr for Millis {
    type Err = NotADuration;

    fn from_str(text: &str) -> Result<Self, NotADuration> {
        let unit_at = text.find(|char: char| !char.is_ascii_digit()).ok_or(NotADuration)?;
        let (number, unit) = text.split_at(unit_at);
        let unit_ms: u64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60 * 1_000,
            "h" => 60 * 60 * 1_000,
            "d" => 24 * 60 * 60 * 1_000,
            _ => return Err(NotADuration),
        };
        number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_ms)).map(Self).ok_or(NotADuration)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Millis;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as `4h`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Millis, E> {
                text.parse().map_err(|error| E::custom(format_args!("is {error}")))
            }
        }
        deserializer.deserialize_str(Text)
    }
}
