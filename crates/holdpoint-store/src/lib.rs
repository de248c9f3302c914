//! The store contract, the memory store and the conformance suite.
//!
//! A store keeps, per run, an append-only list of records and a small [`Head`] that lists and timers need. It never
//! reads a record: what is in it is the codec's business. [`Store`] says what every store promises, [`conformance`]
//! checks it, [`MemoryStore`] is the first one, and [`FaultyStore`] breaks any of them on purpose.

mod clock;
pub mod conformance;
mod error;
mod faulty;
mod memory;
mod run_list;
mod store;
mod transition;

pub use clock::{Clock, ManualClock, SystemClock};
pub use error::{CommitError, StoreError, TransitionProblem};
pub use faulty::{FaultPoint, FaultyStore};
pub use memory::MemoryStore;
pub use run_list::{Cursor, LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, RunFilter, RunPage};
pub use store::{DUE_LIMIT_MAX, Store};
pub use transition::{
    Head, HeadUpdate, RECORD_BYTES_MAX, RUN_ID_BYTES_MAX, Record, TRANSITION_RECORDS_MAX, Transition,
};
