//! Reads a plan from text, with faults that name file, line and column.

use serde::de::DeserializeOwned;

use super::Plan;
use crate::fault::{Code, Fault};
use crate::nearest::nearest;

/// Reads a plan from YAML or JSON. `file` is named in faults.
///
/// # Errors
/// [`Code::Syntax`], [`Code::UnknownField`] with the nearest name, or [`Code::WrongValue`].
pub fn parse(text: &str, file: &str) -> Result<Plan, Fault> {
    read(text, file)
}

/// Reads YAML or JSON into any type whose unknown fields are errors.
///
/// # Errors
/// As [`parse`].
pub fn read<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, Fault> {
    serde_saphyr::from_str(text).map_err(|error| {
        let message = without_place(&error.without_snippet().to_string());
        let place = match error.location() {
            Some(at) if at.line() > 0 => format!("{file}:{}:{}", at.line(), at.column()),
            Some(_) | None => file.to_owned(),
        };
        explain(&message).at(place)
    })
}

/// The first line of the reader's message without the place, which the fault names itself.
fn without_place(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("it cannot be read");
    line.rsplit_once(" at line ")
        .map_or(line, |(message, _)| message)
        .to_owned()
}

/// Turns the reader's message into a fault: which kind, and what to do about it.
fn explain(message: &str) -> Fault {
    if let Some(field) = quoted_after(message, "unknown field").or_else(|| quoted_after(message, "unknown variant")) {
        let (_, list) = message.rsplit_once("expected ").unwrap_or_default();
        let list = list.trim_start_matches("one of ");
        let known: Vec<&str> = list
            .split([',', ' '])
            .map(|name| name.trim_matches('`'))
            .filter(|n| !n.is_empty())
            .collect();
        let help = match nearest(&field, known.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None if known.is_empty() => "remove it".to_owned(),
            None => format!("use one of {}", known.join(", ")),
        };
        return Fault::new(Code::UnknownField, format!("`{field}` is not known here"), help);
    }
    if let Some(field) = quoted_after(message, "missing field") {
        return Fault::new(
            Code::WrongValue,
            format!("the field `{field}` is missing"),
            format!("add `{field}`"),
        );
    }
    let wrong_kind = ["invalid", "expected", "cannot parse", "out of range", "did not match"];
    if wrong_kind.iter().any(|words| message.contains(words)) {
        return Fault::new(Code::WrongValue, message, "correct the value");
    }
    Fault::new(Code::Syntax, message, "check quotes, colons and indentation")
}

/// The word in back quotes after `marker`.
fn quoted_after(message: &str, marker: &str) -> Option<String> {
    let rest = &message[message.find(marker)? + marker.len()..];
    rest.split('`').nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (Code, String, String, String) {
        let fault = parse(text, "plan.yaml").expect_err("a fault");
        (fault.code, fault.place.unwrap_or_default(), fault.message, fault.help)
    }

    #[test]
    fn a_misspelt_field_is_named_with_its_place_and_the_nearest_name() {
        let (code, place, message, help) = fault("jobs:\n  - id: a\n    description: x\n    dependson: [b]\n");
        assert_eq!(code, Code::UnknownField);
        assert!(place.starts_with("plan.yaml:4:"), "{place}");
        assert_eq!(message, "`dependson` is not known here");
        assert_eq!(help, "did you mean `depends_on`?");
    }

    #[test]
    fn missing_fields_wrong_kinds_and_bad_syntax_have_codes_of_their_own() {
        assert_eq!(fault("jobs:\n  - description: x\n").0, Code::WrongValue);
        assert_eq!(fault("title: x\n").0, Code::WrongValue);
        assert_eq!(fault("jobs: 5\n").0, Code::WrongValue);
        assert_eq!(
            fault("jobs:\n  - id: a\n    description: x\n    priority: high\n").0,
            Code::WrongValue
        );
        assert_eq!(fault("limits: {tokens: -5}\njobs: []\n").0, Code::WrongValue);
        assert_eq!(
            fault("jobs:\n- {id: a, description: x, depends_on: [{job: b, on: sucess}]}\n").3,
            "did you mean `success`?"
        );
        assert_eq!(fault("jobs: [\n").0, Code::Syntax);
        assert_eq!(fault("{\"jobs\": [}").0, Code::Syntax);
    }

    #[test]
    fn json_and_yaml_say_the_same() {
        let yaml = "jobs:\n- id: a\n  description: x\n  depends_on: [b, {job: c, on: failure}]\n";
        let json = r#"{"jobs":[{"id":"a","description":"x","depends_on":["b",{"job":"c","on":"failure"}]}]}"#;
        assert_eq!(parse(yaml, "p").expect("yaml"), parse(json, "p").expect("json"));
    }
}
