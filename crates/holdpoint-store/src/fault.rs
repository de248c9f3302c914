//! Why a store fails, in words that people can act on.

use holdpoint_core::Code;
use thiserror::Error;

/// The reason of a failure.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreFault {
    /// The address is not one of a store.
    #[error("the address is not one of a store")]
    InvalidUrl,
    /// There is no such database, folder or server.
    #[error("there is no such database")]
    Missing,
    /// The database does not let this user in.
    #[error("the database does not let this user in")]
    NotPermitted,
    /// It cannot be reached right now, or the connection broke.
    #[error("the database cannot be reached")]
    Unavailable,
    /// Somebody else holds its lock for too long.
    #[error("the database is locked")]
    Locked,
    /// It can be read and not written.
    #[error("the database is read-only")]
    ReadOnly,
    /// There is no room left.
    #[error("the disk is full")]
    Full,
    /// What it holds cannot be read.
    #[error("what is stored cannot be read")]
    Corrupt,
    /// A newer version of Holdpoint made it.
    #[error("the database has schema version {found}, this program knows {known}")]
    SchemaNewer {
        /// Its version.
        found: u32,
        /// The newest that this program knows.
        known: u32,
    },
    /// An older version of Holdpoint made it, and this program may not bring it up to date.
    #[error("the database has schema version {found}, this program needs {known}")]
    SchemaOlder {
        /// Its version.
        found: u32,
        /// The one that this program needs.
        known: u32,
    },
    /// Those who use it sign with another key.
    #[error("those who use the database sign with the key `{theirs}`, and not with `{brought}`")]
    OtherKey {
        /// The public half of theirs.
        theirs: String,
        /// The public half of the one that was brought.
        brought: String,
    },
}

impl StoreFault {
    /// Whether it may be gone a little later without anybody doing something.
    pub fn may_pass(&self) -> bool {
        match self {
            StoreFault::Unavailable | StoreFault::Locked | StoreFault::Full => true,
            StoreFault::InvalidUrl
            | StoreFault::Missing
            | StoreFault::NotPermitted
            | StoreFault::ReadOnly
            | StoreFault::Corrupt
            | StoreFault::SchemaNewer { .. }
            | StoreFault::SchemaOlder { .. }
            | StoreFault::OtherKey { .. } => false,
        }
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            StoreFault::InvalidUrl => Code::InvalidStoreUrl,
            StoreFault::Missing => Code::StoreMissing,
            StoreFault::NotPermitted => Code::StoreNotPermitted,
            StoreFault::Unavailable => Code::StoreUnavailable,
            StoreFault::Locked => Code::StoreLocked,
            StoreFault::ReadOnly => Code::StoreReadOnly,
            StoreFault::Full => Code::StoreFull,
            StoreFault::Corrupt => Code::StoreCorrupt,
            StoreFault::SchemaNewer { .. } => Code::StoreSchemaNewer,
            StoreFault::SchemaOlder { .. } => Code::StoreSchemaOlder,
            StoreFault::OtherKey { .. } => Code::StoreOtherKey,
        }
    }

    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            StoreFault::InvalidUrl => "write `sqlite:PATH`, `postgres://USER@HOST/DATABASE` or `memory`",
            StoreFault::Missing => "create the database or the folder first, or correct the address",
            StoreFault::NotPermitted => "check the user, the password and the permissions of the database",
            StoreFault::Unavailable => "is the database running, and does the address name its host and port?",
            StoreFault::Locked => "another program keeps the database locked; end it or try again",
            StoreFault::ReadOnly => "make the file and its folder writable, or connect to the primary server",
            StoreFault::Full => "make room on the disk; nothing that was acknowledged is lost",
            StoreFault::Corrupt => "restore the database from a backup",
            StoreFault::SchemaNewer { .. } => "use the newer version of Holdpoint that made this database",
            StoreFault::SchemaOlder { .. } => "run `holdpoint migrate` first",
            StoreFault::OtherKey { .. } => {
                "copy the key file of the other servers; to change the key, end them all and use `serve --new-key`"
            }
        }
    }
}
