//! A plan: a fixed graph of jobs as a person writes it, in YAML or JSON.

mod locate;
mod parse;

pub use locate::{Place, locate};
pub use parse::{parse, read};

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::agent::AgentSpec;
use crate::budget::{JobLimits, RunLimits};
use crate::dag::Condition;
use crate::run::OnFailure;

/// A submission as written. Field names are the file's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What it is about, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The model of agents that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Folders and files that its agents may read; relative to the plan's own folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// What its jobs may use up together.
    #[serde(default)]
    pub limits: RunLimits,
    /// What becomes of jobs that need one that failed.
    #[serde(default, skip_serializing_if = "OnFailure::is_skip")]
    pub on_failure: OnFailure,
    /// The job whose result is the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Submitting the same plan again under this key gives the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Agents of this plan alone, by name; they win over files of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentSpec>,
    /// The graph.
    pub jobs: Vec<PlannedJob>,
}

/// One job as written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedJob {
    /// Its name, unique in the run.
    pub id: String,
    /// The agent that does it; `general-purpose` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What to do.
    pub description: String,
    /// Structured data for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Need>,
    /// Higher is claimed first.
    #[serde(default)]
    pub priority: i32,
    /// It starts this much later than the submit, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// The queue, instead of its agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// What it may use up; absent ones are its agent's.
    #[serde(default)]
    pub limits: JobLimits,
    /// Adding the same job to the same run again under this key gives the same job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// One dependency as written: a name, or a name with the outcome that is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Need {
    /// The job must have succeeded.
    Name(String),
    /// The job must have ended so.
    With(NeedWith),
}

/// A dependency with its condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeedWith {
    /// The parent's name.
    pub job: String,
    /// The outcome that is needed.
    #[serde(default)]
    pub on: Condition,
}

impl<'de> Deserialize<'de> for Need {
    /// By hand, because an untagged enum would swallow the reason why neither form fits.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NeedVisitor)
    }
}

struct NeedVisitor;

impl<'de> Visitor<'de> for NeedVisitor {
    type Value = Need;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the id of a job, or `{job: ID, on: success|failure|finished}`")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Need, E> {
        Ok(Need::Name(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Need, A::Error> {
        NeedWith::deserialize(MapAccessDeserializer::new(map)).map(Need::With)
    }
}

impl Need {
    /// The parent's name.
    #[must_use]
    pub fn job(&self) -> &str {
        match self {
            Self::Name(job) | Self::With(NeedWith { job, .. }) => job,
        }
    }

    /// The outcome that is needed.
    #[must_use]
    pub fn condition(&self) -> Condition {
        match self {
            Self::Name(_) => Condition::Success,
            Self::With(need) => need.on,
        }
    }
}
