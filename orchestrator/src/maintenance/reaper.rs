//! Takes back the jobs of workers on this machine that are gone, without waiting for their leases to lapse.

use std::path::Path;

use legwork_shared::store::presence::Presence;
use legwork_shared::store::{Store, StoreError};

use super::timers::lose;
use crate::change::change_all;

/// A worker of another machine that was silent for this long is forgotten; its leases lapsed long ago.
const FORGET_MS: u64 = 24 * 60 * 60 * 1_000;

/// Looks at each worker on record. Returns how many jobs were taken back.
///
/// # Errors
/// [`StoreError`]; what was not done is done by the next tick.
pub async fn tick(store: &dyn Store, presence: &Path, host: &str) -> Result<usize, StoreError> {
    let mut taken = 0;
    for worker in store.workers().await? {
        let silent = store.now().since_ms(worker.seen_at) > FORGET_MS;
        if silent || worker.host == host && Presence::is_gone(presence, worker.id) {
            let jobs = store.held(worker.id).await?;
            taken += change_all(store, &jobs, lose).await?.len();
            store.remove_worker(worker.id).await?;
            tracing::info!(worker.id = %worker.id, jobs = jobs.len(), "worker {} is gone", worker.name);
        }
    }
    Ok(taken)
}
