//! What an agent's loop is given: its model, its tools, whom it may hand work to, and its limits.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::agent::spec::AgentSpec;
use crate::agent::tool::ToolSpec;
use crate::agent::{delegation, todos};
use crate::budget::JobLimits;

/// Tells what is wrong with a value, each violation with its path. Passed in, so that the loop needs no validator.
#[derive(Clone)]
pub struct Check(Arc<CheckFn>);

type CheckFn = dyn Fn(&Value) -> Result<(), Vec<String>> + Send + Sync;

impl Check {
    /// A check by that function.
    pub fn new(check: impl Fn(&Value) -> Result<(), Vec<String>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Checks a value.
    ///
    /// # Errors
    /// The violations, at least one.
    pub fn run(&self, value: &Value) -> Result<(), Vec<String>> {
        (self.0)(value)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Check")
    }
}

/// An agent that work may be handed to.
#[derive(Debug, Clone)]
pub struct AgentCard {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// What the `context` of its jobs must fit.
    pub accepts: Option<Check>,
}

/// What the loop of one job is given. Never changes while the job lives.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The job's name in its run.
    pub job: String,
    /// The model to ask.
    pub model: String,
    /// The most tokens of one reply.
    pub max_output_tokens: u32,
    /// Sampling temperature in thousandths.
    pub temperature_milli: Option<u32>,
    /// The ordinary tools.
    pub tools: Vec<Arc<ToolSpec>>,
    /// The agents that work may be handed to, in the order in which the model is told of them.
    pub agents: Vec<AgentCard>,
    /// Replaces the description of `task`; `{agents}` in it becomes the list of the agents.
    pub task_template: Option<String>,
    /// Whether the agent keeps a list.
    pub todos: bool,
    /// What the final answer must fit, where it must be structured.
    pub answer: Option<Check>,
    /// How many parents are above the job.
    pub depth: u32,
    /// How many there may be above any job of the run.
    pub depth_max: u32,
    /// What the job may use up.
    pub limits: JobLimits,
}

impl Setup {
    /// The setup of a job named `job` of `agent`, with nobody to hand work to and no tools yet.
    #[must_use]
    pub fn new(job: &str, agent: &AgentSpec, model: &str) -> Self {
        Self {
            job: job.to_owned(),
            model: model.to_owned(),
            max_output_tokens: agent.max_output_tokens.unwrap_or(super::bounds::OUTPUT_TOKENS),
            temperature_milli: agent.temperature_milli,
            tools: Vec::new(),
            agents: Vec::new(),
            task_template: agent.task_template.clone(),
            todos: agent.todos.unwrap_or(true),
            answer: None,
            depth: 0,
            depth_max: 0,
            limits: agent.limits,
        }
    }

    /// All tools that the model is told of. The same in each step, so that providers can cache the prompt.
    pub(super) fn all_tools(&self) -> Arc<[Arc<ToolSpec>]> {
        let mut tools = self.tools.clone();
        if self.todos {
            tools.extend(todos::specs());
        }
        if !self.agents.is_empty() {
            let agents = self
                .agents
                .iter()
                .map(|card| (card.name.as_str(), card.description.as_str()));
            let specs = delegation::specs(&agents.collect::<Vec<_>>(), self.task_template.as_deref());
            tools.extend(specs.into_iter().map(Arc::new));
        }
        tools.into()
    }
}
