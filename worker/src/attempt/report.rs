//! What an attempt writes in the middle of its work, and what it learns by that.

use legwork_shared::budget::{Reservation, Usage};
use legwork_shared::id::UpdateId;
use legwork_shared::job::{Checkpoint, Job, Progress, Todo};
use legwork_shared::time::Timestamp;
use serde_json::Value;

/// What an attempt reports. Files that it wrote into its workspace are published by the same commit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Journal entries to append.
    pub entries: Vec<Value>,
    /// What was spent since the last report. It settles the reservation that stood until now.
    pub spent: Usage,
    /// What the next model call may spend.
    pub reserve: Option<Reservation>,
    /// Updates that the agent has read.
    pub applied: Vec<UpdateId>,
    /// How far the attempt is, where that changed.
    pub progress: Option<Progress>,
    /// The agent's list, where it changed.
    pub todos: Option<Vec<Todo>>,
}

impl Report {
    /// The core's view of this report for `job`, with a lease until `lease_until`.
    pub(super) fn checkpoint(&self, job: &Job, lease_until: Timestamp) -> Checkpoint {
        Checkpoint {
            entries: u32::try_from(self.entries.len()).unwrap_or(u32::MAX),
            spent: self.spent,
            reserve: self.reserve,
            applied: self.applied.clone(),
            progress: self.progress.clone().unwrap_or_else(|| job.progress.clone()),
            todos: self.todos.clone(),
            lease_until,
        }
    }
}

/// What an attempt should look at before it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signals {
    /// Whether it should stop.
    pub cancel: bool,
    /// How many updates wait in its mailbox.
    pub mail: u32,
}

impl Signals {
    /// What `job` has for its attempt.
    pub(super) fn of(job: &Job) -> Self {
        Self {
            cancel: job.cancel.is_some(),
            mail: job.mail_waiting(),
        }
    }
}
