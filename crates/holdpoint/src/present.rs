//! What is present in this process for as long as somebody holds it, found by a key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values by key. Several may have the same key; a key that has none takes no room.
#[derive(Debug)]
pub(crate) struct Present<K, V>(Mutex<HashMap<K, Vec<Arc<V>>>>);

impl<K: Clone + Eq + Hash, V> Present<K, V> {
    /// Adds a value until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, key: &K, value: V) -> Entered<K, V> {
        let value = Arc::new(value);
        self.lock().entry(key.clone()).or_default().push(Arc::clone(&value));
        Entered { present: Arc::clone(self), key: key.clone(), value }
    }

    /// The values of a key as they are now.
    pub(crate) fn of(&self, key: &K) -> Vec<Arc<V>> {
        self.lock().get(key).cloned().unwrap_or_default()
    }

    /// How many keys have a value.
    pub(crate) fn keys(&self) -> usize {
        self.lock().len()
    }
}

impl<K, V> Present<K, V> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Vec<Arc<V>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> Default for Present<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// While it lives, its value is present.
#[derive(Debug)]
pub(crate) struct Entered<K: Eq + Hash, V> {
    present: Arc<Present<K, V>>,
    pub(crate) key: K,
    pub(crate) value: Arc<V>,
}

impl<K: Eq + Hash, V> Drop for Entered<K, V> {
    fn drop(&mut self) {
        let mut present = self.present.lock();
        if let Some(values) = present.get_mut(&self.key) {
            values.retain(|value| !Arc::ptr_eq(value, &self.value));
            if values.is_empty() {
                present.remove(&self.key);
            }
        }
    }
}
