//! Versions of a database's schema.

use crate::{StoreError, StoreFault};

/// What to do with a database of an older version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Migrate {
    /// Bring it up to date; make its tables if there are none.
    #[default]
    Auto,
    /// Leave it as it is and fail with [`StoreFault::SchemaOlder`].
    Refuse,
}

/// Whether a program that knows version `known` may use a database of version `found`, where 0 is one without tables.
///
/// # Errors
/// [`StoreFault::SchemaNewer`], or [`StoreFault::SchemaOlder`] where it must not be migrated.
pub fn check_schema(found: u32, known: u32, migrate: Migrate) -> Result<(), StoreError> {
    let fault = match migrate {
        _ if found > known => StoreFault::SchemaNewer { found, known },
        Migrate::Refuse if found < known => StoreFault::SchemaOlder { found, known },
        Migrate::Auto | Migrate::Refuse => return Ok(()),
    };
    Err(StoreError::fault(fault, "open", "the schema has another version"))
}
