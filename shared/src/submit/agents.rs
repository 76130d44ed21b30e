//! The agents that a submission may use.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agent::AgentSpec;
use crate::plan::Plan;

/// Agents by name, and the names there are, for a helpful refusal.
pub trait Agents {
    /// The agent of that name.
    fn get(&self, name: &str) -> Option<Arc<AgentSpec>>;
    /// All names.
    fn names(&self) -> Vec<String>;
    /// These agents and those that they may hand work to, and so on.
    fn reachable(&self, names: &[String]) -> Vec<Arc<AgentSpec>> {
        let mut found: BTreeMap<String, Arc<AgentSpec>> = BTreeMap::new();
        let mut open: Vec<String> = names.to_vec();
        while let Some(name) = open.pop() {
            if found.contains_key(&name) {
                continue;
            }
            if let Some(agent) = self.get(&name) {
                open.extend(agent.agents.iter().flatten().cloned());
                found.insert(name, agent);
            }
        }
        found.into_values().collect()
    }
}

impl Agents for BTreeMap<String, Arc<AgentSpec>> {
    fn get(&self, name: &str) -> Option<Arc<AgentSpec>> {
        BTreeMap::get(self, name).cloned()
    }

    fn names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}

/// The plan's own agents first, then the given ones.
pub struct PlanAgents<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The given ones.
    pub agents: &'a dyn Agents,
}

impl Agents for PlanAgents<'_> {
    fn get(&self, name: &str) -> Option<Arc<AgentSpec>> {
        match self.plan.agents.get(name) {
            Some(agent) => Some(Arc::new(AgentSpec {
                name: name.to_owned(),
                ..agent.clone()
            })),
            None => self.agents.get(name),
        }
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.plan.agents.keys().cloned().chain(self.agents.names()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
