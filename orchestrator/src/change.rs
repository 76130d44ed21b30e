//! Load, decide, commit; and again when somebody else was faster.

use std::collections::BTreeMap;

use legwork_shared::batch::Batch;
use legwork_shared::id::JobId;
use legwork_shared::job::{self, Command, Job, Refusal, Transition};
use legwork_shared::store::{Store, StoreError};

/// How often a decision is taken again on a newer record. Each round somebody else has made progress, so a job that is
/// changed this often under our hands is busy beyond reason.
pub const ROUNDS_MAX: usize = 64;

/// Why a job was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such job.
    #[error("{0} does not exist")]
    Unknown(JobId),
    /// It quotes from documents, and nobody in it could read an update.
    #[error("{0} quotes without a language model and reads no updates")]
    Deaf(JobId),
    /// Its state does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store does not allow it, or not now.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Applies `command` to a job and commits it with what it means for its dependents.
///
/// # Errors
/// [`ChangeError`]; nothing was written.
pub async fn change(store: &dyn Store, id: JobId, command: &Command) -> Result<Job, ChangeError> {
    for _ in 0..ROUNDS_MAX {
        let job = store.job(id).await?.ok_or(ChangeError::Unknown(id))?;
        let mut batch = Batch::at(store.now());
        let transition = job::apply(&job, command, batch.at)?;
        let next = transition.job.clone();
        add(store, &mut batch, transition).await?;
        match store.commit(batch).await {
            Ok(_) => return Ok(next),
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Conflict { what: id.to_string() }.into())
}

/// Applies the same kind of command to several jobs in one commit to each shard, or to each alone where one of them was
/// changed by somebody else. Jobs for which there is no command, or whose state does not allow it any more, are left alone.
///
/// # Errors
/// [`StoreError`]; some jobs may have been changed.
pub async fn change_all(
    store: &dyn Store,
    jobs: &[Job],
    command: impl Fn(&Job) -> Option<Command> + Send + Sync,
) -> Result<Vec<Job>, StoreError> {
    let mut shards: BTreeMap<usize, Vec<&Job>> = BTreeMap::new();
    for job in jobs {
        shards.entry(store.shard_of(job.id.slot())).or_default().push(job);
    }
    let mut changed = Vec::new();
    for jobs in shards.values() {
        changed.extend(change_together(store, jobs, &command).await?);
    }
    Ok(changed)
}

/// [`change_all`] of jobs in one shard.
async fn change_together(
    store: &dyn Store,
    jobs: &[&Job],
    command: &(impl Fn(&Job) -> Option<Command> + Send + Sync),
) -> Result<Vec<Job>, StoreError> {
    let mut batch = Batch::at(store.now());
    for job in jobs {
        if let Some(command) = command(job)
            && let Ok(transition) = job::apply(job, &command, batch.at)
        {
            add(store, &mut batch, transition).await?;
        }
    }
    if batch.put.is_empty() {
        return Ok(Vec::new());
    }
    let changed = batch.put.clone();
    match store.commit(batch).await {
        Ok(_) => return Ok(changed),
        Err(StoreError::Conflict { .. }) => {}
        Err(error) => return Err(error),
    }
    let mut changed = Vec::new();
    for job in jobs {
        let Some(command) = command(job) else { continue };
        match change(store, job.id, &command).await {
            Ok(job) => changed.push(job),
            Err(ChangeError::Refused(_) | ChangeError::Unknown(_) | ChangeError::Deaf(_)) => {}
            Err(ChangeError::Store(error)) => return Err(error),
        }
    }
    Ok(changed)
}

/// Adds a transition to a batch, with the dependents and the run's bounds that it needs.
///
/// # Errors
/// [`StoreError`]; the batch is of no use then.
pub async fn add(store: &dyn Store, batch: &mut Batch, transition: Transition) -> Result<(), StoreError> {
    let missing = || StoreError::Corrupt {
        message: format!("{} belongs to no run", transition.job.id),
    };
    let view = store.run(transition.job.run).await?.ok_or_else(missing)?;
    let dependents = if transition.ended() {
        store.dependents(transition.job.id).await?
    } else {
        Vec::new()
    };
    batch.transition(transition, &view.run, &dependents);
    Ok(())
}
