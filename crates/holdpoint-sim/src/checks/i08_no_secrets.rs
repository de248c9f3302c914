//! I8: raw arguments, results and context values are in nothing that an operator reads, and a context value that the
//! run does not list is stored nowhere.

use super::{Check, Disk, Seen};
use crate::tools::CANARY;
use holdpoint_core::{Attributes, Event};

pub(super) struct NoSecrets;

impl Check for NoSecrets {
    fn name(&self) -> &'static str {
        "i8_no_secrets"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        match seen {
            Seen::Printed { what, text } if text.contains(CANARY) => Err(format!("{what} shows what is confidential")),
            Seen::Logged { event: Event::RunStarted(started), .. } => only_listed(&started.context),
            Seen::Logged { event: Event::ContextChanged { attributes }, .. } => only_listed(attributes),
            _ => Ok(()),
        }
    }
}

/// Every simulated run lists one key.
fn only_listed(stored: &Attributes) -> Result<(), String> {
    match stored.keys().find(|key| &***key != "user") {
        Some(key) => Err(format!("the context attribute `{key}` was stored")),
        None => Ok(()),
    }
}
