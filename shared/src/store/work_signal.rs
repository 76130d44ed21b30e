//! How a claimer learns that there may be work.

use async_trait::async_trait;
use tokio::sync::watch;

/// Tells one claimer when to claim again.
#[async_trait]
pub trait WorkSignal: Send {
    /// Forgets what was told so far. To be called before a claim: what is queued from then on ends the next wait.
    fn arm(&mut self);

    /// Waits until there may be a job in the claimer's queues.
    ///
    /// It may end in vain. An engine may tell only one of several idle claimers of a job, so that not all of them ask
    /// for it; that one may get lost, so nobody waits for ever.
    ///
    /// # Cancel safety
    /// What would have ended a wait that is given up ends the next one, or that of another claimer.
    async fn wait(&mut self);
}

/// Takes each change of the store for work.
pub(super) struct EachChange(pub watch::Receiver<u64>);

#[async_trait]
impl WorkSignal for EachChange {
    fn arm(&mut self) {
        self.0.mark_unchanged();
    }

    async fn wait(&mut self) {
        if self.0.changed().await.is_err() {
            // The store is gone: there will be no more work.
            std::future::pending::<()>().await;
        }
    }
}
