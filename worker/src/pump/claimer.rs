//! Takes jobs from the store: slots first, then as many jobs.

use std::sync::Arc;
use std::time::Duration;

use legwork_shared::clock::entropy;
use legwork_shared::id::WorkerId;
use legwork_shared::store::{ClaimRequest, Claimed, StoreError, WorkSignal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::leases::Leases;
use super::work::Work;
use crate::attempt::{Attempt, Host};

/// How many jobs one claim takes: enough that the claim's own cost vanishes, few enough to leave some to other workers.
const CLAIM_MAX: usize = 128;
/// A claim without any word from the store, as a backstop should a wake-up be lost.
const TICK: Duration = Duration::from_secs(2);
/// The pause after the first claim in a row that found nothing although the store had changed.
const GAP_MIN: Duration = Duration::from_millis(1);
/// The longest such pause: fifty vain claims a second are nothing, and nobody sees twenty milliseconds.
const GAP_MAX: Duration = Duration::from_millis(20);
/// The longest pause while the store cannot be reached.
const OUTAGE_PAUSE_MAX: Duration = Duration::from_secs(5);

/// Claims jobs and hands them to the worker.
pub struct Claimer {
    /// What the attempts share.
    pub host: Arc<Host>,
    /// Who claims.
    pub worker: WorkerId,
    /// From which queues.
    pub queues: Vec<String>,
    /// A permit for each job that may run.
    pub slots: Arc<Semaphore>,
    /// Where leases are renewed.
    pub leases: Arc<Leases>,
    /// Where claimed jobs go; it has room for as many as there are slots.
    pub claimed: mpsc::Sender<Work>,
    /// When to stop claiming.
    pub draining: CancellationToken,
}

impl Claimer {
    /// Claims until the drain begins. A claim that is under way then is finished, so that no job is left hanging.
    pub async fn run(self) {
        let mut signal = self.host.store.work_signal(&self.queues);
        let mut pace = Pace::new();
        while let Some(slots) = self.free_slots().await {
            // What is queued from here on ends the wait below, however the claim goes.
            signal.arm();
            let wanted = slots.num_permits();
            match self.claim(wanted).await {
                Ok(jobs) => {
                    let found = jobs.len();
                    self.hand_over(jobs, slots).await;
                    pace.claimed(found);
                    if found < wanted {
                        self.rest(&mut *signal, &pace).await;
                    }
                }
                Err(error) => {
                    drop(slots);
                    let pause = pace.failed();
                    tracing::warn!(
                        worker.id = %self.worker,
                        "no jobs can be claimed, trying again in {} ms: {error}", pause.as_millis()
                    );
                    self.unless_draining(tokio::time::sleep(pause)).await;
                }
            }
        }
    }

    /// All slots that are free, as soon as there is one; `None` once the drain has begun.
    async fn free_slots(&self) -> Option<OwnedSemaphorePermit> {
        let acquired = self.unless_draining(Arc::clone(&self.slots).acquire_owned()).await?;
        let mut slots = acquired.ok()?;
        let more = self.slots.available_permits().min(CLAIM_MAX - 1);
        if let Ok(more) = Arc::clone(&self.slots).try_acquire_many_owned(u32::try_from(more).unwrap_or(0)) {
            slots.merge(more);
        }
        (!self.draining.is_cancelled()).then_some(slots)
    }

    async fn claim(&self, slots: usize) -> Result<Vec<Claimed>, StoreError> {
        let request = ClaimRequest {
            worker: self.worker,
            queues: self.queues.clone(),
            slots,
            lease_ms: self.host.lease_ms,
            entropy: u64::try_from(entropy() >> u64::BITS).unwrap_or_default(),
        };
        self.host.store.claim(&request).await
    }

    async fn hand_over(&self, jobs: Vec<Claimed>, mut slots: OwnedSemaphorePermit) {
        for claimed in jobs {
            let (Some(attempt), Some(slot)) = (Attempt::new(&self.host, claimed), slots.split(1)) else {
                // More jobs than were asked for: their leases lapse and they are claimed again.
                tracing::error!(worker.id = %self.worker, "the store gave a job that was not asked for");
                continue;
            };
            let attempt = Arc::new(attempt);
            let lease = self.leases.hold(&attempt);
            // A closed channel means that the worker is gone; the dropped lease lapses.
            let _ = self.claimed.send(Work::new(attempt, lease, slot)).await;
        }
    }

    /// Waits for a signal of the store, the tick, or the drain.
    async fn rest(&self, signal: &mut dyn WorkSignal, pace: &Pace) {
        let wait = async {
            // A signal during this gap is seen right after it.
            tokio::time::sleep(pace.gap).await;
            let _ = tokio::time::timeout(TICK, signal.wait()).await;
        };
        self.unless_draining(wait).await;
    }

    async fn unless_draining<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.draining.cancelled() => None,
            done = wait => Some(done),
        }
    }
}

/// When to claim again. The first claim after a quiet time comes at once; claims in vain move apart, so that a store in
/// which others are busy is not asked at each of their changes.
struct Pace {
    gap: Duration,
    outage: Duration,
}

impl Pace {
    fn new() -> Self {
        Self {
            gap: Duration::ZERO,
            outage: GAP_MAX,
        }
    }

    fn claimed(&mut self, found: usize) {
        self.outage = GAP_MAX;
        self.gap = match found {
            0 => (self.gap * 2).clamp(GAP_MIN, GAP_MAX),
            _ => Duration::ZERO,
        };
    }

    fn failed(&mut self) -> Duration {
        self.outage = (self.outage * 2).min(OUTAGE_PAUSE_MAX);
        self.outage
    }
}
