//! Tools that are a program.

mod argv;
mod output;
mod process;
mod program;
mod spec;
mod tool;

pub use spec::{CommandToolSpec, OutputForm, StdinForm};
