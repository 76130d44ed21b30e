//! The graph of a run: which jobs wait for which, and what an outcome means for those that wait.

mod graph;
mod settle;

pub use graph::{GraphError, Node, validate};
pub use settle::{Readiness, Settlement, Standing, is_held, readiness, settle, standing};

use serde::{Deserialize, Serialize};

use crate::id::JobId;

/// Which outcome of the parent a child needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// It succeeded.
    #[default]
    Success,
    /// It failed or was skipped.
    Failure,
    /// It ended, however.
    Finished,
}

impl Condition {
    /// The word for it, as stored and as written in plans.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Finished => "finished",
        }
    }

    /// The condition of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Success, Self::Failure, Self::Finished]
            .into_iter()
            .find(|condition| condition.as_str() == word)
    }
}

/// Why a job waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// It needs the outcome before it starts.
    Dependency,
    /// It handed the job out and sleeps until it has ended.
    Await,
}

/// One edge: `child` waits for `parent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Edge {
    /// Whose outcome is needed.
    pub parent: JobId,
    /// Who needs it.
    pub child: JobId,
    /// Which outcome.
    pub condition: Condition,
    /// Why.
    pub kind: EdgeKind,
}
