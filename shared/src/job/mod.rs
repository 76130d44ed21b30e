//! A job: one `task` call, one node of a run's graph, and the only function that changes its state.

mod apply;
mod command;
mod event;
mod outcome;
mod record;
pub mod retry;
mod state;

pub use apply::{Charge, Refusal, Transition, apply};
pub use command::{Checkpoint, Command, Verdict};
pub use event::EventKind;
pub use outcome::{FailReason, JobError, JobResult, Outcome, Severity};
pub use record::{CancelRequest, Job, JobKey, JobSpec, Mail, Progress, Times, Todo, TodoStatus, UpdateMode};
pub use state::{BlockedOn, Delay, JobState, Lease, LeaseToken, Phase};
