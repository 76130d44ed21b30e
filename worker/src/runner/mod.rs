//! Runners: how an attempt is executed.

pub mod agent;
pub mod extractive;
pub mod process;
pub mod scripted;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use legwork_shared::agent::RunnerSpec;
use legwork_shared::job::{FailReason, JobError, Verdict};
use legwork_shared::nearest::nearest;

use crate::attempt::Attempt;

/// Executes attempts. A program that embeds the worker may bring its own.
#[async_trait]
pub trait Runner: Send + Sync + 'static {
    /// Does the work of one attempt and says how it ended.
    ///
    /// It should go on from the attempt's journal: the job may have run before, on another machine. When
    /// [`Attempt::cancelled`] fires it should stop soon and return [`Verdict::Cancelled`]; after a grace period the
    /// future is dropped. A panic is a failed attempt.
    ///
    /// One that reads its mail returns [`Verdict::Answered`], so that no update is lost between its last look and the
    /// end. Updates that a job never read show in the run's events.
    ///
    /// # Cancel safety
    /// The future is dropped when the lease is lost, the grace after a cancel or a time-out is over, or a drain has
    /// to end. What it has begun elsewhere must stop with it; nothing it wrote later would be accepted.
    async fn run(&self, attempt: &Attempt) -> Verdict;
}

/// The runners of a worker, by the names that [`RunnerSpec::name`] gives.
#[derive(Clone, Default)]
pub struct Runners(BTreeMap<String, Arc<dyn Runner>>);

impl Runners {
    /// No runners.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These runners and `runner` under `name`, in place of one of the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, runner: impl Runner) -> Self {
        self.0.insert(name.into(), Arc::new(runner));
        self
    }

    /// Their names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The runner for `spec`.
    ///
    /// # Errors
    /// A fatal error that names the runners there are, for the job that wanted another one.
    pub fn find(&self, spec: &RunnerSpec) -> Result<Arc<dyn Runner>, JobError> {
        self.0.get(spec.name()).cloned().ok_or_else(|| {
            let hint = nearest(spec.name(), self.names()).map_or_else(
                || format!("it has {}", self.names().collect::<Vec<_>>().join(", ")),
                |name| format!("did you mean `{name}`?"),
            );
            let message = format!("this worker has no runner `{}`; {hint}", spec.name());
            JobError::fatal(FailReason::Error, "unknown_runner", message)
        })
    }
}
