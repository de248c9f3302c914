//! Rows by number, and the keys by which they are found.

use std::collections::{BTreeMap, BTreeSet};

/// A row whose keys follow from what is in it.
pub(super) trait Keyed {
    type Key: Clone + Ord;

    fn keys(&self) -> impl Iterator<Item = Self::Key>;
}

/// Rows with an index over all their keys.
pub(super) struct Indexed<R: Keyed> {
    rows: BTreeMap<i64, R>,
    keys: BTreeSet<(R::Key, i64)>,
    last: i64,
}

impl<R: Keyed> Default for Indexed<R> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), keys: BTreeSet::new(), last: 0 }
    }
}

impl<R: Keyed> Indexed<R> {
    /// The rows by their numbers.
    pub(super) fn rows(&self) -> &BTreeMap<i64, R> {
        &self.rows
    }

    /// Adds a row under a number that no other row had.
    pub(super) fn add(&mut self, row: R) {
        self.last += 1;
        self.put(self.last, row);
    }

    /// Puts a row in the place of the one that has this number, if there is one.
    pub(super) fn put(&mut self, number: i64, row: R) {
        self.take(number);
        self.keys.extend(row.keys().map(|key| (key, number)));
        self.rows.insert(number, row);
    }

    pub(super) fn take(&mut self, number: i64) -> Option<R> {
        let row = self.rows.remove(&number)?;
        for key in row.keys() {
            self.keys.remove(&(key, number));
        }
        Some(row)
    }

    /// Removes the rows with keys from `first` to `last`.
    pub(super) fn remove_range(&mut self, first: R::Key, last: R::Key) {
        for number in self.range(first, last).map(|(number, _)| number).collect::<Vec<_>>() {
            self.take(number);
        }
    }

    pub(super) fn change<T>(&mut self, number: i64, change: impl FnOnce(&mut R) -> T) -> Option<T> {
        let mut row = self.take(number)?;
        let done = change(&mut row);
        self.put(number, row);
        Some(done)
    }

    /// The row with a key that only one row has.
    pub(super) fn find(&self, key: &R::Key) -> Option<(i64, &R)> {
        self.range(key.clone(), key.clone()).next()
    }

    /// The rows with keys from `first` to `last`, in the order of these keys and then of their numbers.
    pub(super) fn range(&self, first: R::Key, last: R::Key) -> impl DoubleEndedIterator<Item = (i64, &R)> {
        self.range_from(first, i64::MIN, last)
    }

    /// As [`Indexed::range`], without the rows with the key `first` and a number below `number`.
    pub(super) fn range_from(
        &self,
        first: R::Key,
        number: i64,
        last: R::Key,
    ) -> impl DoubleEndedIterator<Item = (i64, &R)> {
        let keys = self.keys.range((first, number)..=(last, i64::MAX));
        keys.filter_map(|(_, number)| Some((*number, self.rows.get(number)?)))
    }
}
