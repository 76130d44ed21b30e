//! What keeps a store moving when nobody asks: timers, rescues, cascades. Each part is a `tick`; the driver sleeps.

pub mod reaper;
pub mod timers;
pub mod tracker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use legwork_shared::store::{Store, StoreError};
use tokio_util::sync::CancellationToken;

/// How soon after a change of the store maintenance looks again: short enough that a skip is seen at once, long enough
/// that a busy store is not asked after each of thousands of commits.
const SETTLE_MS: u64 = 50;
/// How often the driver looks for workers that are gone, and at most how long it sleeps.
const REAP_MS: u64 = 2_000;

/// Maintenance of one store by one process. Any number of processes may do it at once: each change is a
/// compare-and-set, so they only save each other work.
pub struct Maintenance {
    store: Arc<dyn Store>,
    presence: PathBuf,
    host: String,
}

impl Maintenance {
    /// Maintenance of `store`. `presence` is the folder of the workers' lock files, `host` the name by which workers of
    /// this machine are on record.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, presence: PathBuf, host: String) -> Self {
        Self { store, presence, host }
    }

    /// Takes back at once what workers of this machine held that are gone.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be used.
    pub async fn reap(&self) -> Result<usize, StoreError> {
        reaper::tick(self.store.as_ref(), &self.presence, &self.host).await
    }

    /// Works until `shutdown`. A store that cannot be used is reported once and tried again.
    pub async fn drive(self, shutdown: CancellationToken) {
        let mut changes = self.store.changes();
        let mut failing = false;
        let mut reaped = None;
        while !shutdown.is_cancelled() {
            changes.mark_unchanged();
            let answer = self.round(&mut reaped).await;
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
                Ok(()) = changes.changed() => tokio::time::sleep(Duration::from_millis(SETTLE_MS)).await,
            }
        }
    }

    /// One round of everything; returns how long nothing falls due, at most [`REAP_MS`].
    async fn round(&self, reaped: &mut Option<legwork_shared::time::Timestamp>) -> Result<u64, StoreError> {
        let now = self.store.now();
        if reaped.is_none_or(|at| now.since_ms(at) >= REAP_MS) {
            self.reap().await?;
            *reaped = Some(now);
        }
        let next = timers::tick(self.store.as_ref(), now).await?;
        Ok(next.map_or(REAP_MS, |at| at.since_ms(self.store.now())).min(REAP_MS))
    }
}

#[cfg(test)]
mod tests;
