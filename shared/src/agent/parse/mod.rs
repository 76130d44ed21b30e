//! Reads an agent from a file: Markdown with YAML front matter, as coding agents have them, or the same fields as JSON.
//!
//! Files of other programs are welcome: their fields that we do not know are left aside with a warning, their names of
//! tools are translated. A field that looks like a slip of one of ours is an error.

mod fields;
mod foreign;

use std::collections::BTreeMap;

use serde_json::Value;

use super::spec::{AgentSpec, RunnerSpec};
use crate::fault::{Code, Fault};
use crate::plan;
use fields::Written;

/// The longest agent file: a prompt of this size would fill the context of many models.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// The longest name.
const NAME_CHARS_MAX: usize = 64;

/// An agent as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedAgent {
    /// The agent.
    pub spec: AgentSpec,
    /// What was left aside or translated: a sentence each, with its place.
    pub warnings: Vec<String>,
}

/// Reads an agent from Markdown text. `file` is named in faults; its stem is the agent's name where the text gives none.
///
/// # Errors
/// A [`Fault`] with file, line and field.
pub fn markdown(text: &str, file: &str) -> Result<ParsedAgent, Fault> {
    check_size(text, file)?;
    let text = text.trim_start_matches('\u{feff}');
    let (front, body) = split(text).ok_or_else(|| {
        Fault::new(
            Code::AgentFile,
            "the file has no front matter",
            "begin it with a line `---`, then `name: …` and `description: …`, then another line `---` and the prompt",
        )
        .at(format!("{file}:1"))
    })?;
    agent(&front, Some(body.trim()), file)
}

/// Reads an agent from JSON text with the fields of the front matter and `prompt`.
///
/// # Errors
/// A [`Fault`] with file, line and field.
pub fn json(text: &str, file: &str) -> Result<ParsedAgent, Fault> {
    check_size(text, file)?;
    agent(text, None, file)
}

fn check_size(text: &str, file: &str) -> Result<(), Fault> {
    if text.len() <= FILE_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "the file has {} bytes, and an agent may have {FILE_BYTES_MAX}",
        text.len()
    );
    Err(Fault::new(
        Code::AgentFile,
        message,
        "shorten the prompt and let the agent read files",
    )
    .at(file))
}

/// The front matter, with an empty line in place of its first marker so that its lines keep their numbers, and the body.
fn split(text: &str) -> Option<(String, &str)> {
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((format!("\n{}", &rest[..end]), &rest[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

fn agent(fields: &str, body: Option<&str>, file: &str) -> Result<ParsedAgent, Fault> {
    let mut warnings = Vec::new();
    check_fields(fields, file, &mut warnings)?;
    let written: Written = plan::read(fields, file)?;
    let name = match written.name.as_deref().map(str::trim) {
        Some(name) if !name.is_empty() => name.to_owned(),
        Some(_) | None => stem(file).to_owned(),
    };
    let wrong = |field: &str, message: String, help: &str| {
        Fault::new(Code::AgentFile, message, help).at(format!("{file}: {field}"))
    };
    if !is_name(&name) {
        let message = format!("`{}` cannot be the name of an agent", name.escape_debug());
        return Err(wrong("name", message, "use 1 to 64 letters, digits, `-` and `_`"));
    }
    let description = written
        .description
        .as_deref()
        .map(str::trim)
        .unwrap_or_default()
        .to_owned();
    if description.is_empty() {
        let message = "the agent has no description".to_owned();
        return Err(wrong(
            "description",
            message,
            "say in a sentence when a coordinator should use it",
        ));
    }
    let prompt = match body {
        Some(body) if !body.is_empty() => body,
        Some(_) | None => written.prompt.as_deref().map(str::trim).unwrap_or_default(),
    }
    .to_owned();
    let runner = written.runner(&name).map_err(|message| {
        wrong(
            "runner",
            message,
            "use agent, extractive, process, scripted or the name of a runner of yours",
        )
    })?;
    if prompt.is_empty() && runner == RunnerSpec::Agent {
        let message = "the agent has no prompt".to_owned();
        return Err(wrong(
            "prompt",
            message,
            "write its instructions below the front matter",
        ));
    }
    let spec = written
        .into_spec(name, description, prompt, runner, file, &mut warnings)
        .map_err(|(field, message, help)| wrong(field, message, help))?;
    Ok(ParsedAgent { spec, warnings })
}

/// Refuses slips of our fields and warns of fields that we do not know.
fn check_fields(text: &str, file: &str, warnings: &mut Vec<String>) -> Result<(), Fault> {
    let fields: BTreeMap<String, serde_saphyr::Spanned<Value>> = plan::read(text, file)?;
    let mut unknown: Vec<(u64, &String)> = fields
        .iter()
        .filter(|(name, _)| !fields::KNOWN.contains(&name.as_str()))
        .map(|(name, value)| (value.referenced.line(), name))
        .collect();
    unknown.sort_unstable();
    for (line, name) in unknown {
        let place = format!("{file}:{line}");
        match fields::slip_of(name).filter(|_| !foreign::FIELDS.contains(&name.as_str())) {
            Some(ours) => {
                let message = format!("`{}` is not known here", name.escape_debug());
                let help = format!("did you mean `{ours}`?");
                return Err(Fault::new(Code::UnknownField, message, help).at(place));
            }
            None => warnings.push(format!("{place}: the field `{}` is not used", name.escape_debug())),
        }
    }
    Ok(())
}

fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.chars().all(plain)
}

#[cfg(test)]
mod tests;
