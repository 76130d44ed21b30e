//! A request of either wire, read into one form.

use serde::Serialize;
use serde_json::Value;

/// Which wire a request came over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Chat completions.
    OpenAi,
    /// Messages.
    Anthropic,
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// The user.
    #[default]
    User,
    /// The model.
    Assistant,
    /// Tools.
    Tool,
}

/// One message of a conversation; the results of parallel calls are one message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    /// Who says it.
    pub role: Role,
    /// All its text.
    pub text: String,
    /// The ids of the calls it makes.
    pub calls: Vec<String>,
    /// The ids of the calls whose results it brings.
    pub results: Vec<String>,
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The wire.
    pub wire: Wire,
    /// The model's name.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The conversation.
    pub messages: Vec<Said>,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// Which call of its conversation it is, 1 for the first: one more than the model has spoken.
    pub turn: u32,
    /// Whether a stream is asked for.
    pub stream: bool,
}

impl Asked {
    /// Reads a body of `wire`; what is missing is empty.
    pub(super) fn read(wire: Wire, body: &Value) -> Self {
        let raw = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let (system, messages) = match wire {
            Wire::OpenAi => read_openai(raw),
            Wire::Anthropic => (text_of(&body["system"]), raw.iter().map(read_anthropic).collect()),
        };
        let spoken = messages
            .iter()
            .filter(|said: &&Said| said.role == Role::Assistant)
            .count();
        let tools = body["tools"].as_array().into_iter().flatten();
        let name = |tool: &Value| match wire {
            Wire::OpenAi => string(&tool["function"]["name"]),
            Wire::Anthropic => string(&tool["name"]),
        };
        Self {
            wire,
            model: string(&body["model"]),
            system,
            messages,
            tools: tools.map(name).collect(),
            turn: u32::try_from(spoken + 1).expect("a conversation in memory"),
            stream: body["stream"] == true,
        }
    }

    /// The text of the last message.
    #[must_use]
    pub fn last(&self) -> &str {
        self.messages.last().map_or("", |said| &said.text)
    }
}

fn read_openai(raw: &[Value]) -> (String, Vec<Said>) {
    let mut system = String::new();
    let mut messages: Vec<Said> = Vec::new();
    for message in raw {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("system" | "developer") => system.push_str(&text),
            Some("tool") => {
                let result = string(&message["tool_call_id"]);
                match messages.last_mut() {
                    Some(last) if last.role == Role::Tool => {
                        last.results.push(result);
                        last.text = format!("{}\n{text}", last.text);
                    }
                    _ => messages.push(Said {
                        role: Role::Tool,
                        text,
                        results: vec![result],
                        ..Said::default()
                    }),
                }
            }
            Some("assistant") => {
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                let calls = calls.map(|call| string(&call["id"])).collect();
                messages.push(Said {
                    role: Role::Assistant,
                    text,
                    calls,
                    ..Said::default()
                });
            }
            _ => messages.push(Said {
                text,
                ..Said::default()
            }),
        }
    }
    (system, messages)
}

fn read_anthropic(message: &Value) -> Said {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ids = |kind: &str, key: &str| {
        blocks
            .iter()
            .filter(|block| block["type"] == kind)
            .map(|block| string(&block[key]))
            .collect::<Vec<_>>()
    };
    let (calls, results) = (ids("tool_use", "id"), ids("tool_result", "tool_use_id"));
    let role = match message["role"].as_str() {
        Some("assistant") => Role::Assistant,
        _ if results.is_empty() => Role::User,
        _ => Role::Tool,
    };
    Said {
        role,
        text: text_of(&message["content"]),
        calls,
        results,
    }
}

/// The text of a content: a string, or the texts and results among its blocks.
fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.map(|block| match block["type"].as_str() {
        Some("tool_result") => text_of(&block["content"]),
        _ => string(&block["text"]),
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_wires_are_read_into_the_same_form() {
        let openai = json!({
            "model": "m", "stream": true,
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "Compare." },
                { "role": "assistant", "content": null, "tool_calls": [{ "id": "1" }, { "id": "2" }] },
                { "role": "tool", "tool_call_id": "1", "content": "A" },
                { "role": "tool", "tool_call_id": "2", "content": "B" },
            ],
            "tools": [{ "function": { "name": "read" } }],
        });
        let anthropic = json!({
            "model": "m", "stream": true, "system": "Be brief.",
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "Compare." }] },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "1" }, { "type": "tool_use", "id": "2" }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "1", "content": "A" },
                    { "type": "tool_result", "tool_use_id": "2", "content": "B" },
                ] },
            ],
            "tools": [{ "name": "read" }],
        });
        let ids = vec!["1".to_owned(), "2".to_owned()];
        let expected = Asked {
            wire: Wire::OpenAi,
            model: "m".into(),
            system: "Be brief.".into(),
            messages: vec![
                Said {
                    text: "Compare.".into(),
                    ..Said::default()
                },
                Said {
                    role: Role::Assistant,
                    calls: ids.clone(),
                    ..Said::default()
                },
                Said {
                    role: Role::Tool,
                    text: "A\nB".into(),
                    results: ids,
                    ..Said::default()
                },
            ],
            tools: vec!["read".into()],
            turn: 2,
            stream: true,
        };
        assert_eq!(Asked::read(Wire::OpenAi, &openai), expected);
        assert_eq!(
            Asked::read(Wire::Anthropic, &anthropic),
            Asked {
                wire: Wire::Anthropic,
                ..expected
            }
        );
    }
}
