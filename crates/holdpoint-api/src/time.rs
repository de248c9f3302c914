//! Moments as text.

use holdpoint_core::Timestamp;

/// A moment as RFC 3339 writes it, in UTC.
pub fn moment(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.0) {
        Ok(moment) => moment.to_string(),
        // Nobody's clock shows this; the number says at least which moment was meant.
        Err(_) => at.0.to_string(),
    }
}
