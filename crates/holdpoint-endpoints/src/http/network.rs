//! Connections: names are looked up once, every address is checked, and only a checked one is connected to.

#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;

use super::{AddressKind, kind_of};

/// How long a connection may take to come about.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long an unused connection is kept.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// How many unused connections are kept for one host.
const IDLE_PER_HOST_MAX: usize = 8;
/// How many addresses of one name are tried.
const ADDRESSES_MAX: usize = 16;

/// The addresses of a name, when they are there.
pub type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Finds the addresses of a name.
pub trait Lookup: Send + Sync {
    /// Every address of this name.
    fn lookup(&self, name: &str) -> LookupFuture;
}

/// Asks the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: &str) -> LookupFuture {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Connections that HTTP tools share. It uses no proxy, whatever the environment says: a proxy would do its own lookup.
/// Cheap to clone. Its connections belong to the runtime on which they were made.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

struct Shared {
    lookup: Arc<dyn Lookup>,
    public: OnceLock<Result<Client, String>>,
    private: OnceLock<Result<Client, String>>,
}

/// How far a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// To the public internet.
    Public,
    /// To private addresses too.
    Private,
}

/// An address that may not be reached. Found again in the causes of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Refused {
    #[error("a private address")]
    Private,
    #[error("an address that no tool may reach")]
    Never,
    #[error("a name without an address")]
    Nothing,
}

impl Network {
    /// Names are looked up by the system.
    pub fn system() -> Self {
        Self::with_lookup(SystemLookup)
    }

    /// Names are looked up by this.
    pub fn with_lookup(lookup: impl Lookup + 'static) -> Self {
        let shared = Shared { lookup: Arc::new(lookup), public: OnceLock::new(), private: OnceLock::new() };
        Self { shared: Arc::new(shared) }
    }

    /// A client whose every connection stays within `reach`, as long as the host is a name: an address in a URL is not
    /// looked up, and must be checked before.
    pub(super) fn client(&self, reach: Reach) -> Result<&Client, &str> {
        let client = match reach {
            Reach::Public => &self.shared.public,
            Reach::Private => &self.shared.private,
        };
        let made = client.get_or_init(|| {
            let checked = Checked { lookup: Arc::clone(&self.shared.lookup), reach };
            make_client(checked).map_err(|error| error.to_string())
        });
        made.as_ref().map_err(String::as_str)
    }
}

impl Reach {
    /// Whether an address is within it.
    pub(super) fn admit(self, address: IpAddr) -> Result<(), Refused> {
        match (kind_of(address), self) {
            (AddressKind::Public, _) | (AddressKind::Private, Reach::Private) => Ok(()),
            (AddressKind::Private, Reach::Public) => Err(Refused::Private),
            (AddressKind::Never, _) => Err(Refused::Never),
        }
    }
}

fn make_client(resolver: Checked) -> reqwest::Result<Client> {
    // The client takes what the process has chosen; where nobody chose, this is it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || client_builder(resolver.clone());
    // A machine without any certificates still reaches services that need none; `https` fails there, as it must.
    builder().build().or_else(|_| builder().tls_certs_only([]).build())
}

fn client_builder(resolver: Checked) -> reqwest::ClientBuilder {
    Client::builder()
        .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Arc::new(resolver))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .connect_timeout(CONNECT_MAX)
        .pool_idle_timeout(IDLE_MAX)
        .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
}

/// Looks a name up once and gives only addresses that may be connected to. If one of them may not, none is given: a name
/// that points inside as well as outside is up to something.
#[derive(Clone)]
struct Checked {
    lookup: Arc<dyn Lookup>,
    reach: Reach,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.lookup.lookup(name.as_str());
        let reach = self.reach;
        Box::pin(async move {
            let addresses = found.await?;
            if addresses.is_empty() {
                return Err(Refused::Nothing.into());
            }
            addresses.iter().try_for_each(|address| reach.admit(*address))?;
            let addresses = addresses.into_iter().take(ADDRESSES_MAX).map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}
