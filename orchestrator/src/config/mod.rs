//! What can be configured, and where each value came from: a flag, the environment, the file, or the default.
//!
//! Reading is pure: the file's text, the environment and the flags are given. The first layer that names a key wins.

mod file;
mod key;
mod place;
mod value;

use std::path::{Path, PathBuf};

pub use file::parse_file;
pub use key::Key;
use legwork_orchestrator::maintenance::Retention;
use legwork_shared::fault::{Code, Fault};
pub use place::StorePlace;
pub use value::{duration_ms, micro_usd};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line.
    Flag(&'static str),
    /// A variable of the environment.
    Environment(&'static str),
    /// The configuration file.
    File(String),
    /// Nobody named it.
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Environment(variable) => write!(f, "environment {variable}"),
            Self::File(place) => f.write_str(place),
            Self::Default => f.write_str("default"),
        }
    }
}

/// One key with its value as text and where that came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value as it was written; absent where nobody named it and there is no default.
    pub text: Option<String>,
    /// Where it came from.
    pub origin: Origin,
}

impl Entry {
    /// The value as it may be shown: an address without its password.
    #[must_use]
    pub fn shown(&self) -> Option<String> {
        let text = self.text.as_deref()?;
        match (self.key, StorePlace::parse(text)) {
            (Key::Store, Ok(place)) => Some(place.to_string()),
            _ => Some(text.to_owned()),
        }
    }
}

/// The effective configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The database of runs and jobs.
    pub store: StorePlace,
    /// The model of agents that name none.
    pub model: Option<String>,
    /// A folder of agent files that win over the built-in agents.
    pub agents: Option<PathBuf>,
    /// How many jobs a worker runs at a time.
    pub slots: usize,
    /// The queues that a worker claims from.
    pub queues: Vec<String>,
    /// How long a worker waits for its jobs when it is told to stop.
    pub drain_timeout_ms: u64,
    /// Tokens that a run may use if it does not say.
    pub budget_tokens: Option<u64>,
    /// What a run may cost if it does not say, in millionths of a US dollar.
    pub budget_micro_usd: Option<u64>,
    /// Jobs that a run may have if it does not say.
    pub max_jobs: Option<u64>,
    /// How long after its end a run is deleted.
    pub prune_older_than_ms: Option<u64>,
    /// How many ended runs are kept.
    pub prune_keep: Option<u64>,
    /// Every key with its origin, in the order of [`Key::ALL`].
    pub entries: Vec<Entry>,
}

/// The layers from which settings are made.
pub struct Layers<'a> {
    /// Values given by flags.
    pub flags: &'a [(Key, String)],
    /// A look into the environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// What the file says, with the place of each value.
    pub file: &'a [(Key, String, String)],
    /// The user's folder for data.
    pub data_dir: &'a Path,
}

impl Settings {
    /// The effective configuration of `layers`.
    ///
    /// # Errors
    /// [`Code::WrongValue`] names the flag, the variable or the place in the file.
    pub fn resolve(layers: &Layers<'_>) -> Result<Self, Fault> {
        let entries: Vec<Entry> = Key::ALL.into_iter().map(|key| layers.entry(key)).collect();
        let found = Found(&entries);
        Ok(Self {
            store: found.of(Key::Store, StorePlace::parse)?.unwrap_or_default(),
            model: found.of(Key::Model, value::text)?,
            agents: found.of(Key::Agents, value::path)?,
            slots: found.of(Key::Slots, value::slots)?.unwrap_or(1),
            queues: found.of(Key::Queues, value::names)?.unwrap_or_default(),
            drain_timeout_ms: found.of(Key::DrainTimeout, duration_ms)?.unwrap_or_default(),
            budget_tokens: found.of(Key::BudgetTokens, value::count)?,
            budget_micro_usd: found.of(Key::BudgetUsd, micro_usd)?,
            max_jobs: found.of(Key::MaxJobs, value::count)?,
            prune_older_than_ms: found.of(Key::PruneOlderThan, duration_ms)?,
            prune_keep: found.of(Key::PruneKeep, value::count)?,
            entries,
        })
    }

    /// Which ended runs to keep.
    #[must_use]
    pub fn retention(&self) -> Retention {
        Retention {
            older_than_ms: self.prune_older_than_ms,
            keep: self.prune_keep,
        }
    }
}

impl Layers<'_> {
    fn entry(&self, key: Key) -> Entry {
        let info = key.info();
        let flag = self.flags.iter().find(|(name, _)| *name == key);
        if let (Some((_, text)), Some(flag)) = (flag, info.flag) {
            return Entry {
                key,
                text: Some(text.clone()),
                origin: Origin::Flag(flag),
            };
        }
        // An empty variable counts as unset, as shells make it hard to unset one for a single command.
        if let Some(text) = (self.env)(info.variable).filter(|text| !text.is_empty()) {
            return Entry {
                key,
                text: Some(text),
                origin: Origin::Environment(info.variable),
            };
        }
        if let Some((_, text, place)) = self.file.iter().find(|(name, _, _)| *name == key) {
            return Entry {
                key,
                text: Some(text.clone()),
                origin: Origin::File(place.clone()),
            };
        }
        Entry {
            key,
            text: key.default(self.data_dir),
            origin: Origin::Default,
        }
    }
}

struct Found<'a>(&'a [Entry]);

impl Found<'_> {
    /// The value of `key` as `read` understands it.
    fn of<T>(&self, key: Key, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, Fault> {
        let entry = self.0.iter().find(|entry| entry.key == key);
        let Some((entry, text)) = entry.and_then(|entry| Some((entry, entry.text.as_deref()?))) else {
            return Ok(None);
        };
        read(text).map(Some).map_err(|problem| {
            let message = format!("`{text}` is no value for `{}`: {problem}", key.info().name);
            Fault::new(Code::WrongValue, message, format!("give it {}", key.info().form)).at(entry.origin.to_string())
        })
    }
}

#[cfg(test)]
mod tests;
