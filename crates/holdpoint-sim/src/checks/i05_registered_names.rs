//! I5: policy is asked about registered names only.

use super::{Check, Disk, Seen};
use crate::tools::REGISTERED;

pub(super) struct RegisteredNames;

impl Check for RegisteredNames {
    fn name(&self) -> &'static str {
        "i5_registered_names"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        let Seen::PolicyAsked { name } = seen else { return Ok(()) };
        if REGISTERED.iter().any(|(registered, _)| registered == name) {
            return Ok(());
        }
        Err(format!("policy was asked about `{name}`"))
    }
}
