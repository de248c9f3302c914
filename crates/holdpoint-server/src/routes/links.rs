//! Which answer leads to which request: the links of the OpenAPI document, for people who read it and for programs that try
//! it out. `links.json` has them by operation, status and name.

use std::collections::BTreeMap;

use utoipa::openapi::link::Link;
use utoipa::openapi::{OpenApi, RefOr};

type Links = BTreeMap<String, BTreeMap<String, BTreeMap<String, Link>>>;

/// Writes the links into the document.
pub(super) fn add(document: &mut OpenApi) {
    let mut links: Links = serde_json::from_str(include_str!("links.json")).expect("a file of this crate");
    let items = document.paths.paths.values_mut();
    let operations = items.flat_map(|item| [&mut item.get, &mut item.post, &mut item.delete].into_iter().flatten());
    for operation in operations {
        let id = operation.operation_id.as_deref().unwrap_or_default();
        for (status, links) in links.remove(id).unwrap_or_default() {
            if let Some(RefOr::T(response)) = operation.responses.responses.get_mut(&status) {
                response.links.extend(links.into_iter().map(|(name, link)| (name, link.into())));
            }
        }
    }
}
