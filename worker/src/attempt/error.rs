//! Why an attempt could not read or write, by what its runner does next.

use legwork_shared::job::{FailReason, JobError, Refusal, Verdict};
use legwork_shared::store::StoreError;

/// What went wrong between an attempt and the store. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttemptError {
    /// The attempt no longer holds its job: drop the work. Whatever is returned then is not looked at.
    #[error("the attempt no longer holds its job")]
    Fenced,
    /// The job was asked to stop: do so.
    #[error("the job was asked to stop")]
    Cancelled,
    /// A budget has no room for what was to be reserved or charged: do without, or end.
    #[error("{message}")]
    Budget {
        /// Which budget, what it has and what was wanted.
        message: String,
    },
    /// What was asked is not allowed: an answer for whoever asked, not a failure of the job.
    #[error("{message}")]
    Refused {
        /// A stable word for programs: `depth`, `fan_out`, `unknown_job`, `cycle`.
        code: &'static str,
        /// What is allowed, and what was wanted.
        message: String,
    },
    /// The store cannot serve the attempt, and waiting did not help.
    #[error(transparent)]
    Store(StoreError),
}

impl AttemptError {
    /// The verdict of a runner that cannot go on because of it.
    #[must_use]
    pub fn into_verdict(self) -> Verdict {
        match self {
            // Nothing of a fenced attempt is written, so this is only what a runner has to return.
            Self::Fenced | Self::Cancelled => Verdict::Cancelled,
            Self::Budget { message } => Verdict::Failed(JobError::fatal(FailReason::Budget, "budget", message)),
            Self::Refused { code, message } => Verdict::Failed(JobError::fatal(FailReason::Limit, code, message)),
            Self::Store(error) => Verdict::Failed(JobError::retryable("store", error.to_string())),
        }
    }
}

impl From<Refusal> for AttemptError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            // The state of a job changes under a running attempt only together with its lease.
            Refusal::Fenced { .. } | Refusal::State { .. } => Self::Fenced,
            Refusal::Budget { .. } => Self::Budget {
                message: refusal.to_string(),
            },
        }
    }
}

impl From<StoreError> for AttemptError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Exhausted { .. } => Self::Budget {
                message: error.to_string(),
            },
            StoreError::Conflict { .. }
            | StoreError::KeyConflict { .. }
            | StoreError::Unavailable { .. }
            | StoreError::Full { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Newer { .. }
            | StoreError::Unfit { .. }
            | StoreError::Corrupt { .. } => Self::Store(error),
        }
    }
}
