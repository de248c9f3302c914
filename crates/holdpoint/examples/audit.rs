//! An audit log that can be proven: sealed, verified, and held against a seal that was kept elsewhere.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::policy_fn;
use holdpoint::store::{MemoryStore, SealMark, Store, VerifyRequest, verify};
use holdpoint::tools::raw_tool;
use holdpoint::{Actor, Agent, Decision, Decisions, Keeper, RunRequest};
use serde_json::json;
use tokio_util::sync::CancellationToken;

async fn refund(store: &Store) -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder()
        .model(ScriptedModel::new(vec![
            ScriptedReply::call("pay", "refund", r#"{"amount": 180}"#),
            ScriptedReply::text("The money is on its way."),
        ]))
        .tool(raw_tool("refund", "Pays money back", json!({"type": "object"}), async |_| "paid"))
        .policy(policy_fn(|_| Decision::confirm("money leaves the house")))
        .store(store.clone())
        .build()?;
    let customer = Actor { id: Some("zoe".into()), tenant: Some("acme".into()), ..Actor::default() };
    let paused = agent.chat(RunRequest::new("I want my money back.").by(customer)).await?;
    agent.resume(&paused, Decisions::new().allow("pay").by("ana")).await?;

    // A keeper seals what moved, every minute unless told otherwise, and once more when it stops.
    let stop = CancellationToken::new();
    stop.cancel();
    Keeper::new(agent.runner()).run(stop).await;
    Ok(())
}

async fn check(store: &Store, kept: &[SealMark]) -> Result<Vec<SealMark>, Box<dyn std::error::Error>> {
    let request = VerifyRequest { expected: kept.to_vec(), ..VerifyRequest::default() };
    let verified = verify(store, &request, &mut |_| {}).await?;
    println!("{} runs, {} audit rows, {} seals", verified.runs, verified.rows, verified.seals);
    for finding in &verified.findings {
        println!("  {finding}");
    }
    Ok(verified.newest)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::from(MemoryStore::new());
    refund(&store).await?;
    // Keep these where nobody who can change the store can change them: one short line for each tenant.
    let kept = check(&store, &[]).await?;
    println!("newest seal: {}", kept[0]);

    refund(&store).await?;
    assert_eq!(check(&store, &kept).await?[0].number, 2);

    // Somebody replaced everything by a history of their own, with chains and seals that fit.
    let forged: Store = Store::from(MemoryStore::new());
    refund(&forged).await?;
    check(&forged, &[]).await?;
    check(&forged, &kept).await?;
    Ok(())
}
