//! A model's arguments: from whatever it wrote to an object that the tool takes.

use jsonschema::Validator;
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

fn describe(violation: &jsonschema::ValidationError<'_>) -> String {
    let path = violation.instance_path().to_string();
    let path = if path.is_empty() { "arguments" } else { &path };
    let told = violation.to_string();
    match told.char_indices().nth(VIOLATION_CHARS_MAX) {
        Some((end, _)) => format!("at {path}: {}…", &told[..end]),
        None => format!("at {path}: {told}"),
    }
}
