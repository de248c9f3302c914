//! Pieces of SQL that many statements share.

/// The moment in microseconds: the given value, or the clock of the database where it is null.
macro_rules! now {
    ($given:literal) => {
        concat!("coalesce(", $given, "::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint)")
    };
}

/// The first part of a `with`: the moment, read once for a whole statement.
macro_rules! moment {
    ($given:literal) => {
        concat!("with moment as materialized (select ", $crate::sql::now!($given), " as now)")
    };
}

pub(crate) use {moment, now};
