//! Moments of the past, as people write them in a terminal.

use std::str::FromStr;

use holdpoint_config::Millis;
use holdpoint_core::Timestamp;

/// From when on: a moment such as `2026-11-16T08:00:00Z`, or how long ago, as in `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    Ago(Millis),
    Moment(Timestamp),
}

impl FromStr for Since {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(ago) = text.parse() {
            return Ok(Self::Ago(ago));
        }
        let moment = text.parse::<jiff::Timestamp>();
        let moment =
            moment.map_err(|_| "hint: write how long ago, as in `30d`, or a moment, as in `2026-11-16T08:00:00Z`")?;
        Ok(Self::Moment(Timestamp(moment.as_microsecond())))
    }
}

impl Since {
    pub(crate) fn moment(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(ago) => before(now, ago),
            Self::Moment(moment) => moment,
        }
    }
}

/// The moment so long before another one.
pub(crate) fn before(now: Timestamp, ago: Millis) -> Timestamp {
    let us = i64::try_from(ago.0.saturating_mul(1_000)).unwrap_or(i64::MAX);
    Timestamp(now.0.saturating_sub(us))
}
