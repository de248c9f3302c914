//! `holdpoint openapi`: the description of the API, for programs.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use crate::problem;

/// Write the OpenAPI 3.1 document of the server to standard output.
///
/// It is what a running server has at `/openapi.json`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct OpenapiArgs {}

const EXAMPLES: &str = "\
Examples:
  holdpoint openapi > openapi.json
  holdpoint openapi | jq '.paths | keys'";

/// 0 when it is written.
pub(crate) fn run(_: &OpenapiArgs) -> ExitCode {
    let text = match serde_json::to_string_pretty(&holdpoint_server::openapi()) {
        Ok(text) => text,
        Err(error) => return problem::failure(&error.to_string(), None),
    };
    match writeln!(io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => problem::failure(&format!("the output failed: {}", error.kind()), None),
    }
}
