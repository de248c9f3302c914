//! One call: performed by a driver or a worker, under the lease that lets its tool start.

pub(crate) mod lease;
pub(crate) mod perform;
