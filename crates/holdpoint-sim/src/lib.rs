//! Seeded simulator: one seed is one world with its own disk, processes, people, workers, clock and faults.
//!
//! Processes follow `holdpoint_core::Conductor` as the async driver does; checkers look on. A world that a seed made
//! can be made again from it.

mod arrivals;
mod backing;
mod checks;
mod commit;
mod coverage;
mod disk;
mod driver;
mod executor;
mod grants;
mod history;
mod leases;
mod machine;
mod mistake;
mod model;
mod people;
mod probe;
mod process;
mod queue;
mod quiet;
mod random;
mod real;
mod script;
mod storage;
mod stored;
mod tools;
mod transition;
mod workers;
mod world;

pub use backing::{Backing, Layer};
pub use checks::{CHECKS, Violation};
pub use coverage::Coverage;
pub use mistake::Mistake;
pub use world::{Report, STORE, Setup, Tracing, simulate, simulate_as};
