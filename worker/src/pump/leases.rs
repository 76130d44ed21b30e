//! The leases that this worker holds, and the one task that keeps them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use legwork_shared::clock::{Clock as _, SystemClock};
use legwork_shared::job::LeaseToken;
use legwork_shared::store::{Extension, Store, StoreError, WorkerRecord};
use legwork_shared::time::Timestamp;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::attempt::Attempt;

/// How many leases one call renews: few enough that a call does not hold up the store's other writers.
const TOKENS_MAX: usize = 1_000;
/// Two looks for signals are at least this far apart; the first one after a quiet time comes at once.
const LOOK_PAUSE_MIN: Duration = Duration::from_millis(100);
/// However many leases there are, a signal is seen within this, so that a cancel reaches its job within a second.
const LOOK_PAUSE_MAX: Duration = Duration::from_millis(800);
/// A look may take this part of the time, at most: looking at ten thousand leases must not be all that a worker does.
const LOOK_SHARE: u32 = 10;
/// After a renewal that failed the next try comes this soon: the lease leaves time for about twenty.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The attempts whose leases are to be renewed.
#[derive(Default)]
pub struct Leases {
    held: Mutex<HashMap<LeaseToken, Held>>,
    arrived: Notify,
}

struct Held {
    attempt: Arc<Attempt>,
    /// The version of the job whose mailbox was looked at last.
    looked_at: u64,
}

/// Renews a lease for as long as it lives.
pub struct LeaseGuard {
    leases: Arc<Leases>,
    token: LeaseToken,
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        self.leases.held().remove(&self.token);
    }
}

impl Leases {
    /// Renews the attempt's lease until the guard is dropped.
    pub fn hold(self: &Arc<Self>, attempt: &Arc<Attempt>) -> LeaseGuard {
        let token = attempt.token();
        let held = Held {
            attempt: Arc::clone(attempt),
            looked_at: 0,
        };
        self.held().insert(token, held);
        self.arrived.notify_one();
        LeaseGuard {
            leases: Arc::clone(self),
            token,
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<LeaseToken, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tokens(&self) -> Vec<LeaseToken> {
        self.held().keys().copied().collect()
    }

    /// Passes on what the store says of one lease; returns the attempt whose mailbox must be looked at.
    fn heed(&self, extension: &Extension, until: Timestamp) -> Option<Arc<Attempt>> {
        let mut held = self.held();
        let entry = held.get_mut(&extension.token)?;
        let control = entry.attempt.control();
        if !extension.held {
            control.lose();
            return None;
        }
        control.extended(until);
        if extension.cancel {
            control.stop();
        }
        // The attempt's own copy of the job says nothing here: it may be as new without a look at the mailbox.
        if extension.mail == 0 || extension.version <= entry.looked_at {
            return None;
        }
        entry.looked_at = extension.version;
        Some(Arc::clone(&entry.attempt))
    }
}

/// Renews leases, passes signals on, and says that the worker is there.
///
/// It has a thread of its own: a runner that computes for a minute must not cost the worker its leases.
pub struct Keeper {
    /// Where the leases stand.
    pub store: Arc<dyn Store>,
    /// What to renew.
    pub leases: Arc<Leases>,
    /// For how long each time.
    pub lease_ms: u64,
    /// The worker's record, written again with each renewal.
    pub worker: WorkerRecord,
    /// When to end.
    pub end: CancellationToken,
}

impl Keeper {
    /// Starts the thread. It ends soon after `end` has fired.
    ///
    /// # Errors
    /// What the system says when it gives no thread or no timer.
    pub fn start(self) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        thread::Builder::new()
            .name("legwork-leases".to_owned())
            .spawn(move || runtime.block_on(self.keep()))?;
        Ok(())
    }

    async fn keep(mut self) {
        let mut changes = self.store.changes();
        // At a third of the lease, so that two lost renewals do not lose the job.
        let period = Duration::from_millis(self.lease_ms / 3);
        let renewal = sleep(period);
        let pause = sleep(Duration::ZERO);
        tokio::pin!(renewal, pause);
        // What changed before this thread listened is looked at as well.
        let mut news = true;
        loop {
            let idle = self.leases.held().is_empty();
            tokio::select! {
                () = self.end.cancelled() => return,
                () = &mut renewal => {
                    let renewed = self.renew().await;
                    renewal.set(sleep(if renewed { period } else { RETRY_PAUSE.min(period) }));
                }
                alive = changes.changed(), if !news => match alive {
                    Ok(()) => news = true,
                    // The store is gone, and with it this process's reason to be.
                    Err(_) => return,
                },
                () = &mut pause, if news && !idle => {
                    let began = self.store.now();
                    news = self.look().await.is_err();
                    let took = Duration::from_millis(self.store.now().since_ms(began));
                    pause.set(sleep((took * LOOK_SHARE).clamp(LOOK_PAUSE_MIN, LOOK_PAUSE_MAX)));
                }
                () = self.leases.arrived.notified(), if idle => {}
            }
        }
    }

    /// Renews all leases; whether that worked.
    async fn renew(&mut self) -> bool {
        let now = self.store.now();
        self.worker.seen_at = now;
        self.worker.clock_ahead_ms = SystemClock.now().ahead_ms(now);
        let renewed = async {
            self.extend(now + self.lease_ms).await?;
            self.store.put_worker(&self.worker).await
        };
        match renewed.await {
            Ok(()) => true,
            Err(error) => {
                let held = self.leases.held().len();
                tracing::warn!(held, "leases could not be renewed, trying again: {error}");
                false
            }
        }
    }

    /// Looks for signals. An end in the past extends nothing and so writes nothing.
    async fn look(&self) -> Result<(), StoreError> {
        self.extend(Timestamp(0)).await
    }

    async fn extend(&self, until: Timestamp) -> Result<(), StoreError> {
        for tokens in self.leases.tokens().chunks(TOKENS_MAX) {
            for extension in self.store.extend(tokens, until).await? {
                if let Some(attempt) = self.leases.heed(&extension, until) {
                    let mail = self.store.mail(extension.token.job).await?;
                    attempt.control().deliver(&mail);
                }
            }
        }
        Ok(())
    }
}
