//! What falls due by the clock: start times, back-offs, lapsed leases, queue time-outs; and cascades left open.

use legwork_shared::job::{Command, Job};
use legwork_shared::store::{Store, StoreError};
use legwork_shared::time::Timestamp;

use super::tracker;
use crate::change::change_all;

/// How many jobs of a kind one round looks at.
const ROUND: usize = 256;

/// Does what is due by `now`. Returns when to look again.
///
/// # Errors
/// [`StoreError`]; what was not done stays due.
pub async fn tick(store: &dyn Store, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let due = store.due(now, ROUND).await?;
    change_all(store, &due.scheduled, |_| Some(Command::Due)).await?;
    for job in change_all(store, &due.expired, lose).await? {
        tracing::warn!(job.id = %job.id, losses = job.losses, "{} lost its worker", job.spec.name);
    }
    change_all(store, &due.overdue, |_| Some(Command::QueueTimeout)).await?;
    if !due.cascades.is_empty() {
        tracker::settle_all(store).await?;
    }
    Ok(due.next)
}

/// The command that takes a running job back from its holder.
pub(super) fn lose(job: &Job) -> Option<Command> {
    job.phase.lease().map(|lease| Command::Lose { token: lease.token })
}
