//! Where a request may go.

use url::{Host, Url};

use super::network::{Reach, Refused};

/// Where the tool's own URL leads. Private addresses are allowed for exactly this host and port, so that an answer of the
/// service cannot send the request to another place inside.
#[derive(Clone, Debug)]
pub(super) struct Target {
    host: String,
    port: Option<u16>,
    allow_private: bool,
}

impl Target {
    pub(super) fn new(url: &Url, allow_private: bool) -> Self {
        Self { host: url.host_str().unwrap_or_default().to_owned(), port: url.port_or_known_default(), allow_private }
    }

    /// How far a request to this URL may go. An address in the URL is checked here: nothing looks it up later.
    pub(super) fn admit(&self, url: &Url) -> Result<Reach, Refused> {
        let own = url.host_str() == Some(&self.host) && url.port_or_known_default() == self.port;
        let reach = if own && self.allow_private { Reach::Private } else { Reach::Public };
        match url.host() {
            Some(Host::Ipv4(address)) => reach.admit(address.into())?,
            Some(Host::Ipv6(address)) => reach.admit(address.into())?,
            Some(Host::Domain(name)) if !name.is_empty() => {}
            Some(Host::Domain(_)) | None => return Err(Refused::Nothing),
        }
        Ok(reach)
    }
}
