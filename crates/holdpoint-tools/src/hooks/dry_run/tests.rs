//! Nothing executes, and the answer says what would have.

use holdpoint_core::{Outcome, Repeat};
use serde_json::json;

use super::*;
use crate::hooks::testing::{Stage, around_call};

#[tokio::test]
async fn nothing_executes_and_the_result_says_what_would_have() {
    let stage = Stage::new(vec![DryRun::new()], around_call("pay", Repeat::Never));
    let settlement = stage.run().await;
    assert_eq!((settlement.outcome, settlement.source), (Outcome::Succeeded, Some(Source::DryRun)));
    assert_eq!(stage.ran(), 0);
    let [Block::Json(json)] = &*settlement.result.blocks else { panic!("one JSON block") };
    let value: Value = serde_json::from_str(json.expose()).unwrap();
    assert_eq!(value, json!({"simulated": true, "would_call": "pay", "arguments": {"order": 7}}));
    assert_eq!(holdpoint_codec::canonical_json(json.expose()).unwrap(), json.expose());
}

#[tokio::test]
async fn tools_that_it_is_not_for_execute() {
    let of = |tool| Stage::new(vec![DryRun::for_tool("pay_*").unwrap()], around_call(tool, Repeat::Never));
    assert_eq!(of("pay_back").run().await.source, Some(Source::DryRun));
    assert_eq!(of("search").run().await.source, Some(Source::Tool));
    assert_eq!(DryRun::for_tool("").unwrap_err().field, "tool");
}
