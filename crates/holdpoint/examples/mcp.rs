//! Tools of an MCP server, and what is done about one that was not there at the start.
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use holdpoint::mcp::{McpServers, ServerConfig};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::{Agent, Decision};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Installed by `./scripts/mcp-servers`; yours is whatever `command` or `url` says.
    let programs = std::env::var("HOLDPOINT_TEST_MCP").unwrap_or_else(|_| "target/mcp-servers".to_owned());
    let time = ServerConfig::stdio([format!("{programs}/python/bin/mcp-server-time")]);
    let servers = McpServers::connect([("time", ServerConfig { offer: vec!["get_*".to_owned()], ..time })]).await?;

    // What nobody accepted is listed for people, and offered to no model.
    for tool in servers.report().iter().flat_map(|server| &server.tools) {
        println!("{} {:?}", tool.registered, tool.status);
    }

    let model = ScriptedModel::new(vec![
        ScriptedReply::call("a", "time__get_current_time", r#"{"timezone": "Europe/Lisbon"}"#),
        ScriptedReply::text("That is the time in Lisbon."),
    ]);
    let agent = Agent::builder()
        .model(model)
        .tools(servers.tools())
        .policy(holdpoint::policy::policy_fn(|request| match request.tool.as_str() {
            "time__get_current_time" => Decision::allow(),
            _ => Decision::confirm("a tool of a server"),
        }))
        .build()?;
    let run = agent.chat("What time is it in Lisbon?").await?;
    println!("{}", run.text().unwrap_or_default());

    // Somebody looked at this tool, and accepts it as it is: from the next run on it is offered.
    let convert =
        servers.report()[0].tools.iter().find(|tool| tool.name == "convert_time").ok_or("no such tool")?.digest;
    servers.accept("time", "convert_time", convert)?;
    let agent = agent.with_tools(servers.tools())?;
    println!("{} tools", agent.config().tools.len());
    servers.close().await;
    Ok(())
}
