//! Tool calls, put together from their fragments.
//!
//! Calls are told apart by `index`, as the wire says, and where servers get that wrong by what is left: a fragment with
//! a name begins a new call if its index is absent or new, if its id differs from that call's id, or if the same event
//! has already fed that call.

use legwork_shared::agent::ToolCall;
use serde_json::Value;

use crate::model::failure::Failure;
use crate::model::json;
use crate::model::reply::{OnDelta, ReplyBuilder};

/// How the fragments of a stream find their calls.
#[derive(Debug, Default)]
pub(crate) struct CallAssembly {
    /// One for each call of the reply, in the same order.
    slots: Vec<Slot>,
    /// The number of the event that is being read.
    event: u64,
}

/// How the fragments of one call find it.
#[derive(Debug)]
struct Slot {
    index: Option<u64>,
    /// The number of the event that fed it last.
    fed_by: u64,
}

impl CallAssembly {
    /// Notes that what is added from here on comes from another event.
    pub(crate) fn next_event(&mut self) {
        self.event += 1;
    }

    /// Adds one fragment to the call of `reply` that it belongs to, or begins that call.
    pub(crate) fn add(
        &mut self,
        fragment: &Value,
        reply: &mut ReplyBuilder,
        on_delta: OnDelta<'_>,
    ) -> Result<(), Failure> {
        let index = fragment["index"].as_u64();
        let id = json::text(fragment, "id").unwrap_or("");
        let name = json::text(&fragment["function"], "name").unwrap_or("");
        let place = if let Some(place) = self.place_of(reply.calls(), index, id, name) {
            place
        } else {
            let place = reply.begin_call(id, name, on_delta)?;
            self.slots.push(Slot { index, fed_by: 0 });
            place
        };
        self.slots[place].fed_by = self.event;
        match &fragment["function"]["arguments"] {
            Value::Null => Ok(()),
            Value::String(text) => reply.push_arguments(place, text),
            // Some local servers send the arguments as the object that they should be the text of.
            other => reply.push_arguments(place, &other.to_string()),
        }
    }

    /// The call that a fragment goes on with; none if it begins a new one.
    fn place_of(&self, calls: &[ToolCall], index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let place = match index {
            Some(index) => self.slots.iter().rposition(|slot| slot.index == Some(index))?,
            None => self.slots.len().checked_sub(1)?,
        };
        let call = &calls[place];
        let is_other_id = !id.is_empty() && id != call.id;
        let fed_by_this_event = self.slots[place].fed_by == self.event;
        let begins =
            !name.is_empty() && (index.is_none() && !repeats_head(call, id) || is_other_id || fed_by_this_event);
        (!begins).then_some(place)
    }
}

/// Whether a fragment without an index that carries a name and this id repeats the head of `call`, as some servers do
/// with each fragment. It does not where that call's arguments are already whole.
fn repeats_head(call: &ToolCall, id: &str) -> bool {
    // The first look spares a long text that is still growing from being parsed again with each fragment.
    let is_whole = call.arguments.trim_end().ends_with('}')
        && serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok();
    !id.is_empty() && id == call.id && !is_whole
}

#[cfg(test)]
mod tests {
    use legwork_shared::agent::StopReason;

    use super::super::fold::OpenAiFold;
    use super::*;
    use crate::model::ModelLimits;
    use crate::model::testing::fold_all;

    const FINISH: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;

    fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        }
    }

    fn calls(events: &[&str]) -> Vec<ToolCall> {
        let events: Vec<&str> = events.iter().copied().chain([FINISH]).collect();
        let (reply, _) = fold_all(OpenAiFold::new("asked", ModelLimits::default()), &events);
        reply.expect("a reply").calls
    }

    fn delta(tool_calls: &str) -> String {
        format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{tool_calls}]}}}}]}}"#)
    }

    #[test]
    fn calls_of_servers_that_leave_out_or_reuse_index_and_id_are_told_apart() {
        let two = vec![call("", "a", "{}"), call("", "b", "{}")];
        let whole_a = r#"{"function":{"name":"a","arguments":"{}"}}"#;
        let whole_b = r#"{"function":{"name":"b","arguments":"{}"}}"#;
        assert_eq!(
            calls(&[&delta(&format!("{whole_a},{whole_b}"))]),
            two,
            "one event, no index"
        );
        assert_eq!(calls(&[&delta(whole_a), &delta(whole_b)]), two, "two events, no index");

        let zero_a = r#"{"index":0,"function":{"name":"a","arguments":"{}"}}"#;
        let zero_b = r#"{"index":0,"function":{"name":"b","arguments":"{}"}}"#;
        assert_eq!(
            calls(&[&delta(&format!("{zero_a},{zero_b}"))]),
            two,
            "one event, the same index"
        );

        let id_a = r#"{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}"#;
        let id_b = r#"{"index":0,"id":"2","function":{"name":"a","arguments":"{}"}}"#;
        let by_id = vec![call("1", "a", "{}"), call("2", "a", "{}")];
        assert_eq!(calls(&[&delta(id_a), &delta(id_b)]), by_id, "the same index, other ids");
    }

    #[test]
    fn two_calls_that_share_an_id_stay_two() {
        let expected = vec![call("1", "task", r#"{"n":1}"#), call("1", "task", r#"{"n":2}"#)];
        let head = r#""id":"1","function":{"name":"task","arguments":"{\"n\":"#;
        let with_index = [
            delta(&format!(r#"{{"index":0,{head}1}}"}}}}"#)),
            delta(&format!(r#"{{"index":1,{head}2}}"}}}}"#)),
        ];
        let without = [
            delta(&format!(r#"{{{head}1}}"}}}}"#)),
            delta(&format!(r#"{{{head}2}}"}}}}"#)),
        ];
        for events in [with_index, without] {
            assert_eq!(calls(&[&events[0], &events[1]]), expected);
        }
    }

    #[test]
    fn a_server_that_repeats_the_head_with_each_fragment_makes_one_call() {
        let first = r#"{"id":"1","function":{"name":"task","arguments":"{\"n\":"}}"#;
        let second = r#"{"id":"1","function":{"name":"task","arguments":"1}"}}"#;
        assert_eq!(
            calls(&[&delta(first), &delta(second)]),
            vec![call("1", "task", r#"{"n":1}"#)]
        );
        let (first, second) = (
            first.replace("{\"id", "{\"index\":0,\"id"),
            second.replace("{\"id", "{\"index\":0,\"id"),
        );
        assert_eq!(
            calls(&[&delta(&first), &delta(&second)]),
            vec![call("1", "task", r#"{"n":1}"#)]
        );
    }

    #[test]
    fn arguments_pass_as_they_are_and_an_object_becomes_its_text() {
        let odd = r#"{"function":{"name":"a","arguments":"{oops"}},{"function":{"name":"b","arguments":{"x":1}}},{"function":{"name":"c","arguments":null}},{"function":{"name":"d"}}"#;
        let expected = vec![
            call("", "a", "{oops"),
            call("", "b", r#"{"x":1}"#),
            call("", "c", ""),
            call("", "d", ""),
        ];
        assert_eq!(calls(&[&delta(odd)]), expected);
    }

    #[test]
    fn recorded_parallel_calls_are_put_together_by_index() {
        let events = [
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
            &delta(r#"{"index":0,"function":{"arguments":"{\"path\":"}}"#),
            &delta(r#"{"index":1,"id":"call_b","type":"function","function":{"name":"list","arguments":""}}"#),
            &delta(r#"{"index":0,"function":{"arguments":"\"a\"}"}}"#),
            &delta(r#"{"index":1,"function":{"arguments":"{}"}}"#),
            FINISH,
            "[DONE]",
        ];
        let (reply, told) = fold_all(OpenAiFold::new("asked", ModelLimits::default()), &events);
        let reply = reply.expect("a reply");
        assert_eq!(
            reply.calls,
            vec![call("call_a", "read", r#"{"path":"a"}"#), call("call_b", "list", "{}")]
        );
        assert_eq!(reply.stop, StopReason::ToolCalls);
        assert_eq!(told.calls, vec!["read".to_owned(), "list".to_owned()]);
    }
}
