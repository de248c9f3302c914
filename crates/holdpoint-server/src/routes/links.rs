//! Which answer leads to which request: the links of the OpenAPI document, for people who read it and for programs that try
//! it out.

use serde_json::{Map, Value, json};
use utoipa::openapi::link::LinkBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{OpenApi, RefOr};

/// From an operation and its status to another one: what its path needs, and its body.
struct Way {
    from: &'static str,
    status: &'static str,
    to: &'static str,
    id: &'static str,
    body: Option<Value>,
    why: &'static str,
}

/// Writes the links into the document.
pub(super) fn add(document: &mut OpenApi) {
    for way in ways() {
        let mut link = LinkBuilder::new().operation_id(way.to).description(way.why).parameter("id", way.id);
        if let Some(body) = way.body {
            link = link.request_body(Some(body));
        }
        let found = operations(document).find(|operation| operation.operation_id.as_deref() == Some(way.from));
        let response = found.and_then(|operation| operation.responses.responses.get_mut(way.status));
        if let Some(RefOr::T(response)) = response {
            response.links.insert(way.to.to_owned(), link.build().into());
        }
    }
}

fn operations(document: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    let items = document.paths.paths.values_mut();
    items.flat_map(|item| [&mut item.get, &mut item.post, &mut item.delete].into_iter().flatten())
}

fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for (from, status) in [("start_run", "201"), ("show_run", "200")] {
        let plain = |to, why| Way { from, status, to, id: RUN, body: None, why };
        ways.extend([
            Way { body: Some(allow()), ..plain("answer_run", "Allow the first call that waits") },
            Way { body: Some(result()), ..plain("deliver_results", "Bring the result of the first call that waits") },
            plain("follow_run", "Follow it"),
            plain("show_messages", "Read what was said"),
            plain("cancel_run", "End it"),
        ]);
    }
    ways.push(Way { from: "start_run", status: "201", to: "show_run", id: RUN, body: None, why: "Look at it again" });
    let answered = Way {
        from: "answer_run",
        status: "200",
        to: "deliver_results",
        id: RUN,
        body: Some(result()),
        why: "Bring the result of the first call that waits",
    };
    ways.push(answered);
    for (to, more, why) in [
        ("complete_task", json!({ "text": "done" }), "Bring its result"),
        ("fail_task", json!({ "started": false }), "Give it back"),
        ("heartbeat_task", json!({}), "Keep it longer"),
    ] {
        ways.push(Way {
            from: "lease_tasks",
            status: "200",
            to,
            id: "$response.body#/tasks/0/id",
            body: Some(leased(more)),
            why,
        });
    }
    let listed = |from, to, id, why| Way { from, status: "200", to, id, body: None, why };
    ways.push(listed("list_tasks", "requeue_task", "$response.body#/tasks/0/id", "Try a dead one again"));
    ways.push(listed("list_grants", "revoke_grant", "$response.body#/grants/0/id", "Take it back"));
    ways
}

/// Where the id of a run is in an answer.
const RUN: &str = "$response.body#/id";

fn allow() -> Value {
    let decision = json!({
        "call_id": "$response.body#/pending/0/id", "decision": "allow", "digest": "$response.body#/pending/0/digest",
    });
    json!({ "continuation_id": "$response.body#/continuation_id", "decisions": [decision] })
}

fn result() -> Value {
    let result = json!({ "call_id": "$response.body#/pending/0/id", "text": "done" });
    json!({ "continuation_id": "$response.body#/continuation_id", "results": [result] })
}

fn leased(more: Value) -> Value {
    let mut body = Map::from_iter([("lease".to_owned(), json!("$response.body#/tasks/0/lease"))]);
    if let Value::Object(more) = more {
        body.extend(more);
    }
    Value::Object(body)
}
