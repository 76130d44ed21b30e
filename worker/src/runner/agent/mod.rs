//! The `agent` runner: a model with tools, in a loop that goes on from its journal.
//!
//! All that is decided is decided by [`legwork_shared::agent::machine`]; here its actions are carried out and written
//! down. Each reply of the model and each result of a tool is journalled before anything is built on it, so a crash costs
//! at most the model call in flight.

mod begin;
mod check;
mod delegate;
mod mind;
mod session;
mod tools;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use legwork_shared::agent::AgentSpec;
use legwork_shared::job::{FailReason, JobError, Verdict};

pub use mind::{FindModel, FoundModel, NoModels};
pub(super) use mind::{Mind, Turn};

use super::Runner;
use crate::attempt::Attempt;
use crate::model::ModelConfigError;
use crate::tool::{ToolBox, ToolLimits};
use mind::Chain;
use tools::DocIndices;

/// What agents work with: the worker's tools, their bounds, and the indices of the documents in use.
pub struct Workshop {
    tools: ToolBox,
    limits: ToolLimits,
    docs: DocIndices,
}

impl Workshop {
    /// A workshop with these tools; [`ToolBox::standard`] has those that every worker has.
    #[must_use]
    pub fn new(tools: ToolBox, limits: ToolLimits) -> Self {
        Self {
            tools,
            limits,
            docs: DocIndices::default(),
        }
    }
}

/// Runs the agents whose runner is `agent`.
pub struct AgentRunner {
    models: Arc<dyn FindModel>,
    workshop: Arc<Workshop>,
}

impl AgentRunner {
    /// A runner with these models, in that workshop.
    #[must_use]
    pub fn new(models: Arc<dyn FindModel>, workshop: Arc<Workshop>) -> Self {
        Self { models, workshop }
    }

    fn chain(&self, agent: &AgentSpec, usual: Option<&str>) -> Result<Chain, JobError> {
        let first = self.models.find(agent.model.as_deref().or(usual));
        let others = agent.fallback_models.iter().map(|name| self.models.find(Some(name)));
        let others: Result<Vec<FoundModel>, ModelConfigError> = others.collect();
        match (first, others) {
            (Ok(first), Ok(others)) => Ok(Chain::new(first, others)),
            (Err(error), _) | (_, Err(error)) => {
                let message = format!("agent `{}`: {error}", agent.name);
                Err(JobError::fatal(FailReason::Error, "no_model", message))
            }
        }
    }
}

#[async_trait]
impl Runner for AgentRunner {
    async fn run(&self, attempt: &Attempt) -> Verdict {
        let agent = match attempt.agent() {
            Ok(agent) => agent,
            Err(error) => return Verdict::Failed(error),
        };
        match self.chain(&agent, attempt.run().model.as_deref()) {
            Ok(chain) => work(&self.workshop, attempt, &agent, &chain, chain.name()).await,
            Err(error) => Verdict::Failed(error),
        }
    }
}

/// Carries an attempt through to its end, with replies from `mind`.
pub(super) async fn work(
    workshop: &Workshop,
    attempt: &Attempt,
    agent: &Arc<AgentSpec>,
    mind: &dyn Mind,
    model: &str,
) -> Verdict {
    // In a box of its own, which is gone when the work begins.
    let session = Box::pin(begin::session(workshop, attempt, agent, mind, model)).await;
    let ended = match session {
        Ok(session) => session.run().await,
        Err(stop) => Err(stop),
    };
    match ended {
        Ok(verdict) => verdict,
        Err(Stop::Attempt(error)) => error.into_verdict(),
        Err(Stop::Failed(error)) => Verdict::Failed(error),
        Err(Stop::Cancelled) => Verdict::Cancelled,
    }
}

/// Why an attempt ends before its agent does.
#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error(transparent)]
    Attempt(#[from] crate::attempt::AttemptError),
    #[error(transparent)]
    Failed(#[from] JobError),
    #[error("cancelled")]
    Cancelled,
}
