//! Fuzz targets for everything that is read from outside.
//!
//! A [`Plan`] is a list of edits to a file that is known to be good. [`fuzz`] draws plans, runs a target on what comes of
//! them, and makes a plan that fails as small as it can. Edited files reach far deeper than random bytes, which is what
//! makes fuzzing without coverage, on a stable compiler, worth the time.

mod fuzz;
mod mutate;
mod plan;
pub mod targets;

pub use fuzz::{Finding, Session, Until, fuzz};
pub use mutate::mutated;
pub use plan::{Edit, Kind, Plan};
pub use targets::Target;
