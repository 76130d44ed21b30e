//! Answers in the shape of chat completions.

use serde_json::{Value, json};

use super::asked::Asked;
use super::frame::{Frame, call_id, halves, pieces, usage};
use super::script::Turn;

/// The events of a stream.
pub(super) fn frames(asked: &Asked, turn: &Turn) -> Vec<Frame> {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    deltas.extend(pieces(&turn.text).into_iter().map(|piece| json!({ "content": piece })));
    for (place, call) in turn.calls.iter().enumerate() {
        let id = call_id(asked, call, place, "call");
        let function = json!({ "name": call.name, "arguments": "" });
        deltas.push(json!({ "tool_calls": [{ "index": place, "id": id, "type": "function", "function": function }] }));
        deltas.extend(
            halves(&call.arguments)
                .map(|half| json!({ "tool_calls": [{ "index": place, "function": { "arguments": half } }] })),
        );
    }
    let choice = |delta: Value, finish: Value| json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    let mut events: Vec<Value> = deltas
        .into_iter()
        .map(|delta| chunk(asked, &choice(delta, Value::Null)))
        .collect();
    events.push(chunk(asked, &choice(json!({}), json!(stop(turn)))));
    if let Some(usage) = usage_of(asked, turn) {
        let mut last = chunk(asked, &json!([]));
        last["usage"] = usage;
        events.push(last);
    }
    let data = events.iter().map(Value::to_string).chain(["[DONE]".to_owned()]);
    data.map(|data| Frame { name: None, data }).collect()
}

/// The whole answer, for a client that asks for no stream.
pub(super) fn whole(asked: &Asked, turn: &Turn) -> Value {
    let calls = turn.calls.iter().enumerate().map(|(place, call)| {
        let function = json!({ "name": call.name, "arguments": call.arguments });
        json!({ "id": call_id(asked, call, place, "call"), "type": "function", "function": function })
    });
    let mut message = json!({ "role": "assistant", "content": turn.text });
    if !turn.calls.is_empty() {
        message["tool_calls"] = calls.collect();
    }
    let mut answer = chunk(
        asked,
        &json!([{ "index": 0, "message": message, "finish_reason": stop(turn) }]),
    );
    answer["object"] = json!("chat.completion");
    if let Some(usage) = usage_of(asked, turn) {
        answer["usage"] = usage;
    }
    answer
}

/// An error.
pub(super) fn error(kind: &str, message: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
}

fn chunk(asked: &Asked, choices: &Value) -> Value {
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": asked.model, "choices": choices })
}

fn stop(turn: &Turn) -> &str {
    let fitting = if turn.calls.is_empty() { "stop" } else { "tool_calls" };
    turn.stop.as_deref().unwrap_or(fitting)
}

fn usage_of(asked: &Asked, turn: &Turn) -> Option<Value> {
    usage(asked, turn).map(|(input, output)| json!({ "prompt_tokens": input, "completion_tokens": output }))
}
