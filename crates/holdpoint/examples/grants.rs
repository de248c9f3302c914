//! A person says yes once, for the whole session: the next calls like it run without a question, until it is taken back.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::policy_fn;
use holdpoint::store::{GrantFilter, MemoryStore, Store};
use holdpoint::tools::{ToolCall, raw_tool};
use holdpoint::{Actor, Agent, Decision, Decisions, RememberRequest, Status};
use serde_json::json;

const HOUR_MS: u64 = 3_600_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::from(MemoryStore::new());
    let restart = || ScriptedReply::call("a", "restart", r#"{"host": "web-1"}"#);
    let script = vec![
        restart(),
        ScriptedReply::text("It is back."),
        restart(),
        ScriptedReply::text("It is back again."),
        restart(),
        ScriptedReply::text("Not this time."),
    ];
    let agent = Agent::builder()
        .model(ScriptedModel::new(script))
        .tool(raw_tool("restart", "Restarts a host", json!({"type": "object"}), async |_: ToolCall| {
            "restarted".to_owned()
        }))
        .policy(policy_fn(|_| Decision::confirm("hosts go down")))
        .store(store.clone())
        .build()?;
    let session = agent.session();

    // Exactly these arguments, in this session, for the next hour.
    let paused = session.chat("web-1 hangs").await?;
    let remember = RememberRequest::new().in_session().for_ms(HOUR_MS);
    session.resume(&paused, Decisions::new().allow("a").remember(remember).by("ana")).await?;

    // The policy still asks; what Ana said before is her answer.
    let second = session.chat("it hangs again").await?;
    println!("{}", second.text().unwrap_or_default());
    assert_eq!(second.tool_executions(), 1);

    // Whoever looks at the list takes it back.
    let listed = agent.runner().grants(&GrantFilter::default()).await?;
    let grant = &listed.grants[0].grant;
    println!("{} may be called as {:?} said", grant.tool, grant.actor.id);
    let eve = Actor { id: Some("eve".into()), ..Actor::default() };
    assert!(agent.runner().revoke_grant(None, &grant.id, &eve).await?);
    let third = session.chat("and again").await?;
    assert_eq!(third.status(), Status::AwaitingToolConfirmation);
    Ok(())
}
