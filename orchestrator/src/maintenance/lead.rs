//! Who of all processes does the maintenance of a store: a lease in the store, taken again and again.

use std::time::Duration;

use legwork_shared::id::WorkerId;
use legwork_shared::store::{Lead, Store, StoreError};
use legwork_shared::time::Timestamp;

/// How long the lead holds: within this another process notices that the one that led is gone.
const HOLD_MS: u64 = 6_000;
/// How often it is taken again, so that two times may fail.
const RENEW_MS: u64 = HOLD_MS / 3;
/// How long a process that ends waits for the store to hear of it: the lead lapses anyway.
const RESIGN: Duration = Duration::from_secs(1);

/// What a process knows of the lead.
#[derive(Default)]
pub(super) struct Leadership {
    ours: Option<Lead>,
}

impl Leadership {
    /// Whether this process led when it last asked.
    pub fn is_ours(&self) -> bool {
        self.ours.is_some()
    }

    /// Takes the lead at `now` if nobody else has it, or keeps it. Returns who has it.
    ///
    /// # Errors
    /// [`StoreError`]; until the next tick this process does not lead.
    pub async fn tick(&mut self, store: &dyn Store, worker: WorkerId, now: Timestamp) -> Result<Lead, StoreError> {
        if let Some(lead) = self.ours
            && lead.until.since_ms(now) > HOLD_MS - RENEW_MS
        {
            return Ok(lead);
        }
        let was_ours = self.ours.take().is_some();
        let lead = match store.leader().await? {
            // Only looked at: asking would be a write.
            Some(other) if other.holder != worker => other,
            Some(_) | None => store.lead(worker, now + HOLD_MS).await?,
        };
        self.ours = Some(lead).filter(|lead| lead.holder == worker);
        if self.is_ours() && !was_ours {
            tracing::info!(worker.id = %worker, "maintenance is done by this process now");
        }
        Ok(lead)
    }

    /// Gives the lead up, if this process has it, so that nobody has to wait until it lapses.
    pub async fn resign(self, store: &dyn Store, worker: WorkerId) {
        if self.is_ours() {
            // Whether the store hears of it or not, it lapses.
            let _ = tokio::time::timeout(RESIGN, store.lead(worker, Timestamp(0))).await;
        }
    }
}
