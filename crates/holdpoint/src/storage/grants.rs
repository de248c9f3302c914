//! What people said about calls that are yet to come: listed, and taken back.

use std::sync::Arc;

use holdpoint_codec::decode_grant;
use holdpoint_core::{Actor, Grant, GrantId, GrantRevoked, Input, Timestamp};
use holdpoint_store::{Cursor, GrantFilter, GrantRow};

use crate::entry::point::{Entry, EntryPoint};
use crate::{Error, Runner};

/// A grant as it is listed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListedGrant {
    /// What was said.
    pub grant: Grant,
    /// Who took it back and when, if somebody did.
    pub revoked: Option<(Arc<str>, Timestamp)>,
}

impl ListedGrant {
    /// Whether it still counts at this moment.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.grant.until.is_none_or(|until| until > now)
    }
}

/// One page of grants.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListedGrants {
    /// The newest first.
    pub grants: Vec<ListedGrant>,
    /// Where the next page starts, unless this was the last.
    pub next: Option<Cursor>,
}

impl Runner {
    /// The grants that the store has, the newest first: those that were taken back or are over, too.
    ///
    /// # Errors
    /// When the store fails, or holds one that cannot be read.
    pub async fn grants(&self, filter: &GrantFilter) -> Result<ListedGrants, Error> {
        let page = self.parts.store.grants.list(filter).await?;
        let grants = page.items.iter().map(listed).collect::<Result<_, Error>>()?;
        Ok(ListedGrants { grants, next: page.next })
    }

    /// Takes a grant back. It counts no more from then on; what it let run before stays as it is. The run in which it was
    /// given remembers who did it. Returns whether there was one to take back.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn revoke_grant(&self, tenant: Option<&str>, id: &GrantId, actor: &Actor) -> Result<bool, Error> {
        let by = actor.id.as_deref().unwrap_or_default();
        if !self.parts.store.grants.revoke(tenant, id.as_str(), by).await? {
            return Ok(false);
        }
        let Some(run) = id.run() else { return Ok(true) };
        let input = Input::GrantRevoked(GrantRevoked { grant: id.clone(), actor: actor.clone() });
        match self.enter(&Entry::left(EntryPoint::known(&run, input)), None).await {
            Ok(_) => {}
            // The run is gone or moves all the time. The grant is taken back all the same, and the store says by whom.
            Err(error) => {
                tracing::warn!(target: "holdpoint", grant = %id, code = %error.code(), "a grant was taken back that its run does not remember");
            }
        }
        Ok(true)
    }
}

fn listed(row: &GrantRow) -> Result<ListedGrant, Error> {
    let revoked = row.revoked.as_ref().map(|revoked| (Arc::clone(&revoked.by), revoked.at));
    Ok(ListedGrant { grant: decode_grant(&row.body)?, revoked })
}
