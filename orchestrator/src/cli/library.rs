//! The agents that this call knows, and whether a plan's agents can work.

use std::collections::BTreeSet;
use std::path::Path;

use legwork_shared::agent::{AgentSpec, delegation, todos};
use legwork_shared::fault::{Code, Fault};
use legwork_shared::nearest::nearest;
use legwork_shared::plan::Plan;
use legwork_shared::submit::{self, Agents, DEFAULT_AGENT, PlanAgents};
use legwork_worker::agents::{AgentLibrary, usual_folders};
use legwork_worker::model::Models;
use legwork_worker::tool::ToolBox;

use super::base::Context;
use super::plans;

/// The agents inside the program and those of the user's folders; the folder of the settings is the nearest.
///
/// # Errors
/// [`Fault`] with the agent file that cannot be used.
pub fn load(context: &Context) -> Result<AgentLibrary, Fault> {
    let mut folders = usual_folders(Path::new(""), context.config_file.parent());
    if let Some(own) = &context.settings.agents {
        if !own.is_dir() {
            let message = "the folder of agents is not there";
            return Err(Fault::new(Code::Unreadable, message, "check the path").at(own.display().to_string()));
        }
        folders.insert(0, own.clone());
    }
    let library = AgentLibrary::load(&folders)?;
    for warning in library.warnings() {
        tracing::info!("{warning}");
    }
    Ok(library)
}

/// Refuses a plan whose agents name tools or agents that are not there.
///
/// # Errors
/// [`Code::UnknownTool`] or [`Code::UnknownAgent`], with the agent.
pub fn check(plan: &Plan, library: &AgentLibrary) -> Result<(), Fault> {
    let toolbox = ToolBox::standard();
    for (name, agent) in &plan.agents {
        check_delegates(agent, plan, library).map_err(|fault| fault.at(format!("agents.{name}.agents")))?;
        check_tools(agent, &toolbox).map_err(|fault| fault.at(format!("agents.{name}.tools")))?;
    }
    let of_jobs = plan
        .jobs
        .iter()
        .map(|job| job.agent.as_deref().unwrap_or(DEFAULT_AGENT));
    let of_agents = plan
        .agents
        .values()
        .flat_map(|agent| agent.agents.iter().flatten().map(String::as_str));
    let names: BTreeSet<&str> = of_jobs
        .chain(of_agents)
        .filter(|name| !plan.agents.contains_key(*name))
        .collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    for agent in library.reachable(&names) {
        let place = || {
            library
                .origin(&agent.name)
                .map_or_else(|| agent.name.clone(), ToString::to_string)
        };
        check_tools(&agent, &toolbox).map_err(|fault| fault.at(format!("agent `{}` ({})", agent.name, place())))?;
    }
    Ok(())
}

/// Refuses a plan whose jobs would quote from nothing, and names both ways out where a model would be one of them.
///
/// # Errors
/// [`Code::Sources`], with the agent.
pub fn check_sources(plan: &Plan, library: &AgentLibrary, models: Option<&Models>) -> Result<(), Fault> {
    let agents = PlanAgents { plan, agents: library };
    submit::check_sources(&plan.jobs, &agents, &plan.sources).map_err(|fault| {
        if models.is_some() {
            return fault;
        }
        let place = fault.place;
        Fault {
            place,
            ..plans::nothing_to_quote()
        }
    })
}

fn check_delegates(agent: &AgentSpec, plan: &Plan, library: &AgentLibrary) -> Result<(), Fault> {
    let known: BTreeSet<&str> = plan.agents.keys().map(String::as_str).chain(library.names()).collect();
    match agent
        .agents
        .iter()
        .flatten()
        .find(|name| !known.contains(name.as_str()))
    {
        None => Ok(()),
        Some(name) => {
            let help = match nearest(name, known.iter().copied()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => "see `legwork agents`".to_owned(),
            };
            Err(Fault::new(
                Code::UnknownAgent,
                format!("there is no agent `{name}`"),
                help,
            ))
        }
    }
}

/// Whether each tool that an agent names is there: those of the tool box, of planning and of delegation.
///
/// # Errors
/// [`Code::UnknownTool`] with the nearest name.
pub fn check_tools(agent: &AgentSpec, toolbox: &ToolBox) -> Result<(), Fault> {
    let of_loop = |name: &String| {
        delegation::NAMES.contains(&name.as_str()) || [todos::WRITE, todos::READ].contains(&name.as_str())
    };
    let others = |names: &[String]| names.iter().filter(|name| !of_loop(name)).cloned().collect::<Vec<_>>();
    let (named, excluded) = (agent.tools.as_deref().map(others), others(&agent.excluded_tools));
    toolbox
        .select(named.as_deref(), &excluded)
        .map(|_| ())
        .map_err(|error| {
            let help = match &error.nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("use some of {}", error.known),
            };
            Fault::new(Code::UnknownTool, format!("there is no tool `{}`", error.name), help)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(plan: &str) -> String {
        let plan = legwork_shared::plan::parse(plan, "plan.yaml").expect("a plan");
        check(&plan, &AgentLibrary::shipped()).expect_err("a fault").to_string()
    }

    #[test]
    fn tools_and_agents_that_are_not_there_are_named_before_anything_is_stored() {
        let plan = "agents: {a: {tools: [grep, read_fil]}}\njobs: [{id: x, agent: a, description: d}]";
        assert_eq!(
            fault(plan),
            "LW0302: agents.a.tools: there is no tool `read_fil`; did you mean `read_file`?"
        );
        let plan = "agents: {a: {agents: [resercher]}}\njobs: [{id: x, agent: a, description: d}]";
        assert_eq!(
            fault(plan),
            "LW0301: agents.a.agents: there is no agent `resercher`; did you mean `researcher`?"
        );
    }

    #[test]
    fn tools_of_the_loop_count_as_tools() {
        let plan = "agents: {a: {tools: [grep, task, write_todos]}}\njobs: [{id: x, agent: a, description: d}]";
        let plan = legwork_shared::plan::parse(plan, "plan.yaml").expect("a plan");
        assert_eq!(check(&plan, &AgentLibrary::shipped()), Ok(()));
    }
}
