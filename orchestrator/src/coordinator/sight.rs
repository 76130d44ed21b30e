//! Jobs as one decision sees them.

use std::collections::BTreeMap;

use legwork_shared::id::JobId;
use legwork_shared::job::Job;
use legwork_shared::store::{Store, StoreError};

/// Reads each job once, so that all that a decision says of it rests on the same version: the one that its commit names.
pub(super) struct Sight<'a> {
    store: &'a dyn Store,
    seen: BTreeMap<JobId, Option<Job>>,
}

impl<'a> Sight<'a> {
    pub fn of(store: &'a dyn Store) -> Self {
        let seen = BTreeMap::new();
        Self { store, seen }
    }

    /// The job as it was when it was first looked at.
    pub async fn job(&mut self, id: JobId) -> Result<Option<Job>, StoreError> {
        if let Some(seen) = self.seen.get(&id) {
            return Ok(seen.clone());
        }
        let job = self.store.job(id).await?;
        self.seen.insert(id, job.clone());
        Ok(job)
    }
}
