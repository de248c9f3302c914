//! Somebody took a grant back that was given in this run.

use crate::{Actor, Event, GrantId, Phase, Rejection, Run};

/// A grant that holds no more.
#[derive(Clone, Debug)]
pub struct GrantRevoked {
    /// Which.
    pub grant: GrantId,
    /// Who took it back.
    pub actor: Actor,
}

pub(super) fn decide(run: &Run, revoked: GrantRevoked) -> Result<Vec<Event>, Rejection> {
    match run.phase {
        Phase::Paused(_) | Phase::Failed(..) | Phase::Ended(_) => {
            Ok(vec![Event::GrantRevoked { grant: revoked.grant, actor: revoked.actor }])
        }
        // Somebody drives it: what is none of their work would stop them.
        Phase::New | Phase::Between | Phase::Working(_) => Err(Rejection::NotExpected { input: "grant_revoked" }),
    }
}
