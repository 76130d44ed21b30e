//! The refusals of real providers.

use std::collections::BTreeSet;

use super::asked::{Asked, Role, Said};

/// Why a real provider would refuse this conversation with 400, if it would.
pub(super) fn refusal(asked: &Asked) -> Option<String> {
    let mut seen = BTreeSet::new();
    for (place, said) in asked.messages.iter().enumerate() {
        if said.calls.is_empty() && said.text.trim().is_empty() && said.results.is_empty() {
            return Some(format!("messages.{place}: content must not be empty"));
        }
        for id in &said.calls {
            if !seen.insert(id) {
                return Some(format!("messages.{place}: tool call id `{id}` is repeated"));
            }
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if id.is_empty() || !id.chars().all(is_plain) {
                return Some(format!("messages.{place}: `{id}` is no tool call id"));
            }
        }
        let before = place.checked_sub(1).map(|before| &asked.messages[before]);
        if let Some(problem) = unpaired(before, said) {
            return Some(format!("messages.{place}: {problem}"));
        }
    }
    match asked.messages.last() {
        None => Some("messages: at least one message is required".to_owned()),
        Some(last) if !last.calls.is_empty() => Some("messages: the last calls have no results".to_owned()),
        Some(_) if asked.messages[0].role != Role::User => Some("messages.0: must be from the user".to_owned()),
        Some(_) => None,
    }
}

/// Whether the results of `said` are not exactly those that the calls of the message before it wait for.
fn unpaired(before: Option<&Said>, said: &Said) -> Option<String> {
    let waiting: Vec<&String> = before.into_iter().flat_map(|before| &before.calls).collect();
    let mut brought = BTreeSet::new();
    for id in &said.results {
        if !waiting.contains(&id) {
            return Some(format!("a result for `{id}`, which the message before does not call"));
        }
        if !brought.insert(id) {
            return Some(format!("two results for `{id}`"));
        }
    }
    let missing = waiting.into_iter().find(|id| !brought.contains(id))?;
    Some(format!("no result for the call `{missing}` before it"))
}

#[cfg(test)]
mod tests {
    use super::super::asked::Wire;
    use super::*;

    fn user() -> Said {
        Said {
            text: "x".into(),
            ..Said::default()
        }
    }

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    fn calls(of: &[&str]) -> Said {
        Said {
            role: Role::Assistant,
            calls: ids(of),
            ..Said::default()
        }
    }

    fn results(of: &[&str]) -> Said {
        Said {
            role: Role::Tool,
            results: ids(of),
            ..Said::default()
        }
    }

    fn judged(messages: Vec<Said>) -> Option<String> {
        let asked = Asked {
            wire: Wire::OpenAi,
            model: "m".into(),
            system: String::new(),
            messages,
            tools: vec![],
            turn: 1,
            stream: true,
        };
        refusal(&asked)
    }

    #[test]
    fn a_conversation_whose_calls_and_results_pair_is_taken() {
        assert_eq!(
            judged(vec![user(), calls(&["1", "2"]), results(&["2", "1"]), user()]),
            None
        );
    }

    #[test]
    fn what_does_not_pair_is_refused_with_its_place() {
        let cases = [
            (vec![], "messages: at least one message is required"),
            (vec![user(), calls(&["1"])], "messages: the last calls have no results"),
            (
                vec![user(), calls(&["1"]), user()],
                "messages.2: no result for the call `1` before it",
            ),
            (
                vec![user(), calls(&["1", "2"]), results(&["1"])],
                "messages.2: no result for the call `2` before it",
            ),
            (
                vec![user(), calls(&["1", "1"]), results(&["1"])],
                "messages.1: tool call id `1` is repeated",
            ),
            (
                vec![user(), calls(&["1"]), results(&["1", "1"])],
                "messages.2: two results for `1`",
            ),
            (
                vec![user(), results(&["1"])],
                "messages.1: a result for `1`, which the message before does not call",
            ),
            (
                vec![user(), calls(&["1"]), results(&["1"]), calls(&["1"]), results(&["1"])],
                "messages.3: tool call id `1` is repeated",
            ),
            (
                vec![user(), calls(&["a:0"]), results(&["a:0"])],
                "messages.1: `a:0` is no tool call id",
            ),
            (
                vec![user(), calls(&[""]), results(&[""])],
                "messages.1: `` is no tool call id",
            ),
            (
                vec![calls(&["1"]), results(&["1"])],
                "messages.0: must be from the user",
            ),
            (vec![Said::default()], "messages.0: content must not be empty"),
        ];
        for (messages, expected) in cases {
            assert_eq!(judged(messages).as_deref(), Some(expected));
        }
    }
}
