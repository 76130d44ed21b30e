//! The keys of the configuration.

use std::path::Path;

/// Something that can be configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// The database.
    Store,
    /// The model of agents that name none.
    Model,
    /// A folder of agent files.
    Agents,
    /// Jobs at a time.
    Slots,
    /// The queues of a worker.
    Queues,
    /// How long a worker drains.
    DrainTimeout,
    /// Tokens of a run.
    BudgetTokens,
    /// Price of a run.
    BudgetUsd,
    /// Jobs of a run.
    MaxJobs,
    /// Ended runs that go by their age.
    PruneOlderThan,
    /// Ended runs that go by their number.
    PruneKeep,
}

/// What is to be known of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyInfo {
    /// Its name in the file.
    pub name: &'static str,
    /// Its variable in the environment.
    pub variable: &'static str,
    /// Its flag, where a command has one.
    pub flag: Option<&'static str>,
    /// What a value looks like.
    pub form: &'static str,
    /// What it is for.
    pub about: &'static str,
}

impl Key {
    /// All keys, in the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Store,
        Self::Model,
        Self::Agents,
        Self::Slots,
        Self::Queues,
        Self::DrainTimeout,
        Self::BudgetTokens,
        Self::BudgetUsd,
        Self::MaxJobs,
        Self::PruneOlderThan,
        Self::PruneKeep,
    ];

    /// What is to be known of it.
    #[must_use]
    pub fn info(self) -> KeyInfo {
        match self {
            Self::Store => STORE,
            Self::Model => MODEL,
            Self::Agents => AGENTS,
            Self::Slots => SLOTS,
            Self::Queues => QUEUES,
            Self::DrainTimeout => DRAIN_TIMEOUT,
            Self::BudgetTokens => BUDGET_TOKENS,
            Self::BudgetUsd => BUDGET_USD,
            Self::MaxJobs => MAX_JOBS,
            Self::PruneOlderThan => PRUNE_OLDER_THAN,
            Self::PruneKeep => PRUNE_KEEP,
        }
    }

    /// Its value where nobody names it.
    pub(super) fn default(self, data_dir: &Path) -> Option<String> {
        match self {
            Self::Store => Some(data_dir.join("legwork.db").to_string_lossy().into_owned()),
            // Jobs wait for models most of the time; eight keep a small graph busy and no provider angry.
            Self::Slots => Some("8".to_owned()),
            Self::Queues => Some("default".to_owned()),
            Self::DrainTimeout => Some("30s".to_owned()),
            Self::Model
            | Self::Agents
            | Self::BudgetTokens
            | Self::BudgetUsd
            | Self::MaxJobs
            // Nothing is deleted unless somebody says so.
            | Self::PruneOlderThan
            | Self::PruneKeep => None,
        }
    }

    /// The key of that name in the file.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.info().name == name)
    }
}

const STORE: KeyInfo = KeyInfo {
    name: "store",
    variable: "LEGWORK_STORE",
    flag: Some("--store"),
    form: "the path of a file or the address of a server",
    about: "the database of runs and jobs",
};
const MODEL: KeyInfo = KeyInfo {
    name: "model",
    variable: "LEGWORK_MODEL",
    flag: Some("--model"),
    form: "a model such as `openai:NAME`, `anthropic:NAME` or `ollama:NAME`",
    about: "the model of agents that name none",
};
const AGENTS: KeyInfo = KeyInfo {
    name: "agents",
    variable: "LEGWORK_AGENTS",
    flag: Some("--agents"),
    form: "the path of a folder",
    about: "a folder of agent files that win over the built-in agents",
};
const SLOTS: KeyInfo = KeyInfo {
    name: "slots",
    variable: "LEGWORK_SLOTS",
    flag: Some("--slots"),
    form: "a whole number from 1 to 16384",
    about: "how many jobs a worker runs at a time",
};
const QUEUES: KeyInfo = KeyInfo {
    name: "queues",
    variable: "LEGWORK_QUEUES",
    flag: Some("--queue"),
    form: "names with commas between them",
    about: "the queues that a worker claims from",
};
const DRAIN_TIMEOUT: KeyInfo = KeyInfo {
    name: "drain_timeout",
    variable: "LEGWORK_DRAIN_TIMEOUT",
    flag: Some("--drain-timeout"),
    form: "a duration such as `30s` or `5m`",
    about: "how long a worker waits for its jobs when it is told to stop",
};
const BUDGET_TOKENS: KeyInfo = KeyInfo {
    name: "budget_tokens",
    variable: "LEGWORK_BUDGET_TOKENS",
    flag: Some("--budget-tokens"),
    form: "a whole number",
    about: "tokens that a run may use if it does not say",
};
const BUDGET_USD: KeyInfo = KeyInfo {
    name: "budget_usd",
    variable: "LEGWORK_BUDGET_USD",
    flag: Some("--budget-usd"),
    form: "an amount such as `0.50`",
    about: "what a run may cost if it does not say",
};
const MAX_JOBS: KeyInfo = KeyInfo {
    name: "max_jobs",
    variable: "LEGWORK_MAX_JOBS",
    flag: Some("--max-jobs"),
    form: "a whole number",
    about: "jobs that a run may have if it does not say",
};
const PRUNE_OLDER_THAN: KeyInfo = KeyInfo {
    name: "prune_older_than",
    variable: "LEGWORK_PRUNE_OLDER_THAN",
    flag: Some("--older-than"),
    form: "a duration such as `7d`",
    about: "how long after its end a run is deleted",
};
const PRUNE_KEEP: KeyInfo = KeyInfo {
    name: "prune_keep",
    variable: "LEGWORK_PRUNE_KEEP",
    flag: Some("--keep"),
    form: "a whole number",
    about: "how many ended runs are kept, the newest ones",
};
