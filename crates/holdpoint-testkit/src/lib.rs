//! Scenarios: runs driven by a scripted model and scripted tools.
//!
//! A scenario is one YAML file. [`parse`] reads it, [`run_path`] runs files and folders of them, and each gives a
//! [`Report`]: what was expected and what was seen where they first differ. Everything goes through the public entry
//! points of the library; no rule of how a run behaves lives here.

mod death;
mod expect;
mod jobs;
mod ledger;
mod log_capture;
mod observe;
mod observed;
mod payload;
mod perform;
mod place;
mod report;
mod runner;
mod scenario;
mod scripted_tool;
mod store_choice;
mod world;

pub use expect::Difference;
pub use report::{Report, Summary, Verdict};
pub use runner::{RunOptions, run_each, run_file, run_path, run_text};
pub use scenario::{SCENARIO_BYTES_MAX, Scenario, parse, parse_script};
pub use store_choice::StoreChoice;
