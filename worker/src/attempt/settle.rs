//! Ending an attempt: its verdict becomes one commit that also releases whoever waited.

use legwork_shared::batch::Batch;
use legwork_shared::budget::Counter;
use legwork_shared::dag::Edge;
use legwork_shared::job::{Command, FailReason, Job, JobError, JobState, Refusal, Verdict, apply};
use legwork_shared::store::StoreError;
use legwork_shared::time::Timestamp;

use super::write::{Patience, Written};
use super::{Attempt, AttemptError};

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Its verdict was written, and left the job in this state.
    As(JobState),
    /// It had no longer held the job; nothing was written.
    Fenced,
}

impl Attempt {
    /// Writes the verdict.
    ///
    /// An answer that is too long for the record becomes a file of the workspace, one beyond the job's limit a failure.
    /// A job that was asked to stop in the meantime ends as cancelled, whatever the verdict. One that was told something
    /// in the meantime goes on where the verdict is [`Verdict::Answered`]. A failure that may be
    /// retried, in a run that has used up its retries, is final.
    ///
    /// # Errors
    /// [`AttemptError::Store`]: the job stays held until its lease lapses, and is then taken back.
    ///
    /// # Cancel safety
    /// A dropped call may have settled the job or not; if not, its lease lapses.
    pub async fn settle(&self, verdict: Verdict) -> Result<Settled, AttemptError> {
        let _writing = self.writing.lock().await;
        let known = self.job();
        if known.attempt == self.token.attempt && known.phase.lease().is_none() {
            // It has settled itself, when it handed out work and went to sleep.
            return Ok(Settled::As(known.state()));
        }
        let verdict = self.fit(verdict).await;
        match self.settle_held(verdict).await {
            Ok(()) => Ok(Settled::As(self.job().state())),
            Err(AttemptError::Fenced) => Ok(Settled::Fenced),
            Err(error) => Err(error),
        }
    }

    async fn settle_held(&self, mut verdict: Verdict) -> Result<(), AttemptError> {
        let mut patience = Patience::new();
        let mut reloaded = false;
        loop {
            let now = self.host.store.now();
            let dependents = match self.dependents().await {
                Ok(dependents) => dependents,
                Err(error) if error.is_transient() => {
                    self.wait_for_store(error, &mut patience).await?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let batch = match self.verdict_batch(&self.job(), &verdict, &dependents, now) {
                Ok(batch) => batch,
                // The request may be newer than this attempt's copy of the job.
                Err(Refusal::State { .. }) if !reloaded => {
                    reloaded = true;
                    self.reload(&mut patience).await?;
                    continue;
                }
                Err(Refusal::State { .. }) => {
                    verdict = Verdict::Failed(stopped_unasked());
                    continue;
                }
                Err(refusal) => return Err(self.refused(refusal)),
            };
            match self.try_write(batch, &mut patience).await {
                Ok(Written::Yes) => return Ok(()),
                Ok(Written::Again) => {}
                Err(AttemptError::Budget { .. }) => verdict = self.without_retry(verdict)?,
                Err(error) => return Err(error),
            }
        }
    }

    fn verdict_batch(
        &self,
        job: &Job,
        verdict: &Verdict,
        dependents: &[Edge],
        now: Timestamp,
    ) -> Result<Batch, Refusal> {
        let command = Command::Settle {
            token: self.token,
            verdict: verdict.clone(),
        };
        let transition = apply(job, &command, now)?;
        let mut batch = Batch::at(now);
        if transition.job.state() == JobState::Succeeded {
            batch.files = self.workspace.unpublished(now);
        }
        batch.transition(transition, &self.run, dependents);
        Ok(batch)
    }

    async fn reload(&self, patience: &mut Patience) -> Result<(), AttemptError> {
        loop {
            match self.host.store.job(self.token.job).await {
                Ok(Some(job)) => {
                    self.adopt_changed(job);
                    return Ok(());
                }
                Ok(None) => return Err(self.fenced()),
                Err(error) if error.is_transient() => {
                    self.wait_for_store(error, patience).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The final form of a failure for which the run has no retry left.
    fn without_retry(&self, verdict: Verdict) -> Result<Verdict, AttemptError> {
        match verdict {
            Verdict::Failed(error) if error.reason != FailReason::Budget => {
                let bound = self.run.limits.bound(Counter::Retries).unwrap_or_default();
                let message = format!(
                    "the run's {bound} retries are used up; the last error: {}",
                    error.message
                );
                let mut last = JobError::fatal(FailReason::Budget, "retry_budget", message);
                last.partial = error.partial;
                Ok(Verdict::Failed(last))
            }
            // Only the retry of a failure charges a bounded counter here.
            Verdict::Failed(_)
            | Verdict::Succeeded(_)
            | Verdict::Answered(_)
            | Verdict::Waiting(_)
            | Verdict::Yielded { .. }
            | Verdict::Cancelled => Err(AttemptError::Store(StoreError::Corrupt {
                message: format!("a counter refuses a charge that {} does not make", self.token.job),
            })),
        }
    }
}

fn stopped_unasked() -> JobError {
    JobError::retryable(
        "stopped",
        "its runner stopped without being asked to; see the worker's log",
    )
}
