//! Deletes ended runs that nobody wants to keep any longer. A run goes as a whole or not at all, and never before its last
//! job has ended: so nothing that is still to be done misses what it needs.

use legwork_shared::id::RunId;
use legwork_shared::run::{RunState, RunView};
use legwork_shared::store::{RunQuery, Store, StoreError};
use legwork_shared::time::Timestamp;

/// Runs that are looked at a time.
const PAGE: usize = 200;
/// Runs that one tick deletes at most; the next one goes on.
const ROUND: usize = 500;

/// Which ended runs are kept. A run goes as soon as one of the two says so; without both, all are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Those that ended less long ago, in milliseconds.
    pub older_than_ms: Option<u64>,
    /// The newest ones, so many.
    pub keep: Option<u64>,
}

impl Retention {
    /// Whether all runs are kept for ever.
    #[must_use]
    pub fn is_for_ever(&self) -> bool {
        self.older_than_ms.is_none() && self.keep.is_none()
    }

    /// Whether a run goes at `now` that ended at `ended_at` and is older than so many ended ones.
    #[must_use]
    pub fn is_over(&self, ended_at: Timestamp, newer: u64, now: Timestamp) -> bool {
        self.older_than_ms.is_some_and(|ms| now.since_ms(ended_at) >= ms) || self.keep.is_some_and(|keep| newer >= keep)
    }

    /// The id before which the runs are to be looked at, newest first; all if there is none.
    fn begin(&self, now: Timestamp) -> Option<RunId> {
        let Self {
            older_than_ms: Some(ms),
            keep: None,
        } = self
        else {
            return None;
        };
        // A run has not ended before it was made, and ids sort by that moment.
        Some(RunId::nth((now - *ms) + 1, 0, 0))
    }
}

/// A run that may go.
#[derive(Debug, Clone, PartialEq)]
pub struct Prunable {
    /// The run.
    pub view: RunView,
    /// When its last job ended.
    pub ended_at: Timestamp,
    /// The number of its newest event: it goes only if there is none after that.
    last: u64,
}

/// The ended runs that go by `retention` at `now`, newest first, at most `limit`.
///
/// # Errors
/// [`StoreError`] if the store cannot be read.
pub async fn prunable(
    store: &dyn Store,
    retention: &Retention,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Prunable>, StoreError> {
    let mut found = Vec::new();
    if retention.is_for_ever() {
        return Ok(found);
    }
    let mut query = RunQuery {
        tenant: None,
        before: retention.begin(now),
        limit: PAGE,
    };
    let mut ended = 0;
    loop {
        let page = store.runs(&query).await?;
        query.before = page.items.last().map(|view| view.run.id);
        for view in page.items.into_iter().filter(|view| view.state != RunState::Active) {
            if let Some(newest) = store.last_event(view.run.id).await?
                && retention.is_over(newest.at, ended, now)
            {
                found.push(Prunable {
                    view,
                    ended_at: newest.at,
                    last: newest.seq,
                });
            }
            ended += 1;
            if found.len() >= limit {
                return Ok(found);
            }
        }
        if !page.more {
            return Ok(found);
        }
    }
}

/// Deletes a run, unless it was changed since it was looked at. Whether it is gone.
///
/// # Errors
/// [`StoreError`]; it may be gone in part, and the rest goes with the next one.
pub async fn prune(store: &dyn Store, run: &Prunable) -> Result<bool, StoreError> {
    match store.prune(run.view.run.id, run.last).await {
        Ok(()) => Ok(true),
        Err(StoreError::Conflict { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes some of the runs that go by `retention` at `now`. Returns how many.
///
/// # Errors
/// [`StoreError`]; the next tick goes on.
pub async fn tick(store: &dyn Store, retention: &Retention, now: Timestamp) -> Result<usize, StoreError> {
    let mut pruned = 0;
    for run in prunable(store, retention, now, ROUND).await? {
        pruned += usize::from(prune(store, &run).await?);
    }
    if pruned > 0 {
        tracing::info!(runs = pruned, "{pruned} ended runs were deleted, as the retention says");
    }
    Ok(pruned)
}
