//! Places in lists, as clients see them: opaque, and good for one list of one tenant only.

use holdpoint_api::{ApiCode, PageQuery};
use holdpoint_store::{Cursor, LIST_LIMIT_MAX, Scope};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::Caller;
use crate::refusal::{Answer, Refusal};
use crate::seal::Purpose;

#[derive(Serialize, Deserialize)]
struct Sealed {
    /// Which list.
    l: String,
    /// Whose.
    t: Option<String>,
    /// Where, as the store says it.
    c: String,
}

impl App {
    /// The text for a client.
    pub(crate) fn next_page(&self, caller: &Caller, list: &str, next: Option<&Cursor>) -> Option<String> {
        let sealed = Sealed { l: list.to_owned(), t: tenant(&caller.scope), c: next?.as_str().to_owned() };
        Some(self.sealer.seal(Purpose::Cursor, &serde_json::to_vec(&sealed).unwrap_or_default()))
    }

    /// What a client sent back, and how many it wants.
    pub(crate) fn page(
        &self,
        caller: &Caller,
        list: &str,
        query: &PageQuery,
    ) -> Answer<(Option<Cursor>, Option<usize>)> {
        let most = u32::try_from(LIST_LIMIT_MAX).unwrap_or(u32::MAX);
        if query.limit.is_some_and(|limit| limit == 0 || limit > most) {
            return Err(Refusal::field("limit", format!("`limit` is 1 to {most}")));
        }
        let limit = query.limit.and_then(|limit| usize::try_from(limit).ok());
        let Some(text) = &query.cursor else { return Ok((None, limit)) };
        let opened = self.sealer.open(Purpose::Cursor, text);
        let sealed: Option<Sealed> = opened.and_then(|payload| serde_json::from_slice(&payload).ok());
        match sealed {
            Some(sealed) if sealed.l == list && sealed.t == tenant(&caller.scope) => {
                Ok((Some(Cursor::new(sealed.c)), limit))
            }
            Some(_) | None => Err(Refusal::new(ApiCode::InvalidCursor, "start the list again without a cursor")),
        }
    }
}

fn tenant(scope: &Scope) -> Option<String> {
    scope.tenant().map(str::to_owned)
}
