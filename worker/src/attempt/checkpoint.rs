//! Writing a report.

use legwork_shared::batch::{Batch, JournalEntry};
use legwork_shared::budget::{Counter, Reservation};
use legwork_shared::job::{Command, Job, apply};
use legwork_shared::time::Timestamp;

use super::write::{Patience, Written};
use super::{Attempt, AttemptError, Report, Signals};

impl Attempt {
    /// Writes a report in one commit: journal, charges, files, progress, and the lease for its full time again.
    ///
    /// Waits, with pauses, for a store that is not available. Reports of one attempt follow one another.
    ///
    /// # Errors
    /// [`AttemptError::Fenced`] and [`AttemptError::Budget`]; nothing was written then. After `Budget` the report can
    /// be made again without the reservation. [`AttemptError::Store`] when the store does not come back.
    ///
    /// # Cancel safety
    /// Not safe: a dropped call may have written the whole report or nothing. Drop the attempt with it.
    pub async fn checkpoint(&self, report: Report) -> Result<Signals, AttemptError> {
        let _writing = self.writing.lock().await;
        let mut patience = Patience::new();
        loop {
            let now = self.host.store.now();
            let batch = self.report_batch(&self.job(), &report, now)?;
            if self.try_write(batch, &mut patience).await? == Written::Yes {
                self.control.applied(&report.applied);
                return Ok(Signals::of(&self.job()));
            }
        }
    }

    /// Whether what was spent so far is still within the budgets of the job and the run.
    ///
    /// For work that can only say afterwards what it has cost. What can tell before reserves it with its report.
    ///
    /// # Errors
    /// [`AttemptError::Budget`] names the first budget that was passed. [`AttemptError::Store`].
    pub async fn within_budget(&self) -> Result<(), AttemptError> {
        let job = self.job();
        job.spec.limits.allow(&job.usage, &Reservation::default())?;
        let Some(view) = self.host.store.run(self.run.id).await? else {
            return Err(self.fenced());
        };
        for counter in Counter::ALL {
            let used = view.counter(counter);
            if let Some(bound) = self.run.limits.bound(counter)
                && used > bound
            {
                let message = format!("the run may use {bound} {counter}, and {used} are used");
                return Err(AttemptError::Budget { message });
            }
        }
        Ok(())
    }

    /// The batch of a report alone.
    pub(super) fn report_batch(&self, job: &Job, report: &Report, now: Timestamp) -> Result<Batch, AttemptError> {
        let command = Command::Checkpoint {
            token: self.token,
            report: report.checkpoint(job, self.lease_from(now)),
        };
        let transition = apply(job, &command, now).map_err(|refusal| self.refused(refusal))?;
        let mut batch = Batch::at(now);
        // A report never ends a job, so there is nobody to release.
        batch.transition(transition, &self.run, &[]);
        self.add_report(&mut batch, job, report, now);
        Ok(batch)
    }

    /// Adds what a report writes beside the job's record.
    pub(super) fn add_report(&self, batch: &mut Batch, job: &Job, report: &Report, now: Timestamp) {
        let places = job.journal_len..;
        let entries = places.zip(&report.entries).map(|(seq, entry)| JournalEntry {
            job: job.id,
            seq,
            attempt: self.token.attempt,
            at: now,
            entry: entry.clone(),
        });
        batch.journal.extend(entries);
        batch
            .mail_applied
            .extend(report.applied.iter().map(|update| (job.id, *update)));
        batch.files = self.workspace.unpublished(now);
    }
}
