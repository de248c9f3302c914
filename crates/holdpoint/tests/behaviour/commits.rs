//! How many commits a run costs.

use crate::common;

use common::{Counter, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::{Agent, Status};
use holdpoint_store::{FaultyStore, MemoryStore};

async fn commits(script: Vec<ScriptedReply>) -> (u64, Status) {
    let store = FaultyStore::new(MemoryStore::new());
    let builder = Agent::builder().model(ScriptedModel::new(script)).policy(by_name()).store(store.store());
    let agent = builder.tool(echo("work", &Counter::default())).build().unwrap();
    let result = agent.chat("go").await.unwrap();
    (store.commits(), result.status())
}

#[tokio::test]
async fn a_turn_without_a_call_costs_two_commits() {
    assert_eq!(commits(vec![ScriptedReply::text("done")]).await, (2, Status::Finished));
}

#[tokio::test]
async fn a_call_costs_two_more_and_a_denied_one_none() {
    let with = |tool| vec![ScriptedReply::call("a", tool, "{}"), ScriptedReply::text("done")];
    assert_eq!(commits(with("work")).await, (4, Status::Finished));
    let (denied, status) = commits(with("nobody")).await;
    assert!(denied <= 3, "{denied} commits");
    assert_eq!(status, Status::Finished);
}

#[tokio::test]
async fn calls_beside_each_other_share_their_commits() {
    let calls = [("a", "work", "{}"), ("b", "work", "{}"), ("c", "work", "{}")];
    let (commits, _) = commits(vec![ScriptedReply::calls(&calls), ScriptedReply::text("done")]).await;
    assert!(commits <= 4 + 2 * 2, "{commits} commits");
}
