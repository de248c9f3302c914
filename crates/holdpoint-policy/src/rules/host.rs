//! Hosts of URLs.

use std::str::FromStr;

use url::{Host, Url};

/// One host (`example.com`), or everything below a domain (`*.example.com`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern {
    /// As a browser writes it: lower case, ASCII, no dot at the end.
    host: Box<str>,
    reach: Reach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Itself,
    Below,
}

const NOT_A_HOST: &str = "is not a host\nhint: write `example.com` or `*.example.com`, without scheme, port and path";

impl FromStr for HostPattern {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (domain, reach) = match text.strip_prefix("*.") {
            Some(domain) => (domain, Reach::Below),
            None => (text, Reach::Itself),
        };
        let host = Host::parse(domain).map_err(|_| NOT_A_HOST)?;
        match (&host, reach) {
            (Host::Domain(name), _) if name.contains('*') => return Err(NOT_A_HOST),
            (Host::Ipv4(_) | Host::Ipv6(_), Reach::Below) => return Err(NOT_A_HOST),
            (Host::Domain(_), _) | (Host::Ipv4(_) | Host::Ipv6(_), Reach::Itself) => {}
        }
        let host = without_last_dot(&host.to_string()).ok_or(NOT_A_HOST)?.into();
        Ok(Self { host, reach })
    }
}

impl HostPattern {
    /// Whether it is the host of a URL, as [`host_of`] gives it.
    pub(crate) fn holds(&self, host: &str) -> bool {
        match self.reach {
            Reach::Itself => *host == *self.host,
            Reach::Below => below(host, &self.host),
        }
    }

    /// Whether every host of the other pattern is one of this.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self.reach, other.reach) {
            (Reach::Itself, Reach::Below) => false,
            (Reach::Below, Reach::Below) => self.host == other.host || below(&other.host, &self.host),
            (_, Reach::Itself) => self.holds(&other.host),
        }
    }
}

/// Whether a host is below a domain: at least one name and a dot come before.
fn below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).and_then(|before| before.strip_suffix('.')).is_some_and(|before| !before.is_empty())
}

/// The host of a URL. Nothing if it is not an absolute URL with a host, or one that programs read in different ways:
/// with spaces, control characters or backslashes, with too few or too many slashes, or with an escaped host.
pub(crate) fn host_of(text: &str) -> Option<String> {
    if text.contains(|letter: char| letter.is_control() || letter.is_whitespace() || letter == '\\') {
        return None;
    }
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let written = authority.rsplit('@').next()?;
    let url = Url::parse(text).ok()?;
    let scheme_first = text.get(..url.scheme().len())?.eq_ignore_ascii_case(url.scheme());
    if written.is_empty() || written.contains('%') || !scheme_first || !text[url.scheme().len()..].starts_with("://") {
        return None;
    }
    let host = url.host_str()?;
    if matches!(url.scheme(), "https" | "http" | "wss" | "ws" | "ftp") {
        return without_last_dot(host).map(str::to_owned);
    }
    // Of schemes that browsers do not know, the parser keeps the host as it is written.
    let host = Host::parse(host).ok()?.to_string();
    without_last_dot(&host).map(str::to_owned)
}

/// `example.com.` is `example.com`.
fn without_last_dot(host: &str) -> Option<&str> {
    let host = host.strip_suffix('.').unwrap_or(host);
    (!host.is_empty()).then_some(host)
}
