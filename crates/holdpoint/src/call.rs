//! One call: the lease under which its tool starts.

pub(crate) mod lease;
