//! A run: one submission, a graph of jobs under one budget with one event log.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::AgentSpec;
use crate::budget::{Counter, RunLimits};
use crate::id::{JobId, RunId};
use crate::job::JobState;
use crate::time::Timestamp;

/// The tenant of everything on one machine.
pub const DEFAULT_TENANT: &str = "default";

/// What becomes of jobs that need one that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// They are skipped, and the run goes on without them.
    #[default]
    Skip,
    /// They wait for a person, who retries what failed or cancels them.
    Hold,
}

impl OnFailure {
    /// Whether nothing else was wanted.
    #[must_use]
    pub fn is_skip(&self) -> bool {
        *self == Self::Skip
    }
}

/// What a run is made of. Its jobs are records of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Whose it is.
    pub tenant: String,
    /// Grows by one with each change.
    pub version: u64,
    /// What it is about, in a line.
    pub title: String,
    /// The agents that its jobs use, as they were at the submit.
    pub agents: BTreeMap<String, Arc<AgentSpec>>,
    /// What its jobs may use up together.
    pub limits: RunLimits,
    /// The model of agents that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Folders and files that its agents may read, as absolute paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// What becomes of jobs that need one that failed.
    #[serde(default, skip_serializing_if = "OnFailure::is_skip")]
    pub on_failure: OnFailure,
    /// The jobs whose outcomes are the run's: the one that was named, else the only sink, else all sinks.
    pub results: Vec<JobId>,
    /// When it was submitted.
    pub created_at: Timestamp,
}

/// Where a run stands. Derived, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A job has not ended.
    Active,
    /// All have, and the result jobs succeeded.
    Succeeded,
    /// All have, and a result job failed or was skipped.
    Failed,
    /// All have, a result job was cancelled and none failed.
    Cancelled,
}

impl RunState {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of a run with `open` jobs that have not ended and result jobs in `results`.
    #[must_use]
    pub fn derive(open: u64, results: impl IntoIterator<Item = JobState>) -> Self {
        if open > 0 {
            return Self::Active;
        }
        let mut state = Self::Succeeded;
        for result in results {
            state = match (state, result) {
                (_, JobState::Failed | JobState::Skipped) | (Self::Failed, _) => Self::Failed,
                (_, JobState::Cancelled) | (Self::Cancelled, _) => Self::Cancelled,
                (
                    Self::Succeeded | Self::Active,
                    JobState::Succeeded
                    | JobState::Blocked
                    | JobState::Scheduled
                    | JobState::Queued
                    | JobState::Running,
                ) => state,
            };
        }
        state
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A run with what its jobs made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunView {
    /// The record.
    pub run: Arc<Run>,
    /// Where it stands.
    pub state: RunState,
    /// Its shared figures; an absent one is zero.
    pub counters: BTreeMap<Counter, u64>,
}

impl RunView {
    /// A figure.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters.get(&counter).copied().unwrap_or(0)
    }
}

/// What can be paused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pausable {
    /// All jobs of a queue.
    Queue(String),
    /// All jobs of a run.
    Run(RunId),
}

impl fmt::Display for Pausable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(queue) => write!(f, "the queue `{queue}`"),
            Self::Run(run) => run.fmt(f),
        }
    }
}

/// That the jobs of a queue or a run are held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Whose.
    pub of: Pausable,
    /// Who wanted it.
    pub by: String,
    /// Since when.
    pub at: Timestamp,
}
