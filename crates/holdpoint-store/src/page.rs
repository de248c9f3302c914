//! Lists, page by page.

use std::sync::Arc;

use crate::StoreError;

/// The size of a page if the caller asks for none.
pub const LIST_LIMIT_DEFAULT: usize = 50;
/// The largest page, whatever the caller asks for.
pub const LIST_LIMIT_MAX: usize = 200;

/// The size of a page: at least 1, so that every list comes to its end.
pub fn page_size(limit: Option<usize>) -> usize {
    limit.unwrap_or(LIST_LIMIT_DEFAULT).clamp(1, LIST_LIMIT_MAX)
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The items, in the order of the list.
    pub items: Vec<T>,
    /// Where the next page starts, unless this is the last one.
    pub next: Option<Cursor>,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self { items: Vec::new(), next: None }
    }
}

impl<T> Page<T> {
    /// Takes up to `size` items. The position of the one after them, if there is one, becomes the cursor.
    ///
    /// # Errors
    /// The first error among the items.
    pub fn collect<const N: usize>(
        list: List,
        size: usize,
        items: impl IntoIterator<Item = Result<([i64; N], T), StoreError>>,
    ) -> Result<Self, StoreError> {
        let mut page = Self::default();
        for item in items {
            let (position, item) = item?;
            if page.items.len() == size {
                page.next = Some(list.cursor(position));
                break;
            }
            page.items.push(item);
        }
        Ok(page)
    }
}

/// A position in a list. Only the store that made it can read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(Arc<str>);

impl Cursor {
    /// A cursor that a client sent back.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text for a client.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A list of a store. Each has cursors of its own and rejects those of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Runs, by number.
    Runs,
    /// Sessions, by the number of their last run.
    Sessions,
    /// Tasks, by number.
    Tasks,
    /// Grants, by number.
    Grants,
    /// Pending questions, by deadline and number.
    PendingQuestions,
    /// Questions that ended, by their last change and number.
    EndedQuestions,
    /// Audit rows, by the number of their run and their revision.
    AuditRows,
}

impl List {
    fn mark(self) -> char {
        match self {
            List::Runs => 'r',
            List::Sessions => 's',
            List::Tasks => 't',
            List::Grants => 'g',
            List::PendingQuestions => 'p',
            List::EndedQuestions => 'e',
            List::AuditRows => 'a',
        }
    }

    /// The cursor of a position: the numbers that the list is sorted by.
    pub fn cursor<const N: usize>(self, position: [i64; N]) -> Cursor {
        Cursor::new(format!("{}{}", self.mark(), position.map(|number| number.to_string()).join(".")))
    }

    /// The position of a cursor; `start` without one.
    ///
    /// # Errors
    /// [`StoreError::InvalidCursor`] for a cursor that [`List::cursor`] did not make.
    pub fn position<const N: usize>(self, cursor: Option<&Cursor>, start: [i64; N]) -> Result<[i64; N], StoreError> {
        let Some(cursor) = cursor else { return Ok(start) };
        let numbers = cursor.as_str().strip_prefix(self.mark()).ok_or(StoreError::InvalidCursor)?;
        let plain = |number: &&str| number.bytes().all(|byte| byte.is_ascii_digit());
        let numbers = numbers.split('.').map(|number| Some(number).filter(plain)?.parse().ok());
        let numbers: Option<Vec<i64>> = numbers.collect();
        numbers.and_then(|numbers| numbers.try_into().ok()).ok_or(StoreError::InvalidCursor)
    }
}

#[cfg(test)]
mod tests;
