//! `holdpoint openapi`: the description of the API, for programs.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use crate::failure::Outcome;

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

pub(crate) fn run(_: OpenapiArgs) -> Outcome {
    let document = serde_json::to_string_pretty(&holdpoint_server::openapi()).map_err(io::Error::from)?;
    writeln!(io::stdout(), "{document}")?;
    Ok(ExitCode::SUCCESS)
}
