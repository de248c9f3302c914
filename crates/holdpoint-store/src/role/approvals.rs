//! Questions that wait for people.

use async_trait::async_trait;
use holdpoint_core::CallKey;

use crate::{Page, QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq, Scope, StoreError};

/// The questions about calls that people answer.
#[async_trait]
pub trait Approvals: Send + Sync + 'static {
    /// The question about a call, or nothing when there is none within what somebody sees.
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError>;

    /// One page of questions, in the order that [`QuestionFilter`] says.
    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError>;

    /// The questions that changed after `after`, each once and as it is now: about `limit` and at most about
    /// [`crate::DUE_LIMIT_MAX`]. Without `after`: none, and where to begin. Nobody who goes on from [`QuestionChanges::seq`] misses
    /// a change, or sees one again that was not followed by another.
    ///
    /// A change may show here a moment after its commit; those who wait are woken then.
    /// [`StoreError::InvalidCursor`] when this store was never there: begin anew.
    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError>;
}
