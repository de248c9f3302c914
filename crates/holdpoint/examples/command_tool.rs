//! A tool that is a program, described by a table of the configuration.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::Context;
use holdpoint::tools::{Registry, ToolExecutor};
use holdpoint_endpoints::ToolSpec;
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec = ToolSpec::from_json(json!({
        "kind": "command",
        "description": "Says it loudly",
        "command": ["printf", "--", "%s!\n", "{words}"],
        "environment": ["LANG"],
        "timeout_ms": 5000,
        "parameters": {
            "type": "object",
            "properties": { "words": { "type": "array", "items": { "type": "string" } } },
            "required": ["words"],
        },
    }))?;
    let mut registry = Registry::new();
    registry.register_shared(spec.build("shout")?)?;
    let executor = ToolExecutor::with_registry(registry);

    // Each value is one argument of the program. No shell sees it.
    let words = json!({ "words": ["hello world", "$(rm -rf /)", "; reboot"] });
    let result = executor.execute("shout", words, &Context::new()).await;
    print!("{}", result.output);
    assert_eq!(result.output, "hello world!\n$(rm -rf /)!\n; reboot!\n");
    Ok(())
}
