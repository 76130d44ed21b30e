//! The models that the environment and the settings name.

use std::collections::{BTreeMap, BTreeSet};

use legwork_shared::agent::{AgentSpec, RunnerSpec};
use legwork_shared::fault::{Code, Fault};
use legwork_shared::job::Job;
use legwork_shared::plan::Plan;
use legwork_shared::run::Run;
use legwork_shared::submit::{Agents, DEFAULT_AGENT};
use legwork_worker::model::{ModelConfigError, ModelLimits, Models, PriceTable, ProviderSettings};

use crate::config::Settings;

/// The models there are, or nothing where no provider is configured and no model is named.
///
/// # Errors
/// [`Code::NoModel`] or [`Code::NoKey`] if what is configured cannot be used.
pub fn configured(settings: &Settings) -> Result<Option<Models>, Fault> {
    let env = |name: &str| std::env::var(name).ok();
    let mut providers = ProviderSettings::from_env(&env).map_err(|error| fault_of(&error))?;
    providers.model.clone_from(&settings.model);
    if !providers.any() && providers.model.is_none() {
        return Ok(None);
    }
    let models = Models::new(&providers, ModelLimits::default(), PriceTable::new(BTreeMap::new()));
    let models = models.map_err(|error| fault_of(&error))?;
    models.usual().map_err(|error| fault_of(&error))?;
    Ok(Some(models))
}

/// Refuses a plan whose agents need a model that is not there.
///
/// # Errors
/// [`Code::NoModel`] or [`Code::NoKey`], with the agent.
pub fn check(plan: &Plan, library: &dyn Agents, models: Option<&Models>) -> Result<(), Fault> {
    let names: BTreeSet<&str> = plan
        .jobs
        .iter()
        .map(|job| job.agent.as_deref().unwrap_or(DEFAULT_AGENT))
        .collect();
    for name in names {
        let agent = plan
            .agents
            .get(name)
            .cloned()
            .or_else(|| library.get(name).map(|agent| (*agent).clone()));
        // An agent that is not known is the submit's to refuse.
        let Some(agent) = agent.filter(|agent| agent.runner == RunnerSpec::Agent) else {
            continue;
        };
        check_agent(&agent, plan.model.as_deref(), models).map_err(|fault| fault.at(format!("agent `{name}`")))?;
    }
    Ok(())
}

/// Refuses to go on with a run whose open jobs need a model that is not there: they would fail for good.
///
/// # Errors
/// [`Code::NoModel`] or [`Code::NoKey`], with the agent.
pub fn check_run<'a>(run: &Run, jobs: impl IntoIterator<Item = &'a Job>, models: Option<&Models>) -> Result<(), Fault> {
    for job in jobs.into_iter().filter(|job| !job.state().is_terminal()) {
        let agent = job.spec.ad_hoc.as_ref().or_else(|| run.agents.get(&job.spec.agent));
        let Some(agent) = agent.filter(|agent| agent.runner == RunnerSpec::Agent) else {
            continue;
        };
        check_agent(agent, run.model.as_deref(), models)
            .map_err(|fault| fault.at(format!("agent `{}` of {}", agent.name, run.id)))?;
    }
    Ok(())
}

fn check_agent(agent: &AgentSpec, usual: Option<&str>, models: Option<&Models>) -> Result<(), Fault> {
    let Some(models) = models else {
        let message = "the agent needs a language model, and none is configured";
        let help = "set OPENAI_API_KEY, ANTHROPIC_API_KEY or OLLAMA_HOST, or name a model with --model";
        return Err(Fault::new(Code::NoModel, message, help));
    };
    let found = match agent.model.as_deref().or(usual) {
        Some(name) => models.resolve(name),
        None => models.usual(),
    };
    found.map(|_| ()).map_err(|error| fault_of(&error))
}

/// The error of a configuration as a fault: what is wrong before the colon or semicolon, what to do after it.
#[must_use]
pub fn fault_of(error: &ModelConfigError) -> Fault {
    let code = match error {
        ModelConfigError::NothingConfigured
        | ModelConfigError::NoModelNamed { .. }
        | ModelConfigError::BadName { .. }
        | ModelConfigError::BadBaseUrl { .. }
        | ModelConfigError::Tls(_) => Code::NoModel,
        ModelConfigError::ProviderMissing { .. } | ModelConfigError::UnusableKey { .. } => Code::NoKey,
    };
    let text = error.to_string();
    let (message, help) = match text.split_once(": ") {
        Some((message, help)) => (message.to_owned(), help.to_owned()),
        None => (text, "see `legwork doctor`".to_owned()),
    };
    Fault::new(code, message, help)
}
