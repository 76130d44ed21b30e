//! Names, ids and arguments of earlier calls, made fit to be sent back to a strict provider.
//!
//! A model may write any name and any arguments; a provider refuses a conversation that quotes them back. So what goes
//! out again is repaired here, on the wire only: the journal keeps what the model wrote.

use serde_json::{Value, json};

/// The longest function name that both providers take.
const NAME_CHARS_MAX: usize = 64;
/// Stands for a call without a name.
const NAMELESS: &str = "unknown";

/// `name` with every character that no provider allows in a function's name replaced by `_`.
pub(crate) fn sendable_name(name: &str) -> String {
    let repaired: String = name
        .chars()
        .take(NAME_CHARS_MAX)
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    if repaired.is_empty() {
        NAMELESS.to_owned()
    } else {
        repaired
    }
}

/// `id` in the alphabet of the stricter provider. Every foreign character becomes its own code, so that `a:0` and `a.0`
/// stay different.
pub(crate) fn sendable_id(id: &str) -> String {
    use std::fmt::Write;
    let mut repaired = String::with_capacity(id.len());
    for c in id.chars() {
        if is_plain(c) {
            repaired.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(repaired, "_{:x}_", u32::from(c));
        }
    }
    repaired
}

/// The arguments as an object; what is none is quoted inside one, so that the model sees what it wrote.
pub(crate) fn sendable_arguments(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return json!({});
    }
    match super::json::parse(arguments) {
        Ok(object @ Value::Object(_)) => object,
        Ok(_) | Err(_) => json!({ "malformed_arguments": arguments }),
    }
}

/// The arguments as the text of an object; valid text stays as it was written, byte for byte.
pub(crate) fn sendable_arguments_text(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => arguments.to_owned(),
        Ok(_) | Err(_) => sendable_arguments(arguments).to_string(),
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_keep_to_the_strict_alphabet() {
        assert_eq!(sendable_name("read_file"), "read_file");
        assert_eq!(sendable_name("functions.task:0 é"), "functions_task_0__");
        assert_eq!(sendable_name(""), "unknown");
        assert_eq!(sendable_name(&"x".repeat(100)).len(), 64);
        assert_eq!(sendable_id("call_1-A"), "call_1-A");
        assert_eq!(sendable_id("task:0"), "task_3a_0");
        assert_ne!(sendable_id("a:0"), sendable_id("a.0"));
    }

    #[test]
    fn valid_arguments_stay_as_they_are_and_others_are_quoted_in_an_object() {
        assert_eq!(sendable_arguments_text(r#"{ "n": 1.10 }"#), r#"{ "n": 1.10 }"#);
        assert_eq!(sendable_arguments_text(" "), "{}");
        assert_eq!(
            sendable_arguments_text(r#"{"a":1}}"#),
            r#"{"malformed_arguments":"{\"a\":1}}"}"#
        );
        assert_eq!(sendable_arguments("[1]"), json!({"malformed_arguments": "[1]"}));
        assert_eq!(sendable_arguments(r#"{"a":"\ud800"}"#), json!({"a": "\u{fffd}"}));
        assert_eq!(sendable_arguments_text(r#"{"a":"\ud800"}"#), "{\"a\":\"\u{fffd}\"}");
    }
}
