//! Flags that set a key of the configuration for one call.
#![expect(clippy::doc_markdown, reason = "these comments are the help that people read")]

use clap::Args;

use crate::config::Key;

/// The model.
#[derive(Debug, Default, Args)]
pub struct ModelFlag {
    /// The model of agents that name none, such as `openai:NAME` [env: LEGWORK_MODEL]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

/// The folder of agents.
#[derive(Debug, Default, Args)]
pub struct AgentsFlag {
    /// A folder of agent files that win over the built-in agents [env: LEGWORK_AGENTS]
    #[arg(long, value_name = "DIR")]
    agents: Option<String>,
}

/// How many jobs run at a time.
#[derive(Debug, Default, Args)]
pub struct SlotsFlag {
    /// How many jobs run at a time in this process [env: LEGWORK_SLOTS]
    #[arg(long, value_name = "N")]
    slots: Option<String>,
}

/// What a worker process takes, and how it ends.
#[derive(Debug, Default, Args)]
pub struct WorkerFlags {
    /// A queue to take jobs from; may be repeated [env: LEGWORK_QUEUES]
    #[arg(long = "queue", value_name = "NAME")]
    queues: Vec<String>,
    /// How long jobs may go on when it is told to stop, such as `5m` [env: LEGWORK_DRAIN_TIMEOUT]
    #[arg(long, value_name = "TIME")]
    drain_timeout: Option<String>,
}

/// The keys that flags have set.
pub type Flags = Vec<(Key, String)>;

fn one(key: Key, value: Option<&String>) -> Flags {
    value.map(|value| (key, value.clone())).into_iter().collect()
}

impl ModelFlag {
    /// What was set.
    #[must_use]
    pub fn flags(&self) -> Flags {
        one(Key::Model, self.model.as_ref())
    }
}

impl AgentsFlag {
    /// What was set.
    #[must_use]
    pub fn flags(&self) -> Flags {
        one(Key::Agents, self.agents.as_ref())
    }
}

impl SlotsFlag {
    /// What was set.
    #[must_use]
    pub fn flags(&self) -> Flags {
        one(Key::Slots, self.slots.as_ref())
    }
}

impl WorkerFlags {
    /// What was set.
    #[must_use]
    pub fn flags(&self) -> Flags {
        let queues = (!self.queues.is_empty()).then(|| self.queues.join(","));
        [
            one(Key::Queues, queues.as_ref()),
            one(Key::DrainTimeout, self.drain_timeout.as_ref()),
        ]
        .concat()
    }
}
