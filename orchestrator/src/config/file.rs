//! The configuration file: a flat table of TOML.

use legwork_shared::fault::{Code, Fault};
use legwork_shared::nearest::nearest;
use toml::{Table, Value};

use super::Key;

/// The keys and values of a file with their places. `file` is named in faults.
///
/// # Errors
/// [`Code::Syntax`], [`Code::UnknownField`] with the nearest name, or [`Code::WrongValue`].
pub fn parse_file(text: &str, file: &str) -> Result<Vec<(Key, String, String)>, Fault> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        let message = error.message().lines().next().unwrap_or("it is not TOML").to_owned();
        Fault::new(Code::Syntax, message, "write lines like `slots = 8`").at(format!("{file}:{line}"))
    })?;
    table
        .iter()
        .map(|(name, value)| {
            let place = format!("{file}:{}", line_of_key(text, name));
            let key = Key::named(name).ok_or_else(|| unknown(name).at(place.clone()))?;
            let text = as_text(value).ok_or_else(|| {
                let message = format!("`{name}` has a value of the wrong kind");
                Fault::new(Code::WrongValue, message, format!("give it {}", key.info().form)).at(place.clone())
            })?;
            Ok((key, text, place))
        })
        .collect()
}

fn unknown(name: &str) -> Fault {
    let names = Key::ALL.map(|key| key.info().name);
    let help = match nearest(name, names) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("use one of {}", names.join(", ")),
    };
    Fault::new(Code::UnknownField, format!("`{name}` is not known here"), help)
}

/// A value as a flag would have it.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            texts.map(|texts| texts.join(","))
        }
        Value::Boolean(_) | Value::Datetime(_) | Value::Table(_) => None,
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The line that begins with a key; a table's header counts too.
fn line_of_key(text: &str, name: &str) -> usize {
    let begins = |line: &str| {
        let line = line.trim_start().trim_start_matches(['[', '"', '\'']);
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with([' ', '=', '"', '\'', ']', '.', '\t']))
    };
    text.lines().position(begins).map_or(1, |place| place + 1)
}
