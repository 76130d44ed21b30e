//! The fields of an agent file, as written.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::foreign::{self, ToolName};
use crate::agent::spec::{AgentSpec, RunnerSpec};
use crate::budget::JobLimits;

/// All fields that are known, other spellings included.
pub(super) const KNOWN: [&str; 20] = [
    "name",
    "description",
    "prompt",
    "tools",
    "excluded_tools",
    "disallowedTools",
    "model",
    "fallback_models",
    "runner",
    "agents",
    "todos",
    "response_format",
    "input_schema",
    "max_steps",
    "maxTurns",
    "max_output_tokens",
    "temperature",
    "queue",
    "limits",
    "task_template",
];

/// The hottest sampling that a provider takes.
const TEMPERATURE_MAX: f64 = 2.0;

/// The field of ours that a name is a slip of, if it is one: a letter or two amiss, or another way of joining words.
pub(super) fn slip_of(name: &str) -> Option<&'static str> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
    let written = plain(name);
    // A very long name is no slip, and comparing it would take its square in time.
    if written.len() > 32 {
        return None;
    }
    let amiss_max = if written.len() > 5 { 2 } else { 1 };
    KNOWN
        .into_iter()
        .map(|ours| (strsim::damerau_levenshtein(&written, &plain(ours)), ours))
        .filter(|(amiss, _)| *amiss <= amiss_max)
        .min()
        .map(|(_, ours)| ours)
}

/// An agent file's fields.
#[derive(Debug, Deserialize)]
pub(super) struct Written {
    pub name: Option<String>,
    pub description: Option<String>,
    pub prompt: Option<String>,
    tools: Option<Names>,
    #[serde(alias = "disallowedTools")]
    excluded_tools: Option<Names>,
    model: Option<String>,
    fallback_models: Option<Names>,
    runner: Option<Runner>,
    agents: Option<Names>,
    task_template: Option<String>,
    todos: Option<bool>,
    response_format: Option<Value>,
    input_schema: Option<Value>,
    #[serde(alias = "maxTurns")]
    max_steps: Option<u32>,
    max_output_tokens: Option<u32>,
    temperature: Option<f64>,
    queue: Option<String>,
    #[serde(default)]
    limits: JobLimits,
}

/// A field with its fault and what to do about it.
type FieldFault = (&'static str, String, &'static str);

impl Written {
    /// The runner of the agent called `name`.
    pub fn runner(&self, name: &str) -> Result<RunnerSpec, String> {
        match &self.runner {
            None => Ok(RunnerSpec::Agent),
            Some(Runner::Full(runner)) => Ok(runner.clone()),
            Some(Runner::Named(word)) => match word.as_str() {
                "agent" => Ok(RunnerSpec::Agent),
                "extractive" => Ok(RunnerSpec::Extractive { role: name.to_owned() }),
                "process" => {
                    Err("the runner `process` needs a command: `runner: {kind: process, command: […]}`".to_owned())
                }
                "scripted" => {
                    Err("the runner `scripted` needs a script: `runner: {kind: scripted, script: …}`".to_owned())
                }
                "" => Err("the runner has no name".to_owned()),
                other => Ok(RunnerSpec::Custom { name: other.to_owned() }),
            },
        }
    }

    /// The agent that the fields describe.
    pub fn into_spec(
        self,
        name: String,
        description: String,
        prompt: String,
        runner: RunnerSpec,
        file: &str,
        warnings: &mut Vec<String>,
    ) -> Result<AgentSpec, FieldFault> {
        let temperature_milli = self.temperature.map(temperature).transpose()?;
        for (field, schema) in [
            ("response_format", &self.response_format),
            ("input_schema", &self.input_schema),
        ] {
            if schema.as_ref().is_some_and(|schema| !schema.is_object()) {
                return Err((
                    field,
                    "it is not a JSON Schema".to_owned(),
                    "write the schema as a mapping",
                ));
            }
        }
        let steps = self.max_steps.or(self.limits.steps);
        Ok(AgentSpec {
            name,
            description,
            prompt,
            runner,
            model: self.model.and_then(|model| model_name(&model, file, warnings)),
            fallback_models: self.fallback_models.map(|names| names.0).unwrap_or_default(),
            tools: self.tools.map(|names| tool_names(names.0, "tools", file, warnings)),
            excluded_tools: self
                .excluded_tools
                .map(|names| tool_names(names.0, "excluded_tools", file, warnings))
                .unwrap_or_default(),
            agents: self.agents.map(|names| names.0),
            task_template: self.task_template,
            todos: self.todos,
            response_format: self.response_format,
            input_schema: self.input_schema,
            max_output_tokens: self.max_output_tokens,
            temperature_milli,
            queue: self.queue,
            limits: JobLimits { steps, ..self.limits },
        })
    }
}

fn temperature(degrees: f64) -> Result<u32, FieldFault> {
    if !(0.0..=TEMPERATURE_MAX).contains(&degrees) {
        let message = format!("{degrees} is no temperature");
        return Err(("temperature", message, "use a number from 0 to 2"));
    }
    // In range, so neither sign nor size is lost.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let milli = (degrees * 1_000.0).round() as u32;
    Ok(milli)
}

fn model_name(model: &str, file: &str, warnings: &mut Vec<String>) -> Option<String> {
    let model = model.trim();
    if model.is_empty() || model == "inherit" {
        return None;
    }
    if foreign::MODEL_ALIASES.contains(&model) {
        warnings.push(format!(
            "{file}: model: `{model}` names no model here; the run's model is used"
        ));
        return None;
    }
    Some(model.to_owned())
}

fn tool_names(names: Vec<String>, field: &str, file: &str, warnings: &mut Vec<String>) -> Vec<String> {
    let mut ours: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let translated = match foreign::tool(&name) {
            ToolName::Ours(name) | ToolName::Translated(name) => name,
            ToolName::OfTheLoop => continue,
            ToolName::Missing => {
                warnings.push(format!("{file}: {field}: there is no tool like `{name}` here"));
                continue;
            }
        };
        if !ours.iter().any(|known| known == translated) {
            ours.push(translated.to_owned());
        }
    }
    ours
}

/// Names as a list, or in one text with commas.
#[derive(Debug)]
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of names, or names with commas between them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Names, E> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(Names(names.map(str::to_owned).collect()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Names, E> {
        Ok(Names(Vec::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = list.next_element::<String>()? {
            names.push(name.trim().to_owned());
        }
        names.retain(|name| !name.is_empty());
        Ok(Names(names))
    }
}

/// A runner by its name alone or with what it needs.
#[derive(Debug)]
enum Runner {
    Named(String),
    Full(RunnerSpec),
}

impl<'de> Deserialize<'de> for Runner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RunnerVisitor)
    }
}

struct RunnerVisitor;

impl<'de> Visitor<'de> for RunnerVisitor {
    type Value = Runner;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a runner, or a mapping with `kind`")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Runner, E> {
        Ok(Runner::Named(name.trim().to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Runner, A::Error> {
        RunnerSpec::deserialize(MapAccessDeserializer::new(map)).map(Runner::Full)
    }
}
