//! Answers in the shape of the messages API.

use serde_json::{Value, json};

use super::asked::Asked;
use super::frame::{Frame, call_id, halves, pieces, usage};
use super::script::Turn;

/// The events of a stream.
pub(super) fn frames(asked: &Asked, turn: &Turn) -> Vec<Frame> {
    let mut message = message(asked);
    let usage = usage(asked, turn);
    if let Some((input, _)) = &usage {
        message["usage"] = json!({ "input_tokens": input, "output_tokens": 1 });
    }
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    let mut block = |start: Value, deltas: Vec<Value>| {
        let index = events
            .iter()
            .filter(|event| event["type"] == "content_block_start")
            .count();
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        let delta = |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    };
    if !turn.text.is_empty() {
        let deltas = pieces(&turn.text)
            .into_iter()
            .map(|piece| json!({ "type": "text_delta", "text": piece }));
        block(json!({ "type": "text", "text": "" }), deltas.collect());
    }
    for (place, call) in turn.calls.iter().enumerate() {
        let id = call_id(asked, call, place, "toolu");
        let deltas = halves(&call.arguments).map(|half| json!({ "type": "input_json_delta", "partial_json": half }));
        block(
            json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} }),
            deltas.into(),
        );
    }
    let mut ended = json!({ "type": "message_delta", "delta": { "stop_reason": stop(turn), "stop_sequence": null } });
    if let Some((_, output)) = usage {
        ended["usage"] = json!({ "output_tokens": output });
    }
    events.push(ended);
    events.push(json!({ "type": "message_stop" }));
    let name = |event: &Value| event["type"].as_str().map(str::to_owned);
    events
        .iter()
        .map(|event| Frame {
            name: name(event),
            data: event.to_string(),
        })
        .collect()
}

/// The whole answer, for a client that asks for no stream.
pub(super) fn whole(asked: &Asked, turn: &Turn) -> Value {
    let text = (!turn.text.is_empty()).then(|| json!({ "type": "text", "text": turn.text }));
    let calls = turn.calls.iter().enumerate().map(|(place, call)| {
        // This shape has no text for malformed arguments; they arrive as a string.
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
        json!({ "type": "tool_use", "id": call_id(asked, call, place, "toolu"), "name": call.name, "input": input })
    });
    let mut message = message(asked);
    message["content"] = text.into_iter().chain(calls).collect();
    message["stop_reason"] = json!(stop(turn));
    if let Some((input, output)) = usage(asked, turn) {
        message["usage"] = json!({ "input_tokens": input, "output_tokens": output });
    }
    message
}

/// An error.
pub(super) fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

fn message(asked: &Asked) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": asked.model,
        "content": [], "stop_reason": null, "stop_sequence": null,
    })
}

fn stop(turn: &Turn) -> &str {
    let fitting = if turn.calls.is_empty() { "end_turn" } else { "tool_use" };
    turn.stop.as_deref().unwrap_or(fitting)
}
