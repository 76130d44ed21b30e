//! The workers of a store: whether each is there, and what it holds.

use std::collections::BTreeMap;

use legwork_shared::id::WorkerId;
use legwork_shared::job::JobState;
use legwork_shared::store::presence::{Presence, machine};
use legwork_shared::store::{JobQuery, Store, StoreError, WorkerRecord};
use legwork_shared::wire::{WorkerHealth, WorkerList, WorkerView};
use legwork_worker::attempt::Host;

use super::Context;

/// Running jobs that are read at a time.
const PAGE: usize = 500;

/// Whether a worker is there. Of this machine, who holds its lock file; else who was heard of while its leases hold.
#[must_use]
pub fn health(context: &Context, store: &dyn Store, worker: &WorkerRecord) -> WorkerHealth {
    let is_alive = match context.presence_folder() {
        Some(folder) if worker.machine == Some(machine()) => !Presence::is_gone(&folder, worker.id),
        Some(_) | None => store.now().since_ms(worker.seen_at) < Host::LEASE_MS,
    };
    if is_alive {
        WorkerHealth::Alive
    } else {
        WorkerHealth::Silent
    }
}

/// All workers on record, with their load.
///
/// # Errors
/// [`StoreError`].
pub async fn load_workers(context: &Context, store: &dyn Store) -> Result<WorkerList, StoreError> {
    let records = store.workers().await?;
    let (held, leader) = (held_by_each(store).await?, store.leader().await?);
    let mut workers: Vec<WorkerView> = records
        .into_iter()
        .map(|worker| WorkerView {
            running: held.get(&worker.id).copied().unwrap_or(0),
            health: health(context, store, &worker),
            leads: leader.is_some_and(|lead| lead.holder == worker.id),
            id: worker.id,
            name: worker.name,
            host: worker.host,
            pid: worker.pid,
            version: worker.version,
            slots: worker.slots,
            queues: worker.queues,
            started_at_ms: worker.started_at,
            seen_at_ms: worker.seen_at,
            clock_ahead_ms: worker.clock_ahead_ms,
        })
        .collect();
    workers.sort_by_key(|worker| (worker.started_at_ms, worker.id));
    Ok(WorkerList { workers })
}

/// How many jobs each worker holds. One walk over what runs, however many workers there are.
async fn held_by_each(store: &dyn Store) -> Result<BTreeMap<WorkerId, usize>, StoreError> {
    let mut held = BTreeMap::new();
    let mut query = JobQuery {
        states: vec![JobState::Running],
        limit: PAGE,
        ..JobQuery::default()
    };
    loop {
        let page = store.jobs(&query).await?;
        query.after = page.items.last().map(|job| job.id);
        for lease in page.items.iter().filter_map(|job| job.phase.lease()) {
            *held.entry(lease.worker).or_default() += 1;
        }
        if !page.more {
            return Ok(held);
        }
    }
}
