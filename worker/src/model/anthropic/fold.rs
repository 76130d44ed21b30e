//! The stream of `POST /v1/messages`, folded into one reply.
//!
//! **The end marker** is `message_stop`; nothing else ends a reply. Text blocks are joined as they are. Thinking and
//! blocks of kinds that we do not know are not part of the reply.

use legwork_shared::agent::StopReason;
use legwork_shared::budget::Usage;
use serde_json::Value;

use crate::model::ModelLimits;
use crate::model::failure::{Failure, Fault};
use crate::model::json;
use crate::model::reply::{Fold, OnDelta, Progress, ReplyBuilder, other_stop, tokens};
use crate::model::sse::Event;

/// The fold of one stream.
#[derive(Debug)]
pub(crate) struct AnthropicFold {
    reply: ReplyBuilder,
    /// The content block of each call of the reply, in the same order.
    call_blocks: Vec<u64>,
}

impl AnthropicFold {
    /// Before the first event of a reply of `model`.
    pub(crate) fn new(model: &str, limits: ModelLimits) -> Self {
        Self {
            reply: ReplyBuilder::new(model, limits),
            call_blocks: Vec::new(),
        }
    }

    fn block_start(&mut self, event: &Value, on_delta: OnDelta<'_>) -> Result<(), Failure> {
        let block = &event["content_block"];
        match json::text(block, "type") {
            Some("text") => self.reply.push_text(json::text(block, "text").unwrap_or(""), on_delta),
            Some("tool_use") => {
                let id = json::text(block, "id").unwrap_or("");
                let name = json::text(block, "name").unwrap_or("");
                let place = self.reply.begin_call(id, name, on_delta)?;
                self.call_blocks.push(block_index(event)?);
                // Empty where the arguments are still to come, which is always so on the provider's own servers.
                match &block["input"] {
                    Value::Object(input) if !input.is_empty() => {
                        self.reply.push_arguments(place, &block["input"].to_string())
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn block_delta(&mut self, event: &Value, on_delta: OnDelta<'_>) -> Result<(), Failure> {
        let delta = &event["delta"];
        match json::text(delta, "type") {
            Some("text_delta") => self.reply.push_text(json::text(delta, "text").unwrap_or(""), on_delta),
            Some("input_json_delta") => {
                let index = block_index(event)?;
                let fragment = json::text(delta, "partial_json").unwrap_or("");
                match self.call_blocks.iter().rposition(|block| *block == index) {
                    Some(place) => self.reply.push_arguments(place, fragment),
                    // Of a tool that the provider runs itself: not ours to answer.
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// What is read is counted in three parts, which are all paid for.
    fn usage(&mut self, usage: &Value) {
        let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        if parts.iter().any(|part| !usage[*part].is_null()) {
            let counts: Option<Vec<u64>> = parts
                .iter()
                .filter(|part| !usage[**part].is_null())
                .map(|part| tokens(&usage[*part]))
                .collect();
            self.reply.set_input_tokens(counts.map(|counts| counts.iter().sum()));
        }
        self.reply.set_output_tokens(tokens(&usage["output_tokens"]));
    }

    /// A call without arguments is sent without a fragment; its arguments are the empty object.
    fn fill_empty_arguments(&mut self) -> Result<(), Failure> {
        for place in 0..self.reply.calls().len() {
            if self.reply.calls()[place].arguments.is_empty() {
                self.reply.push_arguments(place, "{}")?;
            }
        }
        Ok(())
    }
}

impl Fold for AnthropicFold {
    fn event(&mut self, event: &Event, on_delta: OnDelta<'_>) -> Result<Progress, Failure> {
        if event.data.trim().is_empty() {
            return Ok(Progress::More);
        }
        let event = json::parse(&event.data).map_err(Failure::Garbled)?;
        if let Some(fault) = Fault::from_json(&event) {
            return Err(Failure::Streamed(fault));
        }
        match json::text(&event, "type") {
            Some("message_start") => {
                self.reply
                    .set_model(json::text(&event["message"], "model").unwrap_or(""));
                self.usage(&event["message"]["usage"]);
            }
            Some("content_block_start") => self.block_start(&event, on_delta)?,
            Some("content_block_delta") => self.block_delta(&event, on_delta)?,
            Some("message_delta") => {
                self.usage(&event["usage"]);
                if let Some(word) = json::text(&event["delta"], "stop_reason") {
                    self.reply.set_stop(stop_reason(word));
                }
            }
            Some("message_stop") => {
                self.fill_empty_arguments()?;
                return Ok(Progress::Done);
            }
            Some("error") => return Err(Failure::Streamed(Fault::default())),
            // `ping`, `content_block_stop`, and what is added to the wire after us.
            Some(_) => {}
            None => return Err(Failure::Garbled("an event without a type".into())),
        }
        Ok(Progress::More)
    }

    fn may_end(&self) -> bool {
        false
    }

    fn reply(self) -> ReplyBuilder {
        self.reply
    }

    fn so_far(&self) -> (&str, Option<Usage>) {
        self.reply.so_far()
    }
}

fn block_index(event: &Value) -> Result<u64, Failure> {
    event["index"]
        .as_u64()
        .ok_or_else(|| Failure::Garbled("a content block without an index".into()))
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::End,
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::ContentFilter,
        other => other_stop(other),
    }
}

#[cfg(test)]
mod tests {
    use legwork_shared::agent::{ModelReply, ToolCall};

    use super::*;
    use crate::model::testing::{Told, fold_all};

    const START: &str = r#"{"type":"message_start","message":{"id":"msg","type":"message","role":"assistant","model":"m-2","content":[],"stop_reason":null,"usage":{"input_tokens":20,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}}"#;
    const STOP: &str = r#"{"type":"message_stop"}"#;

    fn fold(events: &[&str]) -> (Result<ModelReply, Failure>, Told) {
        fold_all(AnthropicFold::new("asked", ModelLimits::default()), events)
    }

    fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        }
    }

    fn ended(reason: &str) -> String {
        format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":15}}}}"#)
    }

    #[test]
    fn a_recorded_stream_of_text_and_parallel_calls_becomes_one_reply() {
        let (reply, told) = fold(&[
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Look"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ing."}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":" \"a\"}"}}"#,
            &ended("tool_use"),
            STOP,
        ]);
        let expected = ModelReply {
            text: "Looking.".into(),
            calls: vec![
                call("toolu_1", "read", r#"{"path": "a"}"#),
                call("toolu_2", "list", "{}"),
            ],
            stop: StopReason::ToolCalls,
            usage: Usage {
                input_tokens: 27,
                output_tokens: 15,
                model_calls: 1,
                ..Usage::default()
            },
            model: "m-2".into(),
        };
        assert_eq!(reply, Ok(expected));
        let calls = vec!["read".to_owned(), "list".to_owned()];
        assert_eq!(
            told,
            Told {
                text: vec!["Look".into(), "ing.".into()],
                calls
            }
        );
    }

    #[test]
    fn only_message_stop_ends_a_reply() {
        let text = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#;
        assert_eq!(fold(&[START, text]).0, Err(Failure::Incomplete));
        assert_eq!(fold(&[START, text, &ended("end_turn")]).0, Err(Failure::Incomplete));
        assert_eq!(fold(&[]).0, Err(Failure::Incomplete));
        assert_eq!(
            fold(&[START, text, &ended("end_turn"), STOP]).0.map(|reply| reply.text),
            Ok("x".into())
        );
    }

    #[test]
    fn every_stop_reason_has_its_meaning() {
        let cases = [
            ("end_turn", StopReason::End),
            ("stop_sequence", StopReason::End),
            ("max_tokens", StopReason::Length),
            ("model_context_window_exceeded", StopReason::Length),
            ("refusal", StopReason::ContentFilter),
            ("pause_turn", StopReason::Other("pause_turn".into())),
        ];
        for (word, stop) in cases {
            assert_eq!(
                fold(&[START, &ended(word), STOP]).0.map(|reply| reply.stop),
                Ok(stop),
                "{word}"
            );
        }
    }

    #[test]
    fn what_was_counted_before_a_failure_is_kept() {
        let mut fold = AnthropicFold::new("asked", ModelLimits::default());
        assert_eq!(fold.so_far(), ("", None));
        let event = Event {
            name: "message_start".into(),
            data: START.into(),
        };
        fold.event(&event, &|_| ()).expect("a good event");
        let usage = Usage {
            input_tokens: 27,
            output_tokens: 1,
            model_calls: 1,
            ..Usage::default()
        };
        assert_eq!(fold.so_far(), ("", Some(usage)));
    }

    #[test]
    fn absurd_usage_counts_as_none() {
        let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":-4,"output_tokens":1}}}"#;
        let delta =
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":900000000000}}"#;
        let usage = fold(&[start, delta, STOP]).0.expect("a reply").usage;
        assert_eq!(
            usage,
            Usage {
                output_tokens: 1,
                model_calls: 1,
                ..Usage::default()
            }
        );
    }

    #[test]
    fn an_error_event_and_a_garbled_one_are_failures() {
        let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        let fault = Fault {
            kind: "overloaded_error".into(),
            message: "Overloaded".into(),
            ..Fault::default()
        };
        assert_eq!(fold(&[START, error]).0, Err(Failure::Streamed(fault)));
        assert_eq!(
            fold(&[r#"{"type":"error"}"#]).0,
            Err(Failure::Streamed(Fault::default()))
        );
        let no_index = r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"1","name":"a"}}"#;
        for garbled in ["{", "[]", "3", "{}", no_index] {
            assert!(
                matches!(fold(&[START, garbled, STOP]).0, Err(Failure::Garbled(_))),
                "{garbled}"
            );
        }
    }

    #[test]
    fn input_that_comes_whole_is_taken_and_foreign_blocks_are_not() {
        let reply = fold(&[
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\":1}"}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"1","name":"a","input":{"x":1}}}"#,
            r#"{"type":"some_new_event"}"#,
            STOP,
        ]);
        let reply = reply.0.expect("a reply");
        assert_eq!(
            (reply.calls, reply.stop),
            (vec![call("1", "a", r#"{"x":1}"#)], StopReason::ToolCalls)
        );
    }
}
