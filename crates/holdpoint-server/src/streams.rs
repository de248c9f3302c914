//! How much one token may ask for: requests per second, and open streams.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, NotUntil, Quota, RateLimiter};
use holdpoint_api::ApiCode;

use crate::Limits;
use crate::connection::Peer;
use crate::limits::PEERS_MAX;
use crate::refusal::{Answer, Refusal};

/// Counts the requests of each token, and what comes without one by where it comes from.
pub(crate) struct Rates {
    limiter: DefaultKeyedRateLimiter<Arc<str>>,
    peers: DefaultKeyedRateLimiter<Peer>,
    clock: DefaultClock,
}

impl Rates {
    pub(crate) fn new(limits: &Limits) -> Self {
        let at_least_one = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(at_least_one(limits.requests_per_second))
            .allow_burst(at_least_one(limits.requests_burst));
        // There are as many keys as tokens: nothing grows.
        Self { limiter: RateLimiter::keyed(quota), peers: RateLimiter::keyed(quota), clock: DefaultClock::default() }
    }

    /// Counts one request.
    pub(crate) fn check(&self, token: &Arc<str>) -> Answer<()> {
        let detail = "the token sends more requests than this server takes";
        self.limiter.check_key(token).map_err(|until| self.refusal(&until, detail))
    }

    /// Counts one attempt to say who somebody is: a login, or a secret that nobody has. Each place is slowed down for
    /// itself, so that nobody is kept out by others.
    pub(crate) fn check_peer(&self, peer: Peer) -> Answer<()> {
        if self.peers.len() >= PEERS_MAX {
            self.peers.retain_recent();
        }
        // When that many come at once, those who are new count as one.
        let crowded = self.peers.len() >= PEERS_MAX;
        let peer = if crowded { Peer::default() } else { network_of(peer) };
        let detail = "too many attempts to log in or to guess a token come from there";
        self.peers.check_key(&peer).map_err(|until| self.refusal(&until, detail))
    }

    fn refusal(&self, until: &NotUntil<<DefaultClock as Clock>::Instant>, detail: &str) -> Refusal {
        let wait = until.wait_time_from(self.clock.now());
        Refusal::new(ApiCode::TooManyRequests, detail).retry_after(wait.as_secs() + 1)
    }
}

/// Whoever has one IPv6 address has all of its network.
fn network_of(Peer(address): Peer) -> Peer {
    Peer(address.map(|address| match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        address @ IpAddr::V4(_) => address,
    }))
}

/// Counts open streams.
pub(crate) struct Streams {
    max: usize,
    per_token_max: usize,
    /// By token. There are as many as are configured.
    open: Mutex<HashMap<Arc<str>, usize>>,
}

impl Streams {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { max: limits.streams_max, per_token_max: limits.streams_per_token_max, open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.lock().values().sum()
    }

    /// Opens one.
    pub(crate) fn open(self: &Arc<Self>, token: &Arc<str>) -> Answer<StreamPermit> {
        let mut open = self.lock();
        let of_token = open.get(token).copied().unwrap_or_default();
        if open.values().sum::<usize>() >= self.max || of_token >= self.per_token_max {
            let detail = "too many streams are open; hint: close some, or read events as JSON with `?after=`";
            return Err(Refusal::new(ApiCode::TooManyStreams, detail).retry_after(5));
        }
        open.insert(Arc::clone(token), of_token + 1);
        Ok(StreamPermit { streams: Arc::clone(self), token: Arc::clone(token) })
    }
}

/// While it lives, a stream is open.
pub(crate) struct StreamPermit {
    streams: Arc<Streams>,
    token: Arc<str>,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        if let Some(count) = self.streams.lock().get_mut(&self.token) {
            *count -= 1;
        }
    }
}
