//! Takes back the jobs of workers on this machine that are gone, without waiting for their leases to lapse.

use std::path::Path;

use legwork_shared::store::presence::Presence;
use legwork_shared::store::{Store, StoreError};
use legwork_shared::time::Timestamp;

use super::timers::lose;
use crate::change::change_all;

/// A worker of another machine that was silent for this long is forgotten; its leases lapsed long ago.
const FORGET_MS: u64 = 24 * 60 * 60 * 1_000;

/// Looks at each worker on record. Returns how many jobs were taken back.
///
/// # Errors
/// [`StoreError`]; what was not done is done by the next tick.
pub async fn tick(store: &dyn Store, presence: Option<&Path>, machine: &str) -> Result<usize, StoreError> {
    let mut taken = 0;
    for worker in store.workers().await? {
        let silent = store.now().since_ms(worker.seen_at) > FORGET_MS;
        let is_ours = worker.machine.as_deref() == Some(machine);
        if silent || is_ours && presence.is_some_and(|folder| Presence::is_gone(folder, worker.id)) {
            let jobs = store.held(worker.id).await?;
            taken += change_all(store, &jobs, lose).await?.len();
            // If it led, somebody else shall do so now.
            store.lead(worker.id, Timestamp(0)).await?;
            store.remove_worker(worker.id).await?;
            tracing::info!(worker.id = %worker.id, jobs = jobs.len(), "worker {} is gone", worker.name);
        }
    }
    Ok(taken)
}
