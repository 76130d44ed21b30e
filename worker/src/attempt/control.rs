//! What the outside tells a running attempt.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use legwork_shared::id::UpdateId;
use legwork_shared::job::{Mail, UpdateMode};
use legwork_shared::time::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The signals of one attempt, shared by its runner, its layers and the task that renews its lease.
#[derive(Debug)]
pub struct Control {
    /// Fires when the runner should stop: a cancel, a time-out.
    stop: CancellationToken,
    /// Fires when nothing that the runner does is wanted any more.
    lost: CancellationToken,
    /// Fires when the runner is dropped now.
    dismissed: CancellationToken,
    /// When the lease lapses, as far as this process knows.
    lease_until: AtomicU64,
    interrupts: Mutex<Interrupts>,
    interrupted: Notify,
    mailed: Notify,
}

#[derive(Debug, Default)]
struct Interrupts {
    waiting: BTreeSet<UpdateId>,
    /// Read by the agent; a mailbox that was loaded before that may still list them.
    applied: BTreeSet<UpdateId>,
}

impl Control {
    pub(super) fn new(lease_until: Timestamp) -> Self {
        Self {
            stop: CancellationToken::new(),
            lost: CancellationToken::new(),
            dismissed: CancellationToken::new(),
            lease_until: AtomicU64::new(lease_until.0),
            interrupts: Mutex::default(),
            interrupted: Notify::new(),
            mailed: Notify::new(),
        }
    }

    /// Asks the runner to stop.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Fires when the runner should stop.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.stop
    }

    /// Declares the attempt fenced: its runner is dropped and nothing of it is written any more.
    pub fn lose(&self) {
        self.lost.cancel();
        self.stop.cancel();
    }

    /// Fires when the attempt is fenced.
    #[must_use]
    pub fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Drops the runner.
    pub fn dismiss(&self) {
        self.dismissed.cancel();
    }

    /// Fires when the runner is to be dropped.
    #[must_use]
    pub fn dismissed(&self) -> &CancellationToken {
        &self.dismissed
    }

    /// Notes that the lease holds until `until`.
    pub fn extended(&self, until: Timestamp) {
        self.lease_until.fetch_max(until.0, Ordering::Relaxed);
    }

    /// When the lease lapses, as far as this process knows.
    #[must_use]
    pub fn lease_until(&self) -> Timestamp {
        Timestamp(self.lease_until.load(Ordering::Relaxed))
    }

    /// Takes note of the updates in a mailbox.
    pub fn deliver(&self, mail: &[Mail]) {
        if !mail.is_empty() {
            self.look_for_mail();
        }
        let mut interrupts = self.interrupts();
        for update in mail.iter().filter(|update| update.mode == UpdateMode::Interrupt) {
            if !interrupts.applied.contains(&update.id) {
                interrupts.waiting.insert(update.id);
            }
        }
        if !interrupts.waiting.is_empty() {
            self.interrupted.notify_waiters();
        }
    }

    /// Wakes who waits for mail, whether there is some or not.
    pub(crate) fn look_for_mail(&self) {
        self.mailed.notify_one();
    }

    /// Waits until the mailbox should be looked at.
    pub(super) async fn mailed(&self) {
        self.mailed.notified().await;
    }

    /// Takes note that the agent has read updates.
    pub(super) fn applied(&self, updates: &[UpdateId]) {
        let mut interrupts = self.interrupts();
        for update in updates {
            interrupts.waiting.remove(update);
            interrupts.applied.insert(*update);
        }
    }

    /// Waits until an update with mode interrupt stands unread in the mailbox.
    pub(super) async fn interrupted(&self) {
        let notified = self.interrupted.notified();
        tokio::pin!(notified);
        loop {
            // Listen before looking, so that a delivery between the two is heard.
            notified.as_mut().enable();
            if !self.interrupts().waiting.is_empty() {
                return;
            }
            notified.as_mut().await;
            notified.set(self.interrupted.notified());
        }
    }

    fn interrupts(&self) -> MutexGuard<'_, Interrupts> {
        self.interrupts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
