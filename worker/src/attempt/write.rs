//! How an attempt's batches get into the store.

use std::sync::PoisonError;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use legwork_shared::batch::{Batch, FileRecord};
use legwork_shared::dag::Edge;
use legwork_shared::job::{Job, Refusal};
use legwork_shared::store::StoreError;
use legwork_shared::time::Timestamp;

use super::{Attempt, AttemptError};

/// How long after its lease has lapsed an attempt still tries to reach a store that nobody can write.
///
/// As long as the job was not taken, what the attempt has is worth more than its slot: a paid reply, a result. The
/// token decides in the end, not the time.
const PATIENCE_MS: u64 = 120_000;
/// The first pause before a store that was not available is tried again: a busy file is free within it.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// The longest such pause: a person who has freed some space sees the work go on at once.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// What an attempt knows of its job.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// The newest version that this attempt has seen or written.
    pub job: Job,
    /// Who waits for the job, complete as of its version; `None` after the job was changed by somebody else.
    pub dependents: Option<Vec<Edge>>,
}

/// Whether a batch has to be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// It was written.
    Yes,
    /// The record has changed, or the store was not available for a moment.
    Again,
}

/// The pauses between the tries of one write.
pub(super) struct Patience(ExponentialBackoff);

impl Patience {
    pub(super) fn new() -> Self {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(PAUSE_MIN)
            .with_max_delay(PAUSE_MAX)
            .with_jitter()
            .without_max_times();
        Self(pauses.build())
    }

    async fn pause(&mut self) {
        tokio::time::sleep(self.0.next().unwrap_or(PAUSE_MAX)).await;
    }
}

impl Attempt {
    /// The record as this attempt knows it.
    pub(super) fn record(&self) -> Record {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn adopt(&self, record: Record) {
        if record.job.cancel.is_some() {
            self.control.stop();
        }
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = record;
    }

    /// Takes over a record that somebody else has changed, and with it perhaps the list of dependents.
    pub(super) fn adopt_changed(&self, job: Job) {
        self.adopt(Record { job, dependents: None });
    }

    /// Tries once to write a batch whose first replaced job is this attempt's own.
    ///
    /// # Errors
    /// What no further try can help against, and [`AttemptError::Store`] when patience is at its end.
    pub(super) async fn try_write(&self, batch: Batch, patience: &mut Patience) -> Result<Written, AttemptError> {
        if self.control.lost().is_cancelled() {
            return Err(AttemptError::Fenced);
        }
        let next = batch
            .put
            .first()
            .expect("each write of an attempt moves its job")
            .clone();
        let files = batch.files.clone();
        match self.host.store.commit(batch).await {
            Ok(_) => {
                self.landed(next, &files);
                Ok(Written::Yes)
            }
            Err(StoreError::Conflict { .. }) => self.after_conflict(next, &files, patience).await,
            Err(error) if error.is_transient() => self.wait_for_store(error, patience).await,
            Err(error) => Err(error.into()),
        }
    }

    fn landed(&self, next: Job, files: &[FileRecord]) {
        self.workspace.published(files);
        if let Some(lease) = next.phase.lease() {
            self.control.extended(lease.until);
        }
        let dependents = self.record().dependents;
        self.adopt(Record { job: next, dependents });
    }

    /// Loads the record that somebody else has changed. That somebody may be this very write: a store that answered
    /// too late had written it all the same.
    async fn after_conflict(
        &self,
        next: Job,
        files: &[FileRecord],
        patience: &mut Patience,
    ) -> Result<Written, AttemptError> {
        match self.host.store.job(self.token.job).await {
            Ok(Some(job)) if job == next => {
                self.landed(next, files);
                Ok(Written::Yes)
            }
            Ok(Some(job)) => {
                self.adopt_changed(job);
                Ok(Written::Again)
            }
            // Pruned: nobody can hold a job that is not there.
            Ok(None) => Err(self.fenced()),
            Err(error) if error.is_transient() => self.wait_for_store(error, patience).await,
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn wait_for_store(
        &self,
        error: StoreError,
        patience: &mut Patience,
    ) -> Result<Written, AttemptError> {
        if self.host.store.now() >= self.control.lease_until() + PATIENCE_MS {
            return Err(error.into());
        }
        patience.pause().await;
        Ok(Written::Again)
    }

    /// The newest dependents, loaded if the known ones may be stale.
    pub(super) async fn dependents(&self) -> Result<Vec<Edge>, StoreError> {
        let known = self.record();
        if let Some(dependents) = known.dependents {
            return Ok(dependents);
        }
        // The record was read before this list, so one that misses an edge meets a newer version at the commit.
        let dependents = self.host.store.dependents(self.token.job).await?;
        self.adopt(Record {
            job: known.job,
            dependents: Some(dependents.clone()),
        });
        Ok(dependents)
    }

    /// Notes that the attempt has lost its job.
    pub(super) fn fenced(&self) -> AttemptError {
        self.control.lose();
        AttemptError::Fenced
    }

    /// Notes a loss that a refusal tells of.
    pub(super) fn refused(&self, refusal: Refusal) -> AttemptError {
        match refusal.into() {
            AttemptError::Fenced => self.fenced(),
            error => error,
        }
    }

    /// When the lease should hold from `now` on.
    pub(super) fn lease_from(&self, now: Timestamp) -> Timestamp {
        now + self.host.lease_ms
    }
}
