//! Accepts runs and steers them while they work. Needs no worker, and never waits for one.

mod control;
mod find;
mod pause;
mod retry;
mod sight;
mod submit;
mod update;

use std::sync::Arc;

use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::JobState;
use legwork_shared::store::Store;

pub use find::Target;

/// The one who accepts and steers, for one tenant.
#[derive(Clone)]
pub struct Coordinator {
    store: Arc<dyn Store>,
    tenant: String,
}

/// An accepted submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The run.
    pub run: RunId,
    /// Its jobs by name.
    pub jobs: Vec<(String, JobId)>,
    /// Whether the same submission was accepted before, under the same idempotency key.
    pub replayed: bool,
}

/// How far a cancel reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The job alone.
    Job,
    /// The job and all that it handed out, directly or not.
    Tree,
}

/// What a cancel did to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelAnswer {
    /// It has ended.
    Cancelled,
    /// It runs and was told to stop.
    Requested,
    /// It had ended before; its outcome stands.
    Ended(JobState),
}

/// One job that a cancel reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancelled {
    /// The job.
    pub job: JobId,
    /// Its name.
    pub name: String,
    /// What the cancel did to it.
    pub answer: CancelAnswer,
}

impl Coordinator {
    /// A coordinator of `tenant`'s runs in `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, tenant: &str) -> Self {
        Self {
            store,
            tenant: tenant.to_owned(),
        }
    }

    /// The store it works on.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }
}

/// How many jobs are read at a time.
const PAGE: usize = 500;

#[cfg(test)]
mod tests;
