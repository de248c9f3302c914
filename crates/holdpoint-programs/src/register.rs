//! The programs that run on this machine, as files in a folder of the user: who started each, and which it is. A process
//! number is used again one day, so each is kept with the time at which its process started.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "linux")]
pub(crate) use linux::Entry;

/// Ends the programs of processes of this user that died on this machine. Returns the calls that these programs did.
/// Elsewhere than on Linux it does nothing.
pub fn end_orphans() -> Vec<String> {
    system::end_orphans()
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn end_orphans() -> Vec<String> {
        Vec::new()
    }
}

/// Elsewhere nothing is registered.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(crate) struct Entry;

#[cfg(not(target_os = "linux"))]
impl Entry {
    pub(crate) fn add(_: u32, _: Option<&str>) -> Option<Self> {
        None
    }
}
