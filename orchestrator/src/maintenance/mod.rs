//! What keeps a store moving when nobody asks: timers, schedules, rescues, cascades, retention. Each part is a `tick`; the driver
//! sleeps.

mod lead;
pub mod pruner;
pub mod reaper;
pub mod scheduler;
pub mod timers;
pub mod tracker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use legwork_shared::id::WorkerId;
use legwork_shared::store::{Store, StoreError};
use legwork_shared::time::Timestamp;
use tokio_util::sync::CancellationToken;

use lead::Leadership;
pub use pruner::Retention;

/// How soon after a change of the store maintenance looks again: short enough that a skip is seen at once, long enough
/// that a busy store is not asked after each of thousands of commits.
const SETTLE_MS: u64 = 50;
/// How often the driver looks for workers that are gone, and at most how long it sleeps.
const REAP_MS: u64 = 2_000;
/// How often it looks whether there is a new schedule.
const SCHEDULE_MS: u64 = 1_000;
/// How often it looks for runs that nobody wants to keep any longer.
const PRUNE_MS: u64 = 60_000;

/// The maintenance of a store by one process. Of all processes that share a store one does it at a time; when it is gone,
/// another notices within seconds. Two that do it at once do no harm: each change is a compare-and-set.
pub struct Maintenance {
    /// What to maintain.
    pub store: Arc<dyn Store>,
    /// The worker of this process, in whose name it leads.
    pub worker: WorkerId,
    /// The folder of the workers' lock files, where there is one.
    pub presence: Option<PathBuf>,
    /// What this machine is called in the records of its workers.
    pub machine: String,
    /// Which ended runs to keep.
    pub retention: Retention,
}

/// What one process remembers from round to round.
#[derive(Default)]
struct Memory {
    leadership: Leadership,
    reaped: Option<Timestamp>,
    pruned: Option<Timestamp>,
    /// When schedules were looked at, and when the next one is due.
    scheduled: Option<Timestamp>,
    due: Option<Timestamp>,
}

/// Whether something that is done every `period_ms` is to be done at `now`.
fn is_time(last: Option<Timestamp>, period_ms: u64, now: Timestamp) -> bool {
    last.is_none_or(|at| now.since_ms(at) >= period_ms)
}

impl Maintenance {
    /// Takes back at once what workers of this machine held that are gone.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be used.
    pub async fn reap(&self) -> Result<usize, StoreError> {
        reaper::tick(self.store.as_ref(), self.presence.as_deref(), &self.machine).await
    }

    /// Works until `shutdown`. A store that cannot be used is reported once and tried again.
    pub async fn drive(self, shutdown: CancellationToken) {
        let mut changes = self.store.changes();
        let mut failing = false;
        let mut memory = Memory::default();
        while !shutdown.is_cancelled() {
            changes.mark_unchanged();
            let answer = self.round(&mut memory).await;
            match &answer {
                Err(error) if !failing => tracing::warn!(%error, "maintenance cannot use the store; it tries again"),
                Ok(_) if failing => tracing::info!("maintenance can use the store again"),
                Err(_) | Ok(_) => {}
            }
            failing = answer.is_err();
            let sleep = Duration::from_millis(answer.unwrap_or(REAP_MS));
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = tokio::time::sleep(sleep) => {}
                // Whoever does not lead leaves the changes to who does.
                Ok(()) = changes.changed(), if memory.leadership.is_ours() => {
                    tokio::time::sleep(Duration::from_millis(SETTLE_MS)).await;
                }
            }
        }
        memory.leadership.resign(self.store.as_ref(), self.worker).await;
    }

    /// One round of everything; returns how long nothing falls due, at most [`REAP_MS`].
    async fn round(&self, memory: &mut Memory) -> Result<u64, StoreError> {
        let now = self.store.now();
        // The lock files of a machine are seen from there alone, so that each looks after its own workers.
        if is_time(memory.reaped, REAP_MS, now) {
            self.reap().await?;
            memory.reaped = Some(now);
        }
        let lead = memory.leadership.tick(self.store.as_ref(), self.worker, now).await?;
        if lead.holder != self.worker {
            return Ok(lead.until.since_ms(self.store.now()).min(REAP_MS));
        }
        let next = timers::tick(self.store.as_ref(), now).await?;
        if is_time(memory.scheduled, SCHEDULE_MS, now) || memory.due.is_some_and(|due| due <= now) {
            memory.due = scheduler::tick(&self.store, now).await?;
            memory.scheduled = Some(now);
        }
        let next = next.into_iter().chain(memory.due).min();
        if is_time(memory.pruned, PRUNE_MS, now) {
            pruner::tick(self.store.as_ref(), &self.retention, now).await?;
            memory.pruned = Some(now);
        }
        Ok(next.map_or(REAP_MS, |at| at.since_ms(self.store.now())).min(REAP_MS))
    }
}

#[cfg(test)]
mod tests;
