//! Tools that are a program.

mod argv;
mod output;
mod process;
mod program;
mod spec;
mod tool;

pub use argv::ARGUMENT_BYTES_MAX;
pub use output::STDERR_BYTES_MAX;
pub use spec::{CommandToolSpec, OUTPUT_BYTES_DEFAULT, OUTPUT_BYTES_MAX, OutputForm, StdinForm};
