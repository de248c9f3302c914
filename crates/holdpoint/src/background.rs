//! What goes on beside the callers: supervision of runs, workers, their queue.

pub(crate) mod keeper;
pub(crate) mod patience;
pub(crate) mod queue;
pub(crate) mod stopping;
pub(crate) mod worker;
