//! Where a job stands. Retrying, cancelling and paused are facts on a state, not states.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::id::{JobId, WorkerId};
use crate::time::Timestamp;

/// The name of a job's state: eight and no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waits for dependencies or for its own children.
    Blocked,
    /// Has a start time in the future.
    Scheduled,
    /// May be claimed.
    Queued,
    /// Held under one live lease.
    Running,
    /// Ended with a result.
    Succeeded,
    /// Ended with a reason.
    Failed,
    /// Ended because somebody asked for it.
    Cancelled,
    /// Never ran, because a parent that it needed did not succeed.
    Skipped,
}

impl JobState {
    /// All of them, in the order of a job's life.
    pub const ALL: [Self; 8] = [
        Self::Blocked,
        Self::Scheduled,
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
        Self::Skipped,
    ];

    /// The word for it, as stored and as shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Scheduled => "scheduled",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    /// The state of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether only a person's `retry` leads out of it.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Skipped => true,
            Self::Blocked | Self::Scheduled | Self::Queued | Self::Running => false,
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a blocked job waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockedOn {
    /// Jobs it depends on.
    Dependencies,
    /// Jobs it handed out itself.
    Children,
}

/// Why a job is scheduled for later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delay {
    /// It was submitted with a start time.
    Start,
    /// An attempt failed and the next one backs off.
    Retry,
    /// The attempt gave its slot back until a provider is ready again.
    Provider,
}

/// The proof that an attempt holds a job; every write of a running attempt carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseToken {
    /// The job.
    pub job: JobId,
    /// The attempt: the fencing number.
    pub attempt: u32,
    /// Random, so that a token cannot be made up.
    pub secret: u64,
}

/// A worker's time-limited right to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The proof.
    pub token: LeaseToken,
    /// Who holds it.
    pub worker: WorkerId,
    /// When the attempt began.
    pub since: Timestamp,
    /// When it lapses unless it is extended.
    pub until: Timestamp,
}

/// A job's state with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// See [`JobState::Blocked`].
    Blocked {
        /// For what it waits.
        on: BlockedOn,
        /// Since when.
        since: Timestamp,
    },
    /// See [`JobState::Scheduled`].
    Scheduled {
        /// When it may start.
        due: Timestamp,
        /// Why it waits.
        reason: Delay,
        /// Since when.
        since: Timestamp,
    },
    /// See [`JobState::Queued`].
    Queued {
        /// Since when.
        since: Timestamp,
    },
    /// See [`JobState::Running`].
    Running {
        /// Whose it is.
        lease: Lease,
    },
    /// One of the four terminal states, told by the outcome.
    Ended {
        /// How it ended.
        outcome: Outcome,
        /// When.
        at: Timestamp,
    },
}

impl Phase {
    /// The name of the state.
    #[must_use]
    pub fn state(&self) -> JobState {
        match self {
            Self::Blocked { .. } => JobState::Blocked,
            Self::Scheduled { .. } => JobState::Scheduled,
            Self::Queued { .. } => JobState::Queued,
            Self::Running { .. } => JobState::Running,
            Self::Ended { outcome, .. } => outcome.state(),
        }
    }

    /// Since when the job has been in it.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        match self {
            Self::Blocked { since, .. } | Self::Scheduled { since, .. } | Self::Queued { since } => *since,
            Self::Running { lease } => lease.since,
            Self::Ended { at, .. } => *at,
        }
    }

    /// The lease, while the job runs.
    #[must_use]
    pub fn lease(&self) -> Option<&Lease> {
        match self {
            Self::Running { lease } => Some(lease),
            Self::Blocked { .. } | Self::Scheduled { .. } | Self::Queued { .. } | Self::Ended { .. } => None,
        }
    }

    /// The outcome, once there is one.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Ended { outcome, .. } => Some(outcome),
            Self::Blocked { .. } | Self::Scheduled { .. } | Self::Queued { .. } | Self::Running { .. } => None,
        }
    }
}
