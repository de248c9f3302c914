//! A tool that is an HTTP endpoint, described by a table of the configuration.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use axum::extract::Path;
use axum::http::HeaderMap;
use axum::routing::post;
use holdpoint::Agent;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::AllowAll;
use holdpoint_endpoints::{Surroundings, ToolSpec};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The service: it would be somebody else's.
    let refund = |Path(order): Path<String>, headers: HeaderMap, body: String| async move {
        assert!(headers.contains_key("idempotency-key") && headers["authorization"] == "Bearer t0ken");
        format!("refunded order {order}: {body}")
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let service = axum::Router::new().route("/orders/{order}/refund", post(refund));
    tokio::spawn(async move { axum::serve(listener, service).await });

    let spec = ToolSpec::from_json(json!({
        "kind": "http",
        "description": "Pays money back",
        "url": format!("http://{address}/orders/{{order}}/refund"),
        "allow_private": true,
        "headers": { "Authorization": { "env": "REFUND_TOKEN", "prefix": "Bearer " } },
        "repeat": "with_key",
        "parameters": {
            "type": "object",
            "properties": { "order": { "type": "string" }, "amount": { "type": "integer" } },
            "required": ["order", "amount"],
        },
    }))?;
    let surroundings = Surroundings::default().with_environment(|_| Some("t0ken".to_owned()));

    let model = ScriptedModel::new(vec![
        ScriptedReply::call("pay", "refund", r#"{"order": "A-42", "amount": 180}"#),
        ScriptedReply::text("The money is on its way."),
    ]);
    let agent =
        Agent::builder().model(model).tools([spec.build_in("refund", &surroundings)?]).policy(AllowAll).build()?;
    let run = agent.chat("I want my money back.").await?;
    println!("{}", run.text().unwrap_or_default());
    assert!(run.records().iter().all(|record| record.code.is_none()), "the refund was paid");
    Ok(())
}
