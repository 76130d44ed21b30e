//! A request as the body of `POST /v1/messages`.

use legwork_shared::agent::{Message, ModelRequest, ToolCall, ToolReply, ToolSpec};
use serde_json::{Map, Value, json};

use crate::model::names::{sendable_arguments, sendable_id, sendable_name};

/// Stands for a message without a visible character, which the provider refuses.
const EMPTY: &str = "(empty)";

/// The body that asks for `request` as a stream.
pub(crate) fn body(request: &ModelRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert("max_tokens".into(), json!(request.max_output_tokens));
    if !request.system.trim().is_empty() {
        body.insert("system".into(), json!(request.system));
    }
    body.insert("messages".into(), Value::Array(messages(&request.messages)));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(|each| tool(each)).collect());
    }
    if let Some(milli) = request.temperature_milli {
        body.insert("temperature".into(), json!(f64::from(milli) / 1000.0));
    }
    body.insert("stream".into(), json!(true));
    Value::Object(body)
}

/// The messages in strict alternation: what follows each other in one role becomes one message, so that the results of
/// parallel calls, and an update after them, stand together in one user message.
fn messages(messages: &[Message]) -> Vec<Value> {
    let mut merged: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = blocks(message);
        match merged.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => merged.push((role, blocks)),
        }
    }
    merged
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect()
}

fn blocks(message: &Message) -> (&'static str, Vec<Value>) {
    match message {
        Message::User { text } => ("user", vec![text_block(visible(text))]),
        Message::Assistant { text, calls } => {
            // Also white space alone is refused, and an assistant's text may not end with any.
            let text = text.trim_end();
            let text = (!text.is_empty()).then(|| text_block(text));
            (
                "assistant",
                text.into_iter().chain(calls.iter().map(tool_use)).collect(),
            )
        }
        Message::Tool(reply) => ("user", vec![tool_result(reply)]),
    }
}

fn visible(text: &str) -> &str {
    if text.trim().is_empty() { EMPTY } else { text }
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn tool_use(call: &ToolCall) -> Value {
    json!({
        "type": "tool_use",
        "id": sendable_id(&call.id),
        "name": sendable_name(&call.name),
        "input": sendable_arguments(&call.arguments),
    })
}

fn tool_result(reply: &ToolReply) -> Value {
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": sendable_id(&reply.call_id),
        "content": visible(&reply.content),
    });
    if reply.error {
        block["is_error"] = json!(true);
    }
    block
}

fn tool(tool: &ToolSpec) -> Value {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::samples;

    #[test]
    fn a_whole_conversation_becomes_one_body_in_strict_alternation() {
        let expected = json!({
            "model": "m-1",
            "max_tokens": 512,
            "system": "Be brief.",
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "Compare." }] },
                { "role": "assistant", "content": [
                    { "type": "text", "text": "Looking." },
                    { "type": "tool_use", "id": "c1", "name": "read", "input": { "path": "a" } },
                    { "type": "tool_use", "id": "c2", "name": "no_such", "input": { "malformed_arguments": "{oops" } },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c1", "content": "A" },
                    { "type": "tool_result", "tool_use_id": "c2", "content": "unknown tool", "is_error": true },
                    { "type": "text", "text": "Hurry." },
                ] },
                { "role": "assistant", "content": [
                    { "type": "tool_use", "id": "c3", "name": "read", "input": {} },
                ] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c3", "content": "B" }] },
            ],
            "tools": [{ "name": "read", "description": "Reads a file.", "input_schema": { "type": "object" } }],
            "temperature": 0.7,
            "stream": true,
        });
        assert_eq!(body(&samples::conversation()), expected);
    }

    #[test]
    fn what_is_not_asked_for_is_not_sent() {
        let expected = json!({
            "model": "m-1",
            "max_tokens": 512,
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Hello" }] }],
            "stream": true,
        });
        assert_eq!(body(&samples::bare_question()), expected);
    }

    #[test]
    fn invisible_text_is_never_sent() {
        let said = [
            Message::User { text: " \n".into() },
            Message::Assistant {
                text: "Well \n".into(),
                calls: vec![],
            },
            Message::Assistant {
                text: " ".into(),
                calls: vec![],
            },
        ];
        let expected = vec![
            json!({ "role": "user", "content": [{ "type": "text", "text": "(empty)" }] }),
            json!({ "role": "assistant", "content": [{ "type": "text", "text": "Well" }] }),
        ];
        assert_eq!(messages(&said), expected);
    }
}
