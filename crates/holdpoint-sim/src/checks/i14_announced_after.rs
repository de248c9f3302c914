//! I14: a pause or an end is announced only after it is durable.

use super::{Check, Disk, Seen};

pub(super) struct AnnouncedAfter;

impl Check for AnnouncedAfter {
    fn name(&self) -> &'static str {
        "i14_announced_after"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        let Seen::Announced { slot, at } = seen else { return Ok(()) };
        let durable = disk.log(*slot).revision();
        if *at <= durable { Ok(()) } else { Err(format!("revision {at} was announced, the log is at {durable}")) }
    }
}
