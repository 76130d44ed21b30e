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
    if let Some((_, message, help)) = READERS_WORDS.iter().find(|(words, ..)| message.contains(words)) {
        return Fault::new(Code::WrongValue, *message, *help);
    }
    let wrong_kind = ["invalid", "expected", "cannot parse", "out of range", "did not match"];
    if wrong_kind.iter().any(|words| message.contains(words)) {
        return Fault::new(Code::WrongValue, message, "correct the value");
    }
    Fault::new(Code::Syntax, message, "check quotes, colons and indentation")
}

/// What the reader says in words of its own, what a person is told instead, and what to do.
const READERS_WORDS: [(&str, &str, &str); 7] = [
    (
        "unexpected end of input",
        "there is nothing in it",
        "write `jobs:` with at least one job",
    ),
    (
        "multiple YAML documents",
        "there is more than one document in it",
        "keep one, without a line `---`",
    ),
    (
        "expected sequence start",
        "a list is expected here",
        "write one item to a line, each behind a `-`",
    ),
    (
        "expected mapping start",
        "fields are expected here",
        "write them as `name: value`",
    ),
    (
        "expected string scalar",
        "a text is expected here",
        "put it into quotes",
    ),
    (
        "invalid u",
        "a whole number from 0 on is expected here",
        "write it in digits",
    ),
    ("invalid i", "a whole number is expected here", "write it in digits"),
];

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
    fn what_a_person_is_told_is_not_in_the_words_of_the_reader() {
        let told = |text: &str| {
            let (code, place, message, _) = fault(text);
            assert_eq!(code, Code::WrongValue, "{text}");
            (place, message)
        };
        let expected = |place: &str, message: &str| (place.to_owned(), message.to_owned());
        assert_eq!(told(""), expected("plan.yaml:1:1", "there is nothing in it"));
        assert_eq!(told("42"), expected("plan.yaml:1:1", "fields are expected here"));
        assert_eq!(told("jobs: {}"), expected("plan.yaml:1:7", "a list is expected here"));
        assert_eq!(
            told("jobs: [{id: [a]}]"),
            expected("plan.yaml:1:13", "a text is expected here")
        );
        assert_eq!(
            told("limits: {tokens: -1}"),
            expected("plan.yaml:1:18", "a whole number from 0 on is expected here")
        );
        let two = told("jobs: []\n---\njobs: []\n").1;
        assert_eq!(two, "there is more than one document in it");
    }

    #[test]
    fn json_and_yaml_say_the_same() {
        let yaml = "jobs:\n- id: a\n  description: x\n  depends_on: [b, {job: c, on: failure}]\n";
        let json = r#"{"jobs":[{"id":"a","description":"x","depends_on":["b",{"job":"c","on":"failure"}]}]}"#;
        assert_eq!(parse(yaml, "p").expect("yaml"), parse(json, "p").expect("json"));
    }
}
