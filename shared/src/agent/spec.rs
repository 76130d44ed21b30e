//! A named subagent: what it is for, what drives it, what it may use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::JobLimits;

/// How an attempt of an agent's job is executed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunnerSpec {
    /// A model with tools, in a loop.
    #[default]
    Agent,
    /// A program that speaks JSON lines on stdin and stdout.
    Process {
        /// The program and its arguments; no shell in between.
        command: Vec<String>,
        /// Variables of its otherwise empty environment.
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
    /// Search and quotation without a language model.
    Extractive {
        /// Its part in the research: `researcher`, `reviewer`, `analyst` or `writer`.
        role: String,
    },
    /// The agent loop with replies from a script instead of a model.
    Scripted {
        /// The turns, as YAML text.
        script: String,
    },
    /// A runner that the program embedding the worker brings.
    Custom {
        /// Its name in the worker's registry.
        name: String,
    },
}

impl RunnerSpec {
    /// Whether it can only quote from documents, so that without any it could do nothing but pretend.
    #[must_use]
    pub fn only_quotes(&self) -> bool {
        matches!(self, Self::Extractive { role } if role == "researcher" || role == "reviewer")
    }

    /// Whether it can read an update. One that searches and quotes has nobody who could.
    #[must_use]
    pub fn reads_updates(&self) -> bool {
        match self {
            Self::Agent | Self::Process { .. } | Self::Scripted { .. } | Self::Custom { .. } => true,
            Self::Extractive { .. } => false,
        }
    }

    /// Its name in a worker's registry.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Agent => "agent",
            Self::Process { .. } => "process",
            Self::Extractive { .. } => "extractive",
            Self::Scripted { .. } => "scripted",
            Self::Custom { name } => name,
        }
    }
}

/// A named subagent specification. A run keeps a copy of each it uses, so that a changed file changes no running work.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSpec {
    /// Its name: letters, digits, `-` and `_`, at most 64 characters.
    pub name: String,
    /// When to use it, for a coordinator.
    pub description: String,
    /// The system prompt.
    pub prompt: String,
    /// How its jobs are executed.
    pub runner: RunnerSpec,
    /// Which model: `provider:name`, a bare name, or nothing for the one of its parent or run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models to go to, in order, when the first cannot answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback_models: Vec<String>,
    /// The tools it may call; absent means all that its parent or the run has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools taken away again, built-in ones too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded_tools: Vec<String>,
    /// The agents it may hand work to; absent means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    /// Replaces the text of the `task` tool; `{agents}` in it becomes the list of `agents` with their descriptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_template: Option<String>,
    /// Whether it plans with `write_todos`; on by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todos: Option<bool>,
    /// A JSON Schema that its answer must fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<Value>,
    /// A JSON Schema that the `context` of its jobs must fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// The most tokens of one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature in thousandths; absent leaves it to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_milli: Option<u32>,
    /// The queue its jobs are claimed from; `default` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// What each of its jobs may use up.
    pub limits: JobLimits,
}
