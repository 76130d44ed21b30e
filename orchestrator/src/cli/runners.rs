//! The runners of this program's workers.

use std::sync::Arc;

use legwork_worker::model::Models;
use legwork_worker::runner::Runners;
use legwork_worker::runner::agent::{AgentRunner, FindModel, NoModels, Workshop};
use legwork_worker::runner::extractive::Extractive;
use legwork_worker::runner::process::{ProcessLimits, ProcessRunner};
use legwork_worker::runner::scripted::Scripted;
use legwork_worker::tool::{ToolBox, ToolLimits};

/// Every runner that a job may name; without `models`, agents that need one fail and say what to set.
#[must_use]
pub fn all(models: Option<Arc<Models>>) -> Runners {
    let workshop = Arc::new(Workshop::new(ToolBox::standard(), ToolLimits::default()));
    let models: Arc<dyn FindModel> = match models {
        Some(models) => models,
        None => Arc::new(NoModels),
    };
    Runners::new()
        .with("agent", AgentRunner::new(models, workshop.clone()))
        .with("scripted", Scripted::new(workshop))
        .with("extractive", Extractive)
        .with("process", ProcessRunner::new(ProcessLimits::default()))
}
