//! Seeded simulator: one seed is one world with its own disk, processes, people, workers, clock and faults.
//!
//! Processes follow `holdpoint_core::Conductor` as the async driver does; checkers look on. A world that a seed made
//! can be made again from it.

mod arrivals;
mod checks;
mod coverage;
mod disk;
mod driver;
mod executor;
mod history;
mod people;
mod probe;
mod process;
mod queue;
mod quiet;
mod random;
mod script;
mod stored;
mod tools;
mod workers;
mod world;

pub use checks::{CHECKS, Violation};
pub use coverage::Coverage;
pub use world::{Report, Tracing, simulate};
