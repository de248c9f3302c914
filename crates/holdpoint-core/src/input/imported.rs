//! Somebody brought a paused run from another store.

use std::sync::Arc;

use crate::{Event, Phase, Rejection, Run, Snapshot};

pub(super) fn decide(run: &Run, snapshot: Arc<Snapshot>) -> Result<Vec<Event>, Rejection> {
    match run.phase {
        Phase::New => Ok(vec![Event::Imported(snapshot)]),
        _ => Err(Rejection::RunExists),
    }
}
