//! Places in lists, as clients see them: opaque, and good for one list of one tenant only.

use holdpoint_api::{ApiCode, PageQuery};
use holdpoint_store::{Cursor, LIST_LIMIT_MAX};

use crate::app::App;
use crate::auth::Caller;
use crate::refusal::{Answer, Refusal};
use crate::seal::Purpose;

impl App {
    /// The text for a client: the list, its tenant, and the store's cursor.
    pub(crate) fn next_page(&self, caller: &Caller, list: &str, next: Option<&Cursor>) -> Option<String> {
        Some(self.sealer.seal(Purpose::CURSOR, &(list, caller.scope.tenant(), next?.as_str())))
    }

    /// What a client sent back, and how many it wants.
    pub(crate) fn page(
        &self,
        caller: &Caller,
        list: &str,
        query: &PageQuery,
    ) -> Answer<(Option<Cursor>, Option<usize>)> {
        if query.limit.is_some_and(|limit| limit == 0 || limit > LIST_LIMIT_MAX) {
            return Err(Refusal::field("limit", format!("`limit` is 1 to {LIST_LIMIT_MAX}")));
        }
        let Some(text) = &query.cursor else { return Ok((None, query.limit)) };
        let opened = self.sealer.open::<(String, Option<String>, String)>(Purpose::CURSOR, text);
        match opened {
            Some((of, tenant, cursor)) if of == list && tenant.as_deref() == caller.scope.tenant() => {
                Ok((Some(Cursor::new(cursor)), query.limit))
            }
            Some(_) | None => Err(Refusal::new(ApiCode::InvalidCursor, "start the list again without a cursor")),
        }
    }
}
