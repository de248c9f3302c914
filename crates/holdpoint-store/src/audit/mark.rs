//! A seal in one line, to be kept where nobody who can change the store can change it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

use super::Link;

/// What tells a seal from every other: its tenant, its number and the chain up to it.
///
/// As text it is `acme=3:4f…`, and `3:4f…` for runs without a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealMark {
    /// The tenant; nothing for runs without one.
    pub tenant: Option<Arc<str>>,
    /// The number of the seal.
    pub number: u64,
    /// The chain of the tenant's seals up to it.
    pub link: Link,
}

impl fmt::Display for SealMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tenant) = &self.tenant {
            write!(f, "{tenant}=")?;
        }
        write!(f, "{}:{}", self.number, self.link)
    }
}

/// A text is not that of a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("hint: write `TENANT=NUMBER:HASH` as `audit verify` prints it, or `NUMBER:HASH` for runs without a tenant")]
pub struct NotASealMark;

impl FromStr for SealMark {
    type Err = NotASealMark;

    fn from_str(text: &str) -> Result<Self, NotASealMark> {
        // A tenant may have any name: what follows it has neither of the two signs.
        let (tenant, seal) = match text.rsplit_once('=') {
            Some((tenant, seal)) => (Some(tenant.into()), seal),
            None => (None, text),
        };
        let (number, link) = seal.split_once(':').ok_or(NotASealMark)?;
        let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse().ok().filter(|number| plain && *number > 0).ok_or(NotASealMark)?;
        Ok(Self { tenant, number, link: Link::parse(link).ok_or(NotASealMark)? })
    }
}

#[cfg(test)]
mod tests;
