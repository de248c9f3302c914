//! Context attributes, as people write them in a terminal.

use clap::Args;
use holdpoint_codec::Context;
use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// Context attributes.
#[derive(Args, Clone, Debug)]
pub(crate) struct ContextArgs {
    /// A context attribute; a value that is not JSON is a text. May be given several times.
    #[arg(long = "context", value_name = "KEY=VALUE")]
    given: Vec<String>,
}

impl ContextArgs {
    /// Failures do not show the values.
    pub(crate) fn read(&self) -> Outcome<Context> {
        self.given.iter().try_fold(Context::new(), |context, given| {
            let attribute = given.split_once('=').filter(|(key, _)| !key.is_empty());
            let (key, value) = attribute.ok_or_else(|| {
                let failure = Failure::usage("`--context` needs a key and a value");
                failure.hint("write `--context KEY=VALUE`, as in `--context user_id=7`")
            })?;
            Ok(context.with(key, serde_json::from_str::<Value>(value).unwrap_or_else(|_| value.into())))
        })
    }
}
