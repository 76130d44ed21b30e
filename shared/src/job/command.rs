//! What can be asked of a job.

use super::{BlockedOn, JobError, JobResult, Lease, LeaseToken, Progress, Todo, UpdateMode};
use crate::budget::{Reservation, Usage};
use crate::id::{JobId, UpdateId};
use crate::time::Timestamp;

/// What an attempt reports in the middle of its work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checkpoint {
    /// How many journal entries the same commit appends.
    pub entries: u32,
    /// What was really spent since the last checkpoint; it settles the reservation that stood until now.
    pub spent: Usage,
    /// What the next model call may spend.
    pub reserve: Option<Reservation>,
    /// Updates that the agent has read.
    pub applied: Vec<UpdateId>,
    /// How far the attempt is.
    pub progress: Progress,
    /// The agent's list, where it changed.
    pub todos: Option<Vec<Todo>>,
    /// Until when the lease holds from now on.
    pub lease_until: Timestamp,
}

/// How an attempt ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// With a result, whatever stands in the mailbox: for what reads no mail.
    Succeeded(JobResult),
    /// With a result that answers all mail it has read. Where more has come since, the job does not end but goes on at
    /// once, in another attempt that reads it.
    Answered(JobResult),
    /// With an error; its severity and the job's limits say whether there is another attempt.
    Failed(JobError),
    /// It waits, holding no slot.
    Waiting(BlockedOn),
    /// It gives its slot back and goes on at `due`: a drain, or a provider that is not ready.
    Yielded {
        /// When to go on; now or earlier means at once.
        due: Timestamp,
    },
    /// It stopped because it was asked to.
    Cancelled,
}

/// What can be asked of a job. [`super::apply()`] answers each in each state.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Its last wait has ended.
    Release,
    /// Its start time has come.
    Due,
    /// A worker takes it.
    Claim {
        /// Under this lease; the token's attempt is the job's next one.
        lease: Lease,
    },
    /// Its attempt reports.
    Checkpoint {
        /// The proof of the attempt.
        token: LeaseToken,
        /// What is reported.
        report: Checkpoint,
    },
    /// Its attempt ends.
    Settle {
        /// The proof of the attempt.
        token: LeaseToken,
        /// How.
        verdict: Verdict,
    },
    /// Its lease has lapsed, or its holder is known to be gone.
    Lose {
        /// The attempt that is lost.
        token: LeaseToken,
    },
    /// Somebody wants it to stop.
    Cancel {
        /// Who.
        by: String,
        /// Why; may be empty.
        reason: String,
    },
    /// A parent that it needed did not end as needed.
    Skip {
        /// The job that caused it.
        cause: JobId,
    },
    /// It was not started in time.
    QueueTimeout,
    /// A person wants a failed, cancelled or skipped job to run again.
    Retry {
        /// Who.
        by: String,
        /// Whether a dependency is not satisfied, so that it must wait.
        unmet: bool,
    },
    /// An update is put into its mailbox.
    Update {
        /// Its id.
        id: UpdateId,
        /// What it does to the model call in flight.
        mode: UpdateMode,
    },
}
