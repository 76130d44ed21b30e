//! A worker process, for programs.

use serde::{Deserialize, Serialize};

use crate::id::WorkerId;
use crate::time::Timestamp;

/// What is known of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerHealth {
    /// It was heard of lately.
    Alive,
    /// It has been silent for longer than its leases hold.
    Silent,
}

impl WorkerHealth {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Silent => "silent",
        }
    }
}

/// A worker process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerView {
    /// Its id, new with each start.
    pub id: WorkerId,
    /// What a person calls it.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// The version of its binary.
    pub version: String,
    /// How many jobs it runs at a time.
    pub slots: usize,
    /// The queues it claims from.
    pub queues: Vec<String>,
    /// How many jobs it holds.
    pub running: usize,
    /// Whether it is there.
    pub health: WorkerHealth,
    /// When it started.
    pub started_at_ms: Timestamp,
    /// When it was last heard of.
    pub seen_at_ms: Timestamp,
    /// How far the clock of its host was ahead of the store's then; negative where it was behind.
    pub clock_ahead_ms: i64,
    /// Whether its process does the maintenance of the store.
    pub leads: bool,
}

/// All workers on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerList {
    /// The workers, longest running first.
    pub workers: Vec<WorkerView>,
}
