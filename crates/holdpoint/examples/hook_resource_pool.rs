//! A resource pool: each call borrows a connection and gives it back, also when its tool fails or panics.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdpoint::hooks::{Lease, ResourcePool};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Agent, Parallel};
use serde_json::json;

struct Connection {
    number: usize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let opened = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&opened);
    let pool = ResourcePool::builder(2, move || {
        let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok::<_, std::io::Error>(Connection { number }) }
    });
    let pool = pool.tool("query").build()?;

    let query = raw_tool("query", "Asks the database", json!({"type": "object"}), async |call: ToolCall| {
        let connection = call.extension::<Lease<Connection>>().ok_or("no connection")?;
        if call.arguments().expose().contains("broken") {
            // A connection that no longer works is not lent again.
            connection.discard();
            return Err("the connection is broken");
        }
        Ok(format!("rows over connection {}", connection.number))
    });

    let calls = [("a", "query", "{}"), ("b", "query", "{}"), ("c", "query", "{}"), ("d", "query", "{}")];
    let broken = ScriptedReply::call("e", "query", r#"{"broken": true}"#);
    let agent = Agent::builder()
        .model(ScriptedModel::new(vec![ScriptedReply::calls(&calls), broken, ScriptedReply::text("done")]))
        .tool(query)
        .policy(AllowAll)
        .with_tool_concurrency("async", 10)
        .parallel(Parallel::All)
        .around(pool.clone())
        .build()?;
    let result = agent.chat("ask five times").await?;

    println!("{} connections for {} executions", opened.load(Ordering::SeqCst), result.tool_executions());
    assert!(opened.load(Ordering::SeqCst) <= 2);
    assert_eq!(result.tool_executions(), 5);
    assert_eq!(pool.in_use(), 0);
    assert_eq!(pool.idle(), opened.load(Ordering::SeqCst) - 1);
    Ok(())
}
