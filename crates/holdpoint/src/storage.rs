//! What is asked of a store beside driving runs.

pub(crate) mod grants;
pub(crate) mod open_store;
pub(crate) mod recorded;
pub(crate) mod store_key;
