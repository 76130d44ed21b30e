//! A request as the body of `POST /chat/completions`.

use legwork_shared::agent::{Message, ModelRequest, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

use crate::model::names::{sendable_arguments_text, sendable_name};

/// The name of the field that bounds the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenField {
    /// `max_completion_tokens`: OpenAI itself, whose newer models refuse the older name.
    MaxCompletionTokens,
    /// `max_tokens`: every other server, since few know the newer name.
    MaxTokens,
}

/// The body that asks for `request` as a stream that ends with its usage.
pub(crate) fn body(request: &ModelRequest, token_field: TokenField) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert("messages".into(), Value::Array(messages(request)));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(|each| tool(each)).collect());
    }
    let token_field = match token_field {
        TokenField::MaxCompletionTokens => "max_completion_tokens",
        TokenField::MaxTokens => "max_tokens",
    };
    body.insert(token_field.into(), json!(request.max_output_tokens));
    if let Some(milli) = request.temperature_milli {
        body.insert("temperature".into(), json!(f64::from(milli) / 1000.0));
    }
    body.insert("stream".into(), json!(true));
    body.insert("stream_options".into(), json!({ "include_usage": true }));
    Value::Object(body)
}

fn messages(request: &ModelRequest) -> Vec<Value> {
    let system = (!request.system.is_empty()).then(|| json!({ "role": "system", "content": request.system }));
    system
        .into_iter()
        .chain(request.messages.iter().filter_map(message))
        .collect()
}

/// One message; none for an assistant message that says and calls nothing, which some servers refuse.
fn message(message: &Message) -> Option<Value> {
    match message {
        Message::User { text } => Some(json!({ "role": "user", "content": text })),
        Message::Assistant { text, calls } if calls.is_empty() => {
            (!text.is_empty()).then(|| json!({ "role": "assistant", "content": text }))
        }
        Message::Assistant { text, calls } => {
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            let calls: Value = calls.iter().map(call).collect();
            Some(json!({ "role": "assistant", "content": content, "tool_calls": calls }))
        }
        Message::Tool(reply) => {
            Some(json!({ "role": "tool", "tool_call_id": reply.call_id, "content": reply.content }))
        }
    }
}

fn call(call: &ToolCall) -> Value {
    let function = json!({ "name": sendable_name(&call.name), "arguments": sendable_arguments_text(&call.arguments) });
    json!({ "id": call.id, "type": "function", "function": function })
}

fn tool(tool: &ToolSpec) -> Value {
    let function = json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters });
    json!({ "type": "function", "function": function })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::samples;

    #[test]
    fn a_whole_conversation_becomes_one_body() {
        let expected = json!({
            "model": "m-1",
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "Compare." },
                { "role": "assistant", "content": "Looking.", "tool_calls": [
                    { "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{\"path\": \"a\"}" } },
                    { "id": "c2", "type": "function",
                      "function": { "name": "no_such", "arguments": "{\"malformed_arguments\":\"{oops\"}" } },
                ] },
                { "role": "tool", "tool_call_id": "c1", "content": "A" },
                { "role": "tool", "tool_call_id": "c2", "content": "unknown tool" },
                { "role": "user", "content": "Hurry." },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c3", "type": "function", "function": { "name": "read", "arguments": "{}" } },
                ] },
                { "role": "tool", "tool_call_id": "c3", "content": "B" },
            ],
            "tools": [{ "type": "function", "function": {
                "name": "read", "description": "Reads a file.", "parameters": { "type": "object" },
            } }],
            "max_tokens": 512,
            "temperature": 0.7,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        assert_eq!(body(&samples::conversation(), TokenField::MaxTokens), expected);
    }

    #[test]
    fn what_is_not_asked_for_is_not_sent() {
        let expected = json!({
            "model": "m-1",
            "messages": [{ "role": "user", "content": "Hello" }],
            "max_completion_tokens": 512,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        assert_eq!(
            body(&samples::bare_question(), TokenField::MaxCompletionTokens),
            expected
        );
    }
}
