//! What happened, for the event log of a run.

use serde::{Deserialize, Serialize};

use super::{BlockedOn, Delay, JobError, UpdateMode};
use crate::id::{JobId, UpdateId, WorkerId};
use crate::time::Timestamp;

/// One fact about a run or a job. Carries no prompts, replies or results: those are on the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The run was accepted.
    Submitted,
    /// The run was paused: no claim hands out a job of it.
    Paused {
        /// By whom.
        by: String,
    },
    /// The pause of the run has ended.
    Resumed {
        /// Who ended it.
        by: String,
    },
    /// The job was accepted and waits.
    Blocked {
        /// For what.
        on: BlockedOn,
    },
    /// The job starts later.
    Scheduled {
        /// When.
        due: Timestamp,
        /// Why.
        reason: Delay,
    },
    /// The job may be claimed.
    Queued,
    /// An attempt began.
    Started {
        /// Its number.
        attempt: u32,
        /// By whom.
        worker: WorkerId,
    },
    /// An attempt failed, and there will be another.
    AttemptFailed {
        /// Its number.
        attempt: u32,
        /// What went wrong.
        error: JobError,
    },
    /// An attempt's lease was lost.
    AttemptLost {
        /// Its number.
        attempt: u32,
        /// Losses without progress so far.
        losses: u32,
    },
    /// The job succeeded.
    Succeeded,
    /// The job failed for good.
    Failed {
        /// The last error.
        error: JobError,
    },
    /// A running job was asked to stop.
    CancelRequested {
        /// By whom.
        by: String,
    },
    /// The job was cancelled.
    Cancelled {
        /// By whom.
        by: String,
    },
    /// The job was skipped.
    Skipped {
        /// The job that caused it.
        cause: JobId,
    },
    /// The job is not skipped but waits for a person, because a parent that it needed failed.
    Held {
        /// The job that caused it.
        cause: JobId,
    },
    /// A person opened a new generation of the job.
    Retried {
        /// Who.
        by: String,
        /// Its number.
        generation: u32,
    },
    /// An update was put into the mailbox.
    UpdateSent {
        /// Its id.
        update: UpdateId,
        /// What it does to the call in flight.
        mode: UpdateMode,
    },
    /// The agent has read an update.
    UpdateApplied {
        /// Its id.
        update: UpdateId,
        /// The step at which it did.
        step: u32,
    },
    /// The job ended without having read updates: their sender should know. They stay for a retry of it.
    UpdatesUnread {
        /// How many.
        count: u32,
    },
    /// The agent made a step: a model reply or the results of its tools are in the journal.
    Stepped {
        /// Model replies so far.
        step: u32,
        /// Tokens spent by the job so far.
        tokens: u64,
        /// The tool called last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// The agent changed its list.
    TodosChanged {
        /// Items completed.
        completed: usize,
        /// Items in all.
        total: usize,
    },
}

impl EventKind {
    /// Whether it is the one that ends a generation of a job.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed { .. } | Self::Cancelled { .. } | Self::Skipped { .. }
        )
    }
}
