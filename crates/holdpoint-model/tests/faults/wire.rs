//! What each provider would put on the wire for a reply.

use serde_json::{Value, json};

/// Whose protocol it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Responses,
    Anthropic,
    Gemini,
}

impl Api {
    pub(crate) const ALL: [Api; 4] = [Api::Chat, Api::Responses, Api::Anthropic, Api::Gemini];
}

/// Why the model stopped, in the words of each provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Done,
    Tools,
    Length,
    Filter,
    Unknown,
    Missing,
}

/// A call as the provider sends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) name: &'a str,
    /// The pieces of its arguments; one text of JSON for Gemini.
    pub(crate) arguments: &'a [&'a str],
}

/// A whole reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) text: &'a [&'a str],
    pub(crate) calls: &'a [Call<'a>],
    pub(crate) finish: Finish,
    pub(crate) usage: Counts<'a>,
}

/// Tokens read and written, as JSON texts, so that they may be nonsense.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counts<'a> {
    Given { input: &'a str, output: &'a str },
    Missing,
}

pub(crate) const USAGE: Counts<'static> = Counts::Given { input: "7", output: "5" };

pub(crate) const SAYS: Reply<'static> =
    Reply { text: &["Hel", "lo é!"], calls: &[], finish: Finish::Done, usage: USAGE };

pub(crate) const ASKS: Reply<'static> = Reply {
    text: &[],
    calls: &[Call { id: Some("call_a"), name: "get_weather", arguments: &["{\"city\":", "\"Oslo é\"}"] }],
    finish: Finish::Tools,
    usage: USAGE,
};

/// The reply cut into the pieces that are sent one by one: server-sent events, each with its blank line. The last piece
/// is the end marker, the one before it the finish.
pub(crate) fn frames(api: Api, reply: &Reply<'_>) -> Vec<String> {
    match api {
        Api::Chat => chat::frames(reply),
        Api::Responses => responses::frames(reply),
        Api::Anthropic => anthropic::frames(reply),
        Api::Gemini => gemini::frames(reply),
    }
}

/// How many pieces at the end of [`frames`] make up the end.
pub(crate) fn ending(api: Api) -> usize {
    match api {
        Api::Chat => 3,
        Api::Responses | Api::Gemini => 1,
        Api::Anthropic => 2,
    }
}

pub(crate) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

pub(crate) fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

pub(crate) mod chat {
    use super::*;

    pub(crate) fn chunk(delta: &Value, finish: Option<&str>) -> String {
        data(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    }

    pub(crate) fn call(index: usize, call: &Call<'_>) -> Value {
        let mut value = json!({"index": index, "type": "function", "function": {"name": call.name, "arguments": ""}});
        if let Some(id) = call.id {
            value["id"] = json!(id);
        }
        value
    }

    pub(crate) fn frames(reply: &Reply<'_>) -> Vec<String> {
        let mut frames = vec![chunk(&json!({"role": "assistant", "content": ""}), None)];
        frames.extend(reply.text.iter().map(|text| chunk(&json!({"content": text}), None)));
        for (index, one) in reply.calls.iter().enumerate() {
            frames.push(chunk(&json!({"tool_calls": [call(index, one)]}), None));
            frames.extend(one.arguments.iter().map(|piece| {
                chunk(&json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}), None)
            }));
        }
        let finish = match reply.finish {
            Finish::Done => Some("stop"),
            Finish::Tools => Some("tool_calls"),
            Finish::Length => Some("length"),
            Finish::Filter => Some("content_filter"),
            Finish::Unknown => Some("tired"),
            Finish::Missing => None,
        };
        frames.push(chunk(&json!({}), finish));
        let usage = match reply.usage {
            Counts::Given { input, output } => json!({"prompt_tokens": number(input),
                "completion_tokens": number(output), "total_tokens": 12}),
            Counts::Missing => Value::Null,
        };
        frames.push(data(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [], "usage": usage})));
        frames.push("data: [DONE]\n\n".to_owned());
        frames
    }
}

pub(crate) mod responses {
    use super::*;

    fn message(text: &str, status: &str) -> Value {
        json!({"type": "message", "id": "msg_1", "status": status, "role": "assistant",
            "content": if text.is_empty() { json!([]) } else {
                json!([{"type": "output_text", "text": text, "annotations": []}]) }})
    }

    pub(crate) fn item(index: usize, call: &Call<'_>, arguments: &str, status: &str) -> Value {
        let mut value = json!({"type": "function_call", "id": format!("fc_{index}"), "name": call.name,
            "arguments": arguments, "status": status});
        if let Some(id) = call.id {
            value["call_id"] = json!(id);
        }
        value
    }

    pub(crate) fn response(status: &str, output: &Value) -> Value {
        json!({"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status,
            "output": output})
    }

    pub(crate) fn frames(reply: &Reply<'_>) -> Vec<String> {
        let mut frames = vec![event(&json!({"type": "response.created", "sequence_number": 0,
            "response": response("in_progress", &json!([]))}))];
        let mut output = Vec::new();
        if !reply.text.is_empty() {
            let whole = reply.text.concat();
            frames.push(event(&json!({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0,
                "item": message("", "in_progress")})));
            frames.extend(reply.text.iter().map(|text| {
                event(&json!({"type": "response.output_text.delta", "sequence_number": 2, "item_id": "msg_1",
                    "output_index": 0, "content_index": 0, "delta": text}))
            }));
            output.push(message(&whole, "completed"));
            frames.push(event(&json!({"type": "response.output_item.done", "sequence_number": 3, "output_index": 0,
                "item": message(&whole, "completed")})));
        }
        for (index, call) in reply.calls.iter().enumerate() {
            let at = output.len();
            let whole = call.arguments.concat();
            frames.push(event(&json!({"type": "response.output_item.added", "sequence_number": 4,
                "output_index": at, "item": item(index, call, "", "in_progress")})));
            frames.extend(call.arguments.iter().map(|piece| {
                event(&json!({"type": "response.function_call_arguments.delta", "sequence_number": 5,
                    "item_id": format!("fc_{index}"), "output_index": at, "delta": piece}))
            }));
            if reply.finish != Finish::Length {
                frames.push(event(&json!({"type": "response.output_item.done", "sequence_number": 6,
                    "output_index": at, "item": item(index, call, &whole, "completed")})));
            }
            output.push(item(index, call, &whole, "completed"));
        }
        frames.push(end(reply, &json!(output)));
        frames
    }

    fn end(reply: &Reply<'_>, output: &Value) -> String {
        let (kind, status, reason) = match reply.finish {
            Finish::Done | Finish::Tools | Finish::Missing => ("response.completed", "completed", None),
            Finish::Length => ("response.incomplete", "incomplete", Some("max_output_tokens")),
            Finish::Filter => ("response.incomplete", "incomplete", Some("content_filter")),
            Finish::Unknown => ("response.incomplete", "incomplete", Some("tired")),
        };
        let mut whole = response(status, output);
        if let Some(reason) = reason {
            whole["incomplete_details"] = json!({"reason": reason});
        }
        if let Counts::Given { input, output } = reply.usage {
            whole["usage"] =
                json!({"input_tokens": number(input), "output_tokens": number(output), "total_tokens": 12});
        }
        event(&json!({"type": kind, "sequence_number": 9, "response": whole}))
    }
}

pub(crate) mod anthropic {
    use super::*;

    pub(crate) fn delta(index: usize, delta: &Value) -> String {
        event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
    }

    pub(crate) fn start(index: usize, block: &Value) -> String {
        event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
    }

    pub(crate) fn stop(index: usize) -> String {
        event(&json!({"type": "content_block_stop", "index": index}))
    }

    pub(crate) fn tool(call: &Call<'_>, input: &Value) -> Value {
        let mut block = json!({"type": "tool_use", "name": call.name, "input": input});
        if let Some(id) = call.id {
            block["id"] = json!(id);
        }
        block
    }

    pub(crate) fn frames(reply: &Reply<'_>) -> Vec<String> {
        let mut begin = json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "model": "m", "content": [], "stop_reason": null, "stop_sequence": null}});
        if let Counts::Given { input, .. } = reply.usage {
            begin["message"]["usage"] = json!({"input_tokens": number(input), "output_tokens": 1});
        }
        let mut frames = vec![event(&begin)];
        let texts = usize::from(!reply.text.is_empty());
        if texts > 0 {
            frames.push(start(0, &json!({"type": "text", "text": ""})));
            frames.extend(reply.text.iter().map(|text| delta(0, &json!({"type": "text_delta", "text": text}))));
            frames.push(stop(0));
        }
        for (at, call) in reply.calls.iter().enumerate() {
            let index = at + texts;
            frames.push(start(index, &tool(call, &json!({}))));
            frames.extend(
                call.arguments
                    .iter()
                    .map(|piece| delta(index, &json!({"type": "input_json_delta", "partial_json": piece}))),
            );
            if reply.finish != Finish::Length || at + 1 < reply.calls.len() {
                frames.push(stop(index));
            }
        }
        let reason = match reply.finish {
            Finish::Done => json!("end_turn"),
            Finish::Tools => json!("tool_use"),
            Finish::Length => json!("max_tokens"),
            Finish::Filter => json!("refusal"),
            Finish::Unknown => json!("tired"),
            Finish::Missing => Value::Null,
        };
        let mut end = json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}});
        if let Counts::Given { output, .. } = reply.usage {
            end["usage"] = json!({"output_tokens": number(output)});
        }
        frames.push(event(&end));
        frames.push(event(&json!({"type": "message_stop"})));
        frames
    }
}

pub(crate) mod gemini {
    use super::*;

    pub(crate) fn chunk(parts: &Value, finish: Option<&str>, usage: Counts<'_>) -> String {
        let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        let mut whole = json!({"candidates": [candidate], "modelVersion": "m"});
        if let Counts::Given { input, output } = usage {
            whole["usageMetadata"] = json!({"promptTokenCount": number(input),
                "candidatesTokenCount": number(output), "totalTokenCount": 12});
        }
        data(&whole)
    }

    pub(crate) fn frames(reply: &Reply<'_>) -> Vec<String> {
        let mut frames: Vec<String> =
            reply.text.iter().map(|text| chunk(&json!([{"text": text}]), None, reply.usage)).collect();
        for call in reply.calls {
            let arguments: Value = serde_json::from_str(&call.arguments.concat()).unwrap_or(Value::Null);
            let mut function = json!({"name": call.name, "args": arguments});
            if let Some(id) = call.id {
                function["id"] = json!(id);
            }
            frames.push(chunk(&json!([{"functionCall": function}]), None, reply.usage));
        }
        let finish = match reply.finish {
            Finish::Done | Finish::Tools | Finish::Missing => "STOP",
            Finish::Length => "MAX_TOKENS",
            Finish::Filter => "SAFETY",
            Finish::Unknown => "TIRED",
        };
        frames.push(chunk(&json!([{"text": ""}]), Some(finish), reply.usage));
        frames
    }
}
