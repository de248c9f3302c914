//! What a rule works with.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::{ManualClock, Store};

/// A fresh, empty store, the clock that it goes by, and a way to open it anew.
///
/// A store that ends with its process needs no more than [`Fixture::new`]. A durable one says how it is opened again
/// ([`Fixture::reopening`]) and may leave something here that is to live as long as the rule is checked, such as a
/// temporary folder ([`Fixture::keeping`]).
pub struct Fixture {
    /// The store.
    pub store: Store,
    /// The clock of the store. Only the rule moves it.
    pub clock: Arc<ManualClock>,
    reopen: Option<Reopen>,
    /// Last, so that it is dropped after the store.
    _kept: Option<Box<dyn Any + Send + Sync>>,
}

type Reopen = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Store> + Send>> + Send + Sync>;

impl Fixture {
    /// A store that goes by this clock. Opening it again gives the same store.
    pub fn new(store: impl Into<Store>, clock: Arc<ManualClock>) -> Self {
        Self { store: store.into(), clock, reopen: None, _kept: None }
    }

    /// Opens what the store left behind, by the same clock, after every handle of it was dropped.
    pub fn reopening<F, O>(mut self, open: F) -> Self
    where
        F: Fn() -> O + Send + Sync + 'static,
        O: Future<Output = Store> + Send + 'static,
    {
        self.reopen = Some(Box::new(move || Box::pin(open())));
        self
    }

    /// Keeps something until the rule was checked and the store is dropped.
    pub fn keeping(mut self, kept: impl Any + Send + Sync) -> Self {
        self._kept = Some(Box::new(kept));
        self
    }

    /// Drops the store and opens it again.
    pub(super) async fn reopened(self) -> Self {
        let Self { store, clock, reopen, _kept } = self;
        let store = match &reopen {
            Some(open) => {
                drop(store);
                open().await
            }
            None => store,
        };
        Self { store, clock, reopen, _kept }
    }
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture").field("clock", &self.clock).finish_non_exhaustive()
    }
}
