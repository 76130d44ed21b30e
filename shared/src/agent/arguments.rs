//! The arguments of a call, which a model wrote: read with patience for form and none for guesses.

use serde_json::{Map, Value};

/// The longest arguments that are read; a megabyte is a large file written by one call.
pub const BYTES_MAX: usize = 4 << 20;

/// Reads arguments as an object.
///
/// Nothing and `null` mean no arguments; an object that came wrapped in a JSON string, as some providers hand it on, is
/// unwrapped once. Nothing is repaired: a closable prefix of good arguments may mean something else.
///
/// # Errors
/// A sentence for the model with line and column.
pub fn parse(raw: &str) -> Result<Map<String, Value>, String> {
    if raw.len() > BYTES_MAX {
        return Err(format!(
            "the arguments have {} bytes, and at most {BYTES_MAX} are read; send less at once",
            raw.len()
        ));
    }
    match read(raw)? {
        Value::String(inner) => object(read(&inner)?),
        value => object(value),
    }
}

fn read(raw: &str) -> Result<Value, String> {
    if raw.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(raw)
        .map_err(|error| format!("the arguments are not valid JSON: {error}; send the call again with one JSON object"))
}

fn object(value: Value) -> Result<Map<String, Value>, String> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(object) => Ok(object),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("the arguments are JSON, but not an object; send the call again with one JSON object".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(raw: &str) -> Result<Value, String> {
        parse(raw).map(Value::Object)
    }

    #[test]
    fn d36_nothing_null_and_blank_mean_no_arguments() {
        for raw in ["", "  \n", "null", "{}", "\"\"", "\"{}\""] {
            assert_eq!(parsed(raw), Ok(json!({})), "{raw:?}");
        }
    }

    #[test]
    fn d34_malformed_json_is_told_with_its_position() {
        let error = parsed(r#"{"todos": []]}"#).unwrap_err();
        assert!(error.contains("line 1 column 13"), "{error}");
        assert!(parsed("[1]").unwrap_err().contains("not an object"));
        assert!(parsed(&"[".repeat(10_000)).unwrap_err().contains("recursion limit"));
    }

    #[test]
    fn d30_a_surrogate_pair_is_one_character_and_a_lone_half_is_malformed() {
        assert_eq!(parsed(r#"{"a":"\ud83c\udf78"}"#), Ok(json!({"a": "\u{1F378}"})));
        for lone in [r#"{"a":"\ud800"}"#, r#"{"a":"\udf78\ud83c"}"#, r#"{"a":"\ud800x"}"#] {
            assert!(parsed(lone).unwrap_err().contains("not valid JSON"), "{lone}");
        }
    }

    #[test]
    fn d28_a_nul_in_arguments_is_kept() {
        assert_eq!(parsed(r#"{"a":"x\u0000y"}"#), Ok(json!({"a": "x\u{0}y"})));
    }
}
