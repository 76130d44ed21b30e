//! Requests that the tests of both wires build.

use std::sync::Arc;

use legwork_shared::agent::{Effect, Message, ModelRequest, ToolCall, ToolReply, ToolSpec};
use serde_json::json;

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    }
}

fn reply(call_id: &str, content: &str) -> Message {
    let error = content.starts_with("unknown");
    Message::Tool(ToolReply {
        call_id: call_id.into(),
        name: "read".into(),
        content: content.into(),
        error,
    })
}

/// One question, nothing else.
pub(crate) fn bare_question() -> ModelRequest {
    ModelRequest {
        model: "m-1".into(),
        system: String::new(),
        messages: vec![Message::User { text: "Hello".into() }],
        tools: [].into(),
        max_output_tokens: 512,
        temperature_milli: None,
    }
}

/// Everything that a conversation can hold: parallel calls, a malformed and a failed one, an empty message, an update.
pub(crate) fn conversation() -> ModelRequest {
    let looking = vec![call("c1", "read", "{\"path\": \"a\"}"), call("c2", "no.such", "{oops")];
    ModelRequest {
        system: "Be brief.".into(),
        messages: vec![
            Message::User {
                text: "Compare.".into(),
            },
            Message::Assistant {
                text: "Looking.".into(),
                calls: looking,
            },
            reply("c1", "A"),
            reply("c2", "unknown tool"),
            Message::User { text: "Hurry.".into() },
            Message::Assistant {
                text: String::new(),
                calls: vec![],
            },
            Message::Assistant {
                text: String::new(),
                calls: vec![call("c3", "read", "")],
            },
            reply("c3", "B"),
        ],
        tools: [Arc::new(ToolSpec {
            name: "read".into(),
            description: "Reads a file.".into(),
            parameters: json!({ "type": "object" }),
            effect: Effect::None,
        })]
        .into(),
        temperature_milli: Some(700),
        ..bare_question()
    }
}
