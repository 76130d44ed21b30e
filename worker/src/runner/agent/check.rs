//! JSON Schemas as the agent loop wants them: a function that names violations with their paths.

use jsonschema::Validator;
use legwork_shared::agent::machine::Check;
use legwork_shared::job::{FailReason, JobError};
use serde_json::Value;

/// The check of a schema that an agent declares as its `field`.
///
/// # Errors
/// A fatal error if it is not a JSON Schema.
pub(super) fn of_schema(agent: &str, field: &str, schema: &Value) -> Result<Check, JobError> {
    let validator = jsonschema::validator_for(schema).map_err(|error| {
        let message = format!("the `{field}` of agent `{agent}` is not a JSON Schema: {error}; correct it");
        JobError::fatal(FailReason::Error, "bad_schema", message)
    })?;
    Ok(Check::new(move |value| violations(&validator, value)))
}

fn violations(validator: &Validator, value: &Value) -> Result<(), Vec<String>> {
    let found: Vec<String> = validator
        .iter_errors(value)
        .map(|violation| {
            let path = violation.instance_path().to_string();
            let path = if path.is_empty() { "/" } else { &path };
            format!("at {path}: {violation}")
        })
        .collect();
    if found.is_empty() { Ok(()) } else { Err(found) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn s28_violations_are_named_with_their_paths() {
        let schema = json!({
            "type": "object",
            "properties": {"rows": {"type": "array", "items": {"type": "integer"}}},
            "required": ["rows", "total"]
        });
        let check = of_schema("a", "response_format", &schema).unwrap();
        assert_eq!(check.run(&json!({"rows": [1], "total": 1})), Ok(()));
        let found = check.run(&json!({"rows": [1, "two"]})).unwrap_err();
        assert!(
            found.iter().any(|violation| violation.starts_with("at /rows/1: ")),
            "{found:?}"
        );
        assert!(
            found
                .iter()
                .any(|violation| violation.starts_with("at /: ") && violation.contains("total")),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_no_schema_is_a_fatal_error_that_names_the_agent() {
        let error = of_schema("scout", "input_schema", &json!({"type": "objekt"})).unwrap_err();
        assert_eq!(error.code, "bad_schema");
        assert!(
            error.message.starts_with("the `input_schema` of agent `scout` is not"),
            "{}",
            error.message
        );
    }
}
