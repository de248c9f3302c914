//! Shapes of the message itself: what the model said, and how.

use serde_json::{Value, json};

use crate::server::{Answer, stream};
use crate::wire::{
    ASKS, Api, Call, Counts, Finish, Reply, SAYS, USAGE, anthropic, chat, event, frames, gemini, responses,
};

pub(crate) const TWO: &[(&str, &str)] =
    &[("get_weather", "{\"city\":\"Oslo\"}"), ("get_weather", "{\"city\":\"Rome\"}")];
pub(crate) const UNKNOWN: &[(&str, &str)] = &[("drop_tables", "{}")];
pub(crate) const BLANK: &[(&str, &str)] = &[("", "{}")];

const OSLO: &[&str] = &["{\"city\":", "\"Oslo\"}"];
const ROME: &[&str] = &["{\"city\":", "\"Rome\"}"];

fn sends(api: Api, reply: &Reply<'_>) -> Option<Vec<Answer>> {
    Some(vec![stream(&frames(api, reply))])
}

fn asks(api: Api, calls: &[Call<'_>]) -> Option<Vec<Answer>> {
    sends(api, &Reply { text: &[], calls, finish: Finish::Tools, usage: USAGE })
}

pub(crate) fn nothing_said(api: Api) -> Option<Vec<Answer>> {
    sends(api, &Reply { text: &[], calls: &[], finish: Finish::Done, usage: USAGE })
}

pub(crate) fn null_content(api: Api) -> Option<Vec<Answer>> {
    let mut all = frames(api, &Reply { text: &[], calls: &[], finish: Finish::Done, usage: USAGE });
    match api {
        Api::Chat => all.insert(1, chat::chunk(&json!({"content": null, "tool_calls": null}), None)),
        Api::Gemini => {
            let null = json!({"candidates": [{"content": null, "finishReason": "STOP"}]});
            all = vec![crate::wire::data(&null)];
        }
        Api::Responses => {
            let item = json!({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": null}]});
            all.insert(
                1,
                event(&json!({"type": "response.output_item.done", "sequence_number": 1, "output_index": 0,
                "item": item})),
            );
        }
        // Every piece of its text says of which type it is.
        Api::Anthropic => return None,
    }
    Some(vec![stream(&all)])
}

pub(crate) fn same_ids(api: Api) -> Option<Vec<Answer>> {
    let call = |arguments| Call { id: Some("call_a"), name: "get_weather", arguments };
    asks(api, &[call(OSLO), call(ROME)])
}

pub(crate) fn no_ids(api: Api) -> Option<Vec<Answer>> {
    // The library that reads this protocol takes no call without one.
    let id = (api == Api::Anthropic).then_some("");
    let call = |arguments| Call { id, name: "get_weather", arguments };
    asks(api, &[call(OSLO), call(ROME)])
}

/// The call of [`ASKS`], with each event changed.
fn changed(api: Api, change: impl Fn(&mut Value)) -> Option<Vec<Answer>> {
    let change = |frame: &String| {
        let Some((head, json)) = frame.split_once("data: ") else { return frame.clone() };
        let Ok(mut value) = serde_json::from_str::<Value>(json) else { return frame.clone() };
        change(&mut value);
        format!("{head}data: {value}\n\n")
    };
    Some(vec![stream(&frames(api, &ASKS).iter().map(change).collect::<Vec<_>>())])
}

pub(crate) fn no_index(api: Api) -> Option<Vec<Answer>> {
    let remove = |value: &mut Value, name: &str| {
        value.as_object_mut().unwrap().remove(name);
    };
    changed(api, |value| match api {
        Api::Chat => {
            for choice in value["choices"].as_array_mut().unwrap() {
                remove(choice, "index");
                for call in choice["delta"]["tool_calls"].as_array_mut().into_iter().flatten() {
                    remove(call, "index");
                }
            }
        }
        Api::Responses => remove(value, "output_index"),
        Api::Anthropic => remove(value, "index"),
        Api::Gemini => remove(&mut value["candidates"][0], "index"),
    })
}

pub(crate) fn object_arguments(api: Api) -> Option<Vec<Answer>> {
    let arguments = json!({"city": "Oslo é"});
    let call = &ASKS.calls[0];
    let none = Reply { calls: &[], ..ASKS };
    let mut all = frames(api, &none);
    match api {
        Api::Chat => {
            let mut value = chat::call(0, call);
            value["function"]["arguments"] = arguments;
            all.insert(1, chat::chunk(&json!({"tool_calls": [value]}), None));
        }
        Api::Responses => {
            let mut item = responses::item(0, call, "", "completed");
            item["arguments"] = arguments;
            let done =
                json!({"type": "response.output_item.done", "sequence_number": 1, "output_index": 0, "item": item});
            let end = json!({"type": "response.completed", "sequence_number": 2,
                "response": responses::response("completed", &json!([item]))});
            all.truncate(1);
            all.extend([event(&done), event(&end)]);
        }
        Api::Anthropic => {
            all.insert(1, anthropic::start(0, &anthropic::tool(call, &arguments)));
            all.insert(2, anthropic::stop(0));
        }
        Api::Gemini => {
            all.insert(
                0,
                gemini::chunk(&json!([{"functionCall": {"name": call.name, "args": arguments}}]), None, USAGE),
            );
        }
    }
    Some(vec![stream(&all)])
}

pub(crate) fn bad_arguments(api: Api) -> Option<Vec<Answer>> {
    if api == Api::Gemini {
        // Its arguments are JSON by their nature; this is the nearest.
        let part = json!([{"functionCall": {"name": "get_weather", "args": "{\"city\":oops"}}]);
        let frame = gemini::chunk(&part, Some("STOP"), USAGE);
        return Some(vec![stream(&[frame])]);
    }
    asks(api, &[Call { id: Some("call_a"), name: "get_weather", arguments: &["{\"city\":", "oops"] }])
}

pub(crate) fn no_room_for_call(api: Api) -> Option<Vec<Answer>> {
    let calls = &[Call { id: Some("call_a"), name: "get_weather", arguments: &["{\"city\":", "\"Os"] }];
    let reply = Reply { text: &[], calls, finish: Finish::Length, usage: USAGE };
    // Gemini sends calls whole or not at all.
    if api == Api::Gemini { None } else { sends(api, &reply) }
}

pub(crate) fn no_room_for_arguments(api: Api) -> Option<Vec<Answer>> {
    let calls = &[Call { id: Some("call_a"), name: "get_weather", arguments: &[] }];
    let reply = Reply { text: &[], calls, finish: Finish::Length, usage: USAGE };
    if api == Api::Gemini { None } else { sends(api, &reply) }
}

pub(crate) fn stopped_before_arguments(api: Api) -> Option<Vec<Answer>> {
    let calls = &[Call { id: Some("call_a"), name: "get_weather", arguments: &[] }];
    let reply = Reply { text: &[], calls, finish: Finish::Unknown, usage: USAGE };
    if api == Api::Gemini { None } else { sends(api, &reply) }
}

pub(crate) fn unknown_tool(api: Api) -> Option<Vec<Answer>> {
    asks(api, &[Call { id: Some("call_a"), name: "drop_tables", arguments: &["{}"] }])
}

pub(crate) fn blank_tool(api: Api) -> Option<Vec<Answer>> {
    asks(api, &[Call { id: Some("call_a"), name: "", arguments: &["{}"] }])
}

pub(crate) fn no_reason(api: Api) -> Option<Vec<Answer>> {
    match api {
        Api::Chat | Api::Anthropic => sends(api, &Reply { finish: Finish::Missing, ..SAYS }),
        // The reason is the end there.
        Api::Responses | Api::Gemini => None,
    }
}

pub(crate) fn unknown_reason(api: Api) -> Option<Vec<Answer>> {
    sends(api, &Reply { finish: Finish::Unknown, ..SAYS })
}

pub(crate) fn filtered(api: Api) -> Option<Vec<Answer>> {
    sends(api, &Reply { finish: Finish::Filter, ..SAYS })
}

pub(crate) fn cut_by_limit(api: Api) -> Option<Vec<Answer>> {
    sends(api, &Reply { finish: Finish::Length, ..SAYS })
}

pub(crate) fn no_usage(api: Api) -> Option<Vec<Answer>> {
    sends(api, &Reply { usage: Counts::Missing, ..SAYS })
}

pub(crate) fn negative_usage(api: Api) -> Option<Vec<Answer>> {
    sends(api, &Reply { usage: Counts::Given { input: "-7", output: "-5" }, ..SAYS })
}

pub(crate) fn huge_usage(api: Api) -> Option<Vec<Answer>> {
    let most = "99999999999999999999999999";
    sends(api, &Reply { usage: Counts::Given { input: most, output: "2147483647" }, ..SAYS })
}
