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

/// Tasks of a run, by the run's id. A subquery and not a join, so that every plan goes by the key: a plan that was made while the
/// table was empty would otherwise read the whole index.
macro_rules! of_run {
    ($run:literal) => {
        concat!("t.run_no = (select run_no from holdpoint_runs where run_id = ", $run, ")")
    };
}

/// The task of a call.
macro_rules! of_call {
    ($run:literal, $turn:literal, $index:literal) => {
        concat!($crate::sql::of_run!($run), " and t.turn = ", $turn, " and t.call_index = ", $index)
    };
}

pub(crate) use {moment, now, of_call, of_run};
