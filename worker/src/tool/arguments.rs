//! A model's arguments: from whatever it wrote to an object that the tool takes.

use jsonschema::Validator;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{ToolError, ToolErrorCode};

/// How many violations one answer names; a model repairs a few at a time.
const VIOLATIONS_MAX: usize = 8;
/// How much of one violation is told: it may quote the whole offending value.
const VIOLATION_CHARS_MAX: usize = 300;

/// Reads the arguments as the model wrote them.
///
/// Nothing and `null` mean no arguments. An object that came wrapped in a JSON string, as some providers hand it on,
/// is unwrapped once.
///
/// # Errors
/// [`ToolErrorCode::MalformedArguments`] with line and column, also for an escape that is half of a surrogate pair;
/// [`ToolErrorCode::TooLarge`] over the bound.
pub fn parse(raw: &str, bytes_max: usize) -> Result<Value, ToolError> {
    if raw.len() > bytes_max {
        let message = format!(
            "the arguments have {} bytes: at most {bytes_max} are allowed; write less at once",
            raw.len()
        );
        return Err(ToolError::new(ToolErrorCode::TooLarge, message));
    }
    match read(raw)? {
        Value::String(inner) => object(read(&inner)?),
        value => object(value),
    }
}

fn read(raw: &str) -> Result<Value, ToolError> {
    if raw.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(raw).map_err(|error| {
        let message = format!("the arguments are not valid JSON: {error}; send one JSON object");
        ToolError::new(ToolErrorCode::MalformedArguments, message)
    })
}

fn object(value: Value) -> Result<Value, ToolError> {
    match value {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(_) => Ok(value),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Err(ToolError::new(
            ToolErrorCode::MalformedArguments,
            "the arguments are JSON, but not an object: send one JSON object",
        )),
    }
}

/// Checks an object against a tool's schema.
///
/// # Errors
/// [`ToolErrorCode::InvalidArguments`] naming the first violations with their paths.
pub fn validate(arguments: &Value, validator: &Validator) -> Result<(), ToolError> {
    let mut violations = validator.iter_errors(arguments);
    let named: Vec<String> = violations
        .by_ref()
        .take(VIOLATIONS_MAX)
        .map(|violation| describe(&violation))
        .collect();
    if named.is_empty() {
        return Ok(());
    }
    let more = match violations.count() {
        0 => String::new(),
        count => format!("; and {count} more"),
    };
    Err(ToolError::new(
        ToolErrorCode::InvalidArguments,
        format!("{}{more}", named.join("; ")),
    ))
}

/// Takes the arguments apart; what the schema let pass and the tool cannot use is the model's to repair.
///
/// # Errors
/// [`ToolErrorCode::InvalidArguments`].
pub fn take<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::new(ToolErrorCode::InvalidArguments, error.to_string()))
}

fn describe(violation: &jsonschema::ValidationError<'_>) -> String {
    let path = violation.instance_path().to_string();
    let path = if path.is_empty() { "arguments" } else { &path };
    let told = violation.to_string();
    match told.char_indices().nth(VIOLATION_CHARS_MAX) {
        Some((end, _)) => format!("at {path}: {}…", &told[..end]),
        None => format!("at {path}: {told}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const BYTES_MAX: usize = 1_000;

    fn malformed(raw: &str) -> String {
        let error = parse(raw, BYTES_MAX).unwrap_err();
        assert_eq!(error.code, ToolErrorCode::MalformedArguments, "{raw}");
        error.message
    }

    #[test]
    fn nothing_null_and_an_object_in_a_string_are_read_as_meant() {
        for none in ["", " \n", "null", "{}", "\"\"", "\"{}\""] {
            assert_eq!(parse(none, BYTES_MAX), Ok(json!({})), "{none}");
        }
        assert_eq!(parse(r#""{\"path\": \"a\"}""#, BYTES_MAX), Ok(json!({"path": "a"})));
    }

    #[test]
    fn malformed_json_is_answered_with_line_and_column() {
        assert_eq!(
            malformed("{\"path\":\n  oops}"),
            "the arguments are not valid JSON: expected value at line 2 column 3; send one JSON object"
        );
        assert_eq!(
            malformed("{\"path\": \"a"),
            "the arguments are not valid JSON: EOF while parsing a string at line 1 column 11; send one JSON object"
        );
        assert!(malformed("{} {}").contains("trailing characters at line 1 column 4"));
        for not_an_object in ["[]", "7", "true", "\"\\\"x\\\"\""] {
            assert_eq!(
                malformed(not_an_object),
                "the arguments are JSON, but not an object: send one JSON object"
            );
        }
    }

    #[test]
    fn d30_a_surrogate_pair_is_one_character_and_half_of_one_is_malformed() {
        assert_eq!(
            parse(r#"{"t": "\ud83c\udf78"}"#, BYTES_MAX),
            Ok(json!({"t": "\u{1F378}"}))
        );
        for half in [
            r#"{"t": "\ud800"}"#,
            r#"{"t": "\udf78\ud83c"}"#,
            r#"{"t": "\ud83c-\udf78"}"#,
            r#"{"\udc00": 1}"#,
        ] {
            assert!(
                malformed(half).starts_with("the arguments are not valid JSON: "),
                "{half}"
            );
        }
    }

    #[test]
    fn deep_nesting_is_malformed_and_does_not_overflow_the_stack() {
        let deep = "[".repeat(900);
        assert!(malformed(&deep).contains("recursion limit exceeded"));
    }

    #[test]
    fn arguments_at_the_bound_are_read_and_beyond_it_refused() {
        let fits = format!("{{\"a\": \"{}\"}}", "x".repeat(BYTES_MAX - 9));
        assert!(parse(&fits, BYTES_MAX).is_ok());
        let error = parse(&format!("{fits} "), BYTES_MAX).unwrap_err();
        assert_eq!(
            error.to_string(),
            "too_large: the arguments have 1001 bytes: at most 1000 are allowed; write less at once"
        );
    }

    #[test]
    fn violations_are_named_with_their_paths_and_bounded() {
        let schema = json!({
            "type": "object",
            "properties": {"path": {}, "n": {"type": "integer"}, "list": {"items": {"type": "string"}}},
            "required": ["path"],
            "additionalProperties": false
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        let told = |arguments: Value| validate(&arguments, &validator).map_err(|error| error.to_string());
        assert_eq!(told(json!({"path": 1})), Ok(()));
        assert_eq!(
            told(json!({"path": 1, "n": "x", "list": ["a", 2]})),
            Err(
                "invalid_arguments: at /n: \"x\" is not of type \"integer\"; at /list/1: 2 is not of type \"string\""
                    .to_owned()
            )
        );
        assert_eq!(
            told(json!({})),
            Err("invalid_arguments: at arguments: \"path\" is a required property".to_owned())
        );
        let many = told(json!({"path": 1, "list": vec![0; 20]})).unwrap_err();
        assert!(
            many.ends_with("at /list/7: 0 is not of type \"string\"; and 12 more"),
            "{many}"
        );
        let long = told(json!({"path": 1, "n": "é".repeat(5_000)})).unwrap_err();
        assert!(long.len() < 1_000 && long.ends_with('…'), "{long}");
    }
}
