//! A reply under construction, within its limits; both wires fold into it.

use legwork_shared::agent::{ModelReply, StopReason, ToolCall};
use legwork_shared::budget::Usage;
use serde_json::Value;

use super::failure::Failure;
use super::sse::Event;
use super::text::excerpt;
use super::{Delta, ModelLimits};

/// Who is told of a reply while it arrives.
pub(crate) type OnDelta<'a> = &'a (dyn for<'b> Fn(Delta<'b>) + Send + Sync);

/// The longest id or name of a call. Real ones have up to a hundred bytes; a longer one is noise that would be copied
/// into each later request.
const CALL_NAME_BYTES_MAX: usize = 4096;
/// The longest name of a model, and the longest stop reason that we do not know.
const WORD_CHARS_MAX: usize = 200;
/// The highest count of tokens that is believed: a hundred times the largest context there is.
const TOKENS_MAX: u64 = 100_000_000;

/// Folds the events of one wire into one reply. Pure: it never waits.
pub(crate) trait Fold: Send {
    /// Takes the next event of the stream.
    fn event(&mut self, event: &Event, on_delta: OnDelta<'_>) -> Result<Progress, Failure>;

    /// Whether a clean end of the stream at this point makes the reply complete.
    fn may_end(&self) -> bool;

    /// The reply so far.
    fn reply(self) -> ReplyBuilder;

    /// The text and the usage so far, for the error of a call that breaks off.
    fn so_far(&self) -> (&str, Option<Usage>);
}

/// Whether a stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More events are to come.
    More,
    /// The end marker came.
    Done,
}

/// A reply under construction.
#[derive(Debug)]
pub(crate) struct ReplyBuilder {
    limits: ModelLimits,
    text: String,
    calls: Vec<ToolCall>,
    stop: Option<StopReason>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    model: String,
}

impl ReplyBuilder {
    /// An empty reply of `model`.
    pub(crate) fn new(model: &str, limits: ModelLimits) -> Self {
        Self {
            limits,
            text: String::new(),
            calls: Vec::new(),
            stop: None,
            input_tokens: None,
            output_tokens: None,
            model: model.to_owned(),
        }
    }

    /// Adds text.
    pub(crate) fn push_text(&mut self, text: &str, on_delta: OnDelta<'_>) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        if self.text.len() + text.len() > self.limits.text_bytes_max {
            return Err(Failure::ReplyTooLarge(format!(
                "more than {} bytes of text",
                self.limits.text_bytes_max
            )));
        }
        self.text.push_str(text);
        on_delta(Delta::Text(text));
        Ok(())
    }

    /// Begins a call and returns its place.
    pub(crate) fn begin_call(&mut self, id: &str, name: &str, on_delta: OnDelta<'_>) -> Result<usize, Failure> {
        if self.calls.len() >= self.limits.calls_max {
            return Err(Failure::ReplyTooLarge(format!(
                "more than {} tool calls",
                self.limits.calls_max
            )));
        }
        if id.len().max(name.len()) > CALL_NAME_BYTES_MAX {
            return Err(Failure::ReplyTooLarge(format!(
                "a tool call's id or name of more than {CALL_NAME_BYTES_MAX} bytes"
            )));
        }
        self.calls.push(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: String::new(),
        });
        on_delta(Delta::CallBegun { name });
        Ok(self.calls.len() - 1)
    }

    /// Adds to the arguments of the call at `place`, which [`Self::begin_call`] returned.
    pub(crate) fn push_arguments(&mut self, place: usize, fragment: &str) -> Result<(), Failure> {
        let arguments = &mut self.calls[place].arguments;
        if arguments.len() + fragment.len() > self.limits.arguments_bytes_max {
            let max = self.limits.arguments_bytes_max;
            return Err(Failure::ReplyTooLarge(format!(
                "more than {max} bytes of arguments in one tool call"
            )));
        }
        arguments.push_str(fragment);
        Ok(())
    }

    /// The calls so far.
    pub(crate) fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Notes why the model stopped.
    pub(crate) fn set_stop(&mut self, stop: StopReason) {
        self.stop = Some(stop);
    }

    /// Notes the model's own name for itself.
    pub(crate) fn set_model(&mut self, model: &str) {
        if !model.is_empty() {
            self.model = excerpt(model, WORD_CHARS_MAX);
        }
    }

    /// Notes a count of the tokens that were read; a later count replaces it, and what is no count changes nothing.
    pub(crate) fn set_input_tokens(&mut self, count: Option<u64>) {
        self.input_tokens = count.or(self.input_tokens);
    }

    /// Notes a count of the tokens that were written, as [`Self::set_input_tokens`] does.
    pub(crate) fn set_output_tokens(&mut self, count: Option<u64>) {
        self.output_tokens = count.or(self.output_tokens);
    }

    /// The text so far, and the usage if any was counted.
    pub(crate) fn so_far(&self) -> (&str, Option<Usage>) {
        let counted = self.input_tokens.is_some() || self.output_tokens.is_some();
        (&self.text, counted.then(|| self.usage()))
    }

    /// The complete reply.
    ///
    /// Where the stop reason contradicts the calls, the calls are right: some servers say `stop` after a call.
    pub(crate) fn finish(self) -> ModelReply {
        let usage = self.usage();
        let by_calls = if self.calls.is_empty() {
            StopReason::End
        } else {
            StopReason::ToolCalls
        };
        let stop = match self.stop {
            None | Some(StopReason::End | StopReason::ToolCalls) => by_calls,
            Some(other) => other,
        };
        ModelReply {
            text: self.text,
            calls: self.calls,
            stop,
            usage,
            model: self.model,
        }
    }

    fn usage(&self) -> Usage {
        Usage {
            input_tokens: self.input_tokens.unwrap_or(0),
            output_tokens: self.output_tokens.unwrap_or(0),
            model_calls: 1,
            ..Usage::default()
        }
    }
}

/// A count of tokens, if `value` is one that can be believed: whole, not negative, not absurd.
pub(crate) fn tokens(value: &Value) -> Option<u64> {
    value.as_u64().filter(|count| *count <= TOKENS_MAX)
}

/// A stop reason that we do not know.
pub(crate) fn other_stop(word: &str) -> StopReason {
    StopReason::Other(excerpt(word, WORD_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_that_cannot_be_are_not_counted() {
        assert_eq!(tokens(&json!(12)), Some(12));
        assert_eq!(tokens(&json!(TOKENS_MAX)), Some(TOKENS_MAX));
        for absurd in [
            json!(-1),
            json!(TOKENS_MAX + 1),
            json!(1e300),
            json!("12"),
            json!(null),
            json!(1.5),
        ] {
            assert_eq!(tokens(&absurd), None, "{absurd}");
        }
    }

    #[test]
    fn the_calls_decide_where_the_stop_reason_contradicts_them() {
        let stops = |stop: Option<StopReason>, calls: usize| {
            let mut reply = ReplyBuilder::new("m", ModelLimits::default());
            for _ in 0..calls {
                reply.begin_call("", "f", &|_| ()).expect("few");
            }
            if let Some(stop) = stop {
                reply.set_stop(stop);
            }
            reply.finish().stop
        };
        assert_eq!(stops(None, 0), StopReason::End);
        assert_eq!(stops(Some(StopReason::ToolCalls), 0), StopReason::End);
        assert_eq!(stops(Some(StopReason::End), 1), StopReason::ToolCalls);
        assert_eq!(stops(Some(StopReason::Length), 1), StopReason::Length);
        assert_eq!(stops(Some(StopReason::ContentFilter), 1), StopReason::ContentFilter);
    }

    #[test]
    fn everything_in_a_reply_has_a_limit() {
        let limits = ModelLimits {
            text_bytes_max: 4,
            arguments_bytes_max: 4,
            calls_max: 1,
            ..ModelLimits::default()
        };
        let mut reply = ReplyBuilder::new("m", limits);
        reply.push_text("abcd", &|_| ()).expect("just fits");
        let too_large = |what: &str| Err(Failure::ReplyTooLarge(what.into()));
        assert_eq!(reply.push_text("e", &|_| ()), too_large("more than 4 bytes of text"));
        let long = "x".repeat(CALL_NAME_BYTES_MAX + 1);
        let name = Err(Failure::ReplyTooLarge(
            "a tool call's id or name of more than 4096 bytes".into(),
        ));
        assert_eq!(reply.begin_call("", &long, &|_| ()), name);
        assert_eq!(reply.begin_call(&long, "", &|_| ()), name);
        let place = reply.begin_call("", "f", &|_| ()).expect("the first");
        reply.push_arguments(place, "abcd").expect("just fits");
        assert_eq!(
            reply.push_arguments(place, "e"),
            too_large("more than 4 bytes of arguments in one tool call")
        );
        assert_eq!(
            reply.begin_call("", "g", &|_| ()),
            Err(Failure::ReplyTooLarge("more than 1 tool calls".into()))
        );
    }
}
