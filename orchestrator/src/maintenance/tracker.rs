//! Skips what can never run because of how a parent ended, or leaves it waiting for a person where the run says so. The
//! normal release of dependents is not here: it is part of the commit that completes the parent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use legwork_shared::batch::{Batch, NewEvent};
use legwork_shared::dag::{self, EdgeKind};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{self, BlockedOn, Command, EventKind, Job, Outcome, Phase};
use legwork_shared::run::OnFailure;
use legwork_shared::store::{Store, StoreError};

/// How many jobs one commit skips: a chain of 10,000 takes twenty commits, and no commit holds others up for long.
const COMMIT_JOBS: usize = 500;
/// How many cascades one look takes up.
const LOOK: usize = 64;
/// How often a round is tried again when a job was changed at the same moment.
const ROUNDS_MAX: usize = 64;

/// Follows all open cascades to their ends.
///
/// # Errors
/// [`StoreError`]; what was not done stays open.
pub async fn settle_all(store: &dyn Store) -> Result<usize, StoreError> {
    let mut skipped = 0;
    let mut conflicts = 0;
    loop {
        let mut open = store.due(store.now(), LOOK).await?.cascades;
        let Some(shard) = open.first().map(|job| store.shard_of(job.slot())) else {
            return Ok(skipped);
        };
        // One commit touches one shard; the others have their turn in the next rounds.
        open.retain(|job| store.shard_of(job.slot()) == shard);
        let batch = cascade(store, open).await?;
        let count = batch.put.len();
        match store.commit(batch).await {
            Ok(_) => skipped += count,
            Err(StoreError::Conflict { .. }) if conflicts < ROUNDS_MAX => conflicts += 1,
            Err(error) => return Err(error),
        }
    }
}

/// One commit's worth of skips, breadth first from the `open` cascades; what is left over stays open.
async fn cascade(store: &dyn Store, open: Vec<JobId>) -> Result<Batch, StoreError> {
    let mut batch = Batch::at(store.now());
    batch.cascaded.clone_from(&open);
    let mut ended: BTreeMap<JobId, Job> = BTreeMap::new();
    let mut seen: BTreeSet<JobId> = BTreeSet::new();
    let mut queue: VecDeque<JobId> = open.into();
    while let Some(parent) = queue.pop_front() {
        if !seen.insert(parent) {
            continue;
        }
        if batch.put.len() >= COMMIT_JOBS {
            batch.cascade.push(parent);
            continue;
        }
        let here = ended.get(&parent).cloned();
        let elsewhere = here.is_none();
        let parent = match here {
            Some(job) => Some(job),
            None => store.job(parent).await?,
        };
        let Some(parent) = parent else { continue };
        // Whoever opens the parent again meanwhile must not find its dependents skipped afterwards. And if it has failed once
        // more by then, its cascade is a new one, which this commit must not take for done.
        if elsewhere {
            batch.touch.push((parent.id, parent.version));
        }
        // A job that was retried in the meantime breaks nothing any more.
        let Some(outcome) = parent.phase.outcome() else {
            continue;
        };
        let cause = match outcome {
            Outcome::Skipped { cause } => *cause,
            Outcome::Succeeded { .. } | Outcome::Failed { .. } | Outcome::Cancelled { .. } => parent.id,
        };
        let on_failure = on_failure(store, parent.run).await?;
        for edge in store.dependents(parent.id).await? {
            let broken = dag::standing(edge.condition, parent.state()) == dag::Standing::Broken;
            if edge.kind != EdgeKind::Dependency || !broken || ended.contains_key(&edge.child) {
                continue;
            }
            if dag::is_held(on_failure, edge.condition, parent.state()) {
                hold(store, &mut batch, edge.child, cause).await?;
                continue;
            }
            if let Some(child) = skip(store, &mut batch, edge.child, cause).await? {
                queue.push_back(child.id);
                ended.insert(child.id, child);
            }
        }
    }
    batch.cascaded.retain(|done| !batch.cascade.contains(done));
    Ok(batch)
}

/// What becomes of jobs of `run` that need one that failed.
async fn on_failure(store: &dyn Store, run: RunId) -> Result<OnFailure, StoreError> {
    Ok(store
        .run(run)
        .await?
        .map_or_else(OnFailure::default, |view| view.run.on_failure))
}

/// The job, if it still waits for what it depends on.
async fn waiting(store: &dyn Store, id: JobId) -> Result<Option<Job>, StoreError> {
    let waits = |job: &Job| {
        matches!(
            job.phase,
            Phase::Blocked {
                on: BlockedOn::Dependencies,
                ..
            }
        )
    };
    Ok(store.job(id).await?.filter(waits))
}

/// Leaves `child` waiting, and tells its run's log why.
async fn hold(store: &dyn Store, batch: &mut Batch, child: JobId, cause: JobId) -> Result<(), StoreError> {
    let Some(child) = waiting(store, child).await? else {
        return Ok(());
    };
    batch.events.push(NewEvent {
        run: child.run,
        job: Some(child.id),
        kind: EventKind::Held { cause },
    });
    Ok(())
}

/// Adds the skip of `child` to `batch`, if it still waits; returns it as it will be.
async fn skip(store: &dyn Store, batch: &mut Batch, child: JobId, cause: JobId) -> Result<Option<Job>, StoreError> {
    let Some(child) = waiting(store, child).await? else {
        return Ok(None);
    };
    let Ok(transition) = job::apply(&child, &Command::Skip { cause }, batch.at) else {
        return Ok(None);
    };
    let Some(view) = store.run(child.run).await? else {
        return Ok(None);
    };
    let next = transition.job.clone();
    // Its own dependents are settled as of any end; those it breaks are followed here, so no new cascade is opened.
    let dependents = store.dependents(next.id).await?;
    let met: Vec<_> = dag::settle(next.state(), &dependents).met;
    batch.transition(transition, &view.run, &met);
    Ok(Some(next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use legwork_shared::job::{FailReason, JobError, JobState, Verdict};

    #[tokio::test]
    async fn what_is_opened_again_in_the_meantime_takes_nobody_with_it() {
        let world = World::new();
        let plan = "jobs: [{id: a, description: x}, {id: b, description: x, depends_on: [a]}]";
        let run = world.submit(plan).await.run;
        let claimed = world.claim().await;
        let error = JobError::fatal(FailReason::Error, "test", "it failed");
        world.settle(&claimed[0], Verdict::Failed(error)).await;
        let store = world.store.as_ref();
        let open = store.due(store.now(), LOOK).await.expect("read").cascades;
        let late = cascade(store, open).await.expect("made");
        world
            .coordinator
            .retry(claimed[0].job.id, "test")
            .await
            .expect("retried");
        let refused = store.commit(late).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
        assert_eq!(settle_all(store).await, Ok(0));
        assert_eq!(world.job(run, "b").await.state(), JobState::Blocked);
        assert_eq!(world.work(|_| false).await, ["a", "b"]);
    }

    #[tokio::test]
    async fn a_failure_after_a_retry_is_followed_although_the_first_one_is_still_being_looked_at() {
        let world = World::new();
        let plan = "jobs: [{id: a, description: x}, {id: b, description: x, depends_on: [a]}]";
        let run = world.submit(plan).await.run;
        let store = world.store.as_ref();
        let fail = async || {
            let claimed = world.claim().await;
            let error = JobError::fatal(FailReason::Error, "test", "it failed");
            world.settle(&claimed[0], Verdict::Failed(error)).await;
            claimed[0].job.id
        };
        let a = fail().await;
        let open = store.due(store.now(), LOOK).await.expect("read").cascades;
        world.coordinator.retry(a, "test").await.expect("retried");
        let late = cascade(store, open).await.expect("made");
        fail().await;
        let refused = store.commit(late).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
        assert_eq!(settle_all(store).await, Ok(1));
        assert_eq!(world.job(run, "b").await.state(), JobState::Skipped);
    }
}
