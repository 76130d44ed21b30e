//! The stream of `POST /chat/completions`, folded into one reply.
//!
//! **The end marker.** A reply is complete when its choice has a `finish_reason` and then either `[DONE]` comes or the
//! stream ends cleanly. `[DONE]` alone does not count: gateways write it after an upstream that broke off.

use legwork_shared::agent::StopReason;
use legwork_shared::budget::Usage;
use serde_json::Value;

use super::calls::CallAssembly;
use crate::model::ModelLimits;
use crate::model::failure::{Failure, Fault};
use crate::model::json;
use crate::model::reply::{Fold, OnDelta, Progress, ReplyBuilder, other_stop, tokens};
use crate::model::sse::Event;

const DONE: &str = "[DONE]";

/// The fold of one stream.
#[derive(Debug)]
pub(crate) struct OpenAiFold {
    reply: ReplyBuilder,
    calls: CallAssembly,
    finished: bool,
}

impl OpenAiFold {
    /// Before the first event of a reply of `model`.
    pub(crate) fn new(model: &str, limits: ModelLimits) -> Self {
        Self {
            reply: ReplyBuilder::new(model, limits),
            calls: CallAssembly::default(),
            finished: false,
        }
    }

    fn choice(&mut self, choice: &Value, on_delta: OnDelta<'_>) -> Result<(), Failure> {
        // A server that cannot stream sends the whole `message` where the `delta` would be.
        let delta = choice
            .get("delta")
            .or_else(|| choice.get("message"))
            .unwrap_or(&Value::Null);
        self.content(&delta["content"], on_delta)?;
        if let Some(refusal) = json::text(delta, "refusal") {
            self.reply.push_text(refusal, on_delta)?;
        }
        for fragment in delta["tool_calls"].as_array().into_iter().flatten() {
            self.calls.add(fragment, &mut self.reply, on_delta)?;
        }
        match json::text(choice, "finish_reason") {
            None | Some("") => Ok(()),
            Some("error") => Err(Failure::Streamed(Fault {
                message: "the model broke off with finish reason `error`".into(),
                ..Fault::default()
            })),
            Some(word) => {
                self.finished = true;
                self.reply.set_stop(stop_reason(word));
                Ok(())
            }
        }
    }

    /// Text, or a list of parts of which the texts count.
    fn content(&mut self, content: &Value, on_delta: OnDelta<'_>) -> Result<(), Failure> {
        if let Some(text) = content.as_str() {
            return self.reply.push_text(text, on_delta);
        }
        for part in content.as_array().into_iter().flatten() {
            if let Some(text) = json::text(part, "text") {
                self.reply.push_text(text, on_delta)?;
            }
        }
        Ok(())
    }
}

impl Fold for OpenAiFold {
    fn event(&mut self, event: &Event, on_delta: OnDelta<'_>) -> Result<Progress, Failure> {
        let data = event.data.trim();
        if data == DONE {
            return if self.finished {
                Ok(Progress::Done)
            } else {
                Err(Failure::Incomplete)
            };
        }
        if data.is_empty() {
            return Ok(Progress::More);
        }
        self.calls.next_event();
        let chunk = json::parse(data).map_err(Failure::Garbled)?;
        if let Some(fault) = Fault::from_json(&chunk) {
            return Err(Failure::Streamed(fault));
        }
        if !chunk.is_object() {
            return Err(Failure::Garbled("an event that is no object".into()));
        }
        self.reply.set_model(json::text(&chunk, "model").unwrap_or(""));
        self.reply.set_input_tokens(tokens(&chunk["usage"]["prompt_tokens"]));
        self.reply
            .set_output_tokens(tokens(&chunk["usage"]["completion_tokens"]));
        // We ask for one choice; a second one would be another reply.
        if let Some(choice) = chunk["choices"]
            .get(0)
            .filter(|choice| choice["index"].as_u64().unwrap_or(0) == 0)
        {
            self.choice(choice, on_delta)?;
        }
        Ok(Progress::More)
    }

    fn may_end(&self) -> bool {
        self.finished
    }

    fn reply(self) -> ReplyBuilder {
        self.reply
    }

    fn so_far(&self) -> (&str, Option<Usage>) {
        self.reply.so_far()
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" | "eos" | "end_turn" => StopReason::End,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "length" | "max_tokens" => StopReason::Length,
        "content_filter" => StopReason::ContentFilter,
        other => other_stop(other),
    }
}

#[cfg(test)]
mod tests {
    use legwork_shared::agent::ModelReply;

    use super::*;
    use crate::model::testing::{Told, fold_all};

    fn fold(events: &[&str]) -> (Result<ModelReply, Failure>, Told) {
        fold_all(OpenAiFold::new("asked", ModelLimits::default()), events)
    }

    #[test]
    fn a_recorded_text_stream_becomes_one_reply() {
        let (reply, told) = fold(&[
            r#"{"id":"c","object":"chat.completion.chunk","model":"m-2","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null}"#,
            r#"{"model":"m-2","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}],"usage":null}"#,
            r#"{"model":"m-2","choices":[{"index":0,"delta":{"content":" you"},"finish_reason":null}],"usage":null}"#,
            r#"{"model":"m-2","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#,
            r#"{"model":"m-2","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#,
            DONE,
        ]);
        let expected = ModelReply {
            text: "Hello you".into(),
            calls: vec![],
            stop: StopReason::End,
            usage: Usage {
                input_tokens: 9,
                output_tokens: 2,
                model_calls: 1,
                ..Usage::default()
            },
            model: "m-2".into(),
        };
        assert_eq!(reply, Ok(expected));
        assert_eq!(
            told,
            Told {
                text: vec!["Hello".into(), " you".into()],
                calls: vec![]
            }
        );
    }

    #[test]
    fn the_end_marker_is_a_finish_reason_and_then_done_or_a_clean_end() {
        let text = r#"{"choices":[{"delta":{"content":"The result is"}}]}"#;
        let finish = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
        assert_eq!(fold(&[text]).0, Err(Failure::Incomplete));
        assert_eq!(fold(&[text, DONE]).0, Err(Failure::Incomplete));
        assert_eq!(fold(&[DONE]).0, Err(Failure::Incomplete));
        assert_eq!(fold(&[]).0, Err(Failure::Incomplete));
        assert_eq!(
            fold(&[text, finish]).0.map(|reply| reply.text),
            Ok("The result is".into())
        );
        assert_eq!(
            fold(&[text, finish, DONE]).0.map(|reply| reply.text),
            Ok("The result is".into())
        );
    }

    #[test]
    fn every_finish_reason_has_its_meaning() {
        let cases = [
            ("stop", StopReason::End),
            ("length", StopReason::Length),
            ("content_filter", StopReason::ContentFilter),
            ("tool_calls", StopReason::End),
            (
                "insufficient_system_resource",
                StopReason::Other("insufficient_system_resource".into()),
            ),
        ];
        for (word, stop) in cases {
            let event = format!(r#"{{"choices":[{{"delta":{{"content":"x"}},"finish_reason":"{word}"}}]}}"#);
            assert_eq!(fold(&[&event]).0.map(|reply| reply.stop), Ok(stop), "{word}");
        }
        let broken = fold(&[r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#]).0;
        assert!(matches!(broken, Err(Failure::Streamed(_))), "{broken:?}");
    }

    #[test]
    fn a_whole_reply_of_a_server_that_cannot_stream_is_taken() {
        let whole = r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"text","text":"He"},{"type":"text","text":"y"}],"reasoning_content":"hm"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-5,"completion_tokens":1e12}}"#;
        let reply = fold(&[whole]).0.expect("a reply");
        assert_eq!((reply.text.as_str(), reply.usage.total_tokens()), ("Hey", 0));
    }

    #[test]
    fn an_error_in_the_stream_and_a_garbled_event_are_failures() {
        let error = fold(&[r#"{"error":{"type":"server_error","message":"upstream"}}"#]).0;
        let fault = Fault {
            kind: "server_error".into(),
            message: "upstream".into(),
            ..Fault::default()
        };
        assert_eq!(error, Err(Failure::Streamed(fault)));
        for garbled in ["{\"choices\":[", "[1]", "3", "nonsense"] {
            assert!(
                matches!(fold(&[garbled, DONE]).0, Err(Failure::Garbled(_))),
                "{garbled}"
            );
        }
        let deep = format!(r#"{{"choices":{}"#, "[".repeat(100_000));
        assert!(matches!(fold(&[&deep, DONE]).0, Err(Failure::Garbled(_))));
    }

    #[test]
    fn a_second_choice_and_reasoning_are_not_part_of_the_reply() {
        let reply = fold(&[
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm","content":"a"}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"b"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"\ud800c\u0000"},"finish_reason":"stop"}]}"#,
        ]);
        assert_eq!(reply.0.map(|reply| reply.text), Ok("a\u{fffd}c\0".into()));
    }
}
