//! Loads views of runs and jobs.

use std::collections::BTreeMap;

use legwork_shared::dag::{self, Edge, EdgeKind};
use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{Job, JobState};
use legwork_shared::run::{OnFailure, Pause, RunView};
use legwork_shared::store::{JobQuery, Store, StoreError};
use legwork_shared::time::Timestamp;
use legwork_shared::wire::{JobView, RunStatus, RunSummary, Troubles};

/// Journal entries that are read at a time: a page stays small even where each holds a large reply.
const JOURNAL_PAGE: usize = 64;
/// Jobs that are read at a time.
const PAGE: usize = 500;

/// A run by its id.
///
/// # Errors
/// [`Code::UnknownId`] or the store's fault.
pub async fn find_run_view(store: &dyn Store, run: RunId) -> Result<RunView, Fault> {
    let unknown = || {
        Fault::new(
            Code::UnknownId,
            format!("{run} is not there any more"),
            "see `legwork list`",
        )
    };
    store.run(run).await?.ok_or_else(unknown)
}

/// All jobs of a run, in the order of their ids.
///
/// # Errors
/// [`StoreError`].
pub async fn load_jobs(store: &dyn Store, run: RunId) -> Result<Vec<Job>, StoreError> {
    let mut query = JobQuery {
        run: Some(run),
        limit: PAGE,
        ..JobQuery::default()
    };
    let mut jobs: Vec<Job> = Vec::new();
    loop {
        let page = store.jobs(&query).await?;
        jobs.extend(page.items);
        if !page.more {
            return Ok(jobs);
        }
        query.after = jobs.last().map(|job| job.id);
    }
}

/// The views of a run's jobs at `now`; `on_failure` is the run's.
#[must_use]
pub fn job_views<'a>(
    jobs: impl IntoIterator<Item = &'a Job> + Clone,
    edges: &[Edge],
    on_failure: OnFailure,
    now: Timestamp,
) -> Vec<JobView> {
    let names: BTreeMap<JobId, &str> = jobs
        .clone()
        .into_iter()
        .map(|job| (job.id, job.spec.name.as_str()))
        .collect();
    let mut by_child: BTreeMap<JobId, Vec<Edge>> = BTreeMap::new();
    for edge in edges {
        by_child.entry(edge.child).or_default().push(*edge);
    }
    let name_of = |id: JobId| names.get(&id).copied();
    let edges_of = |id: &JobId| by_child.get(id).map(Vec::as_slice).unwrap_or_default();
    let states: BTreeMap<JobId, JobState> = jobs.clone().into_iter().map(|job| (job.id, job.state())).collect();
    jobs.into_iter()
        .map(|job| {
            let edges = edges_of(&job.id);
            let held_because_of = held_by(job, edges, &states).filter(|_| on_failure == OnFailure::Hold);
            JobView {
                held_because_of,
                ..JobView::new(job, edges, &name_of, now)
            }
        })
        .collect()
}

/// The parent whose failure holds a job.
fn held_by(job: &Job, edges: &[Edge], states: &BTreeMap<JobId, JobState>) -> Option<JobId> {
    if job.state() != JobState::Blocked {
        return None;
    }
    let holds = |edge: &&Edge| {
        let state = states.get(&edge.parent);
        edge.kind == EdgeKind::Dependency
            && state.is_some_and(|state| dag::is_held(OnFailure::Hold, edge.condition, *state))
    };
    edges.iter().find(holds).map(|edge| edge.parent)
}

/// A run with all its jobs.
///
/// # Errors
/// [`Code::UnknownId`] or the store's fault.
pub async fn load_status(store: &dyn Store, run: RunId) -> Result<RunStatus, Fault> {
    // The run first: a run that is seen as ended then has all its ends among the jobs.
    let view = find_run_view(store, run).await?;
    let (jobs, edges) = (load_jobs(store, run).await?, store.edges(run).await?);
    let pauses = store.pauses().await?;
    let now = store.now();
    Ok(RunStatus::new(
        summary(&view, &jobs, &pauses),
        job_views(&jobs, &edges, view.run.on_failure, now),
        now,
    ))
}

/// A run with the pauses that hold its `jobs` back.
#[must_use]
pub fn summary<'a>(view: &RunView, jobs: impl IntoIterator<Item = &'a Job>, pauses: &[Pause]) -> RunSummary {
    let open = jobs.into_iter().filter(|job| !job.state().is_terminal());
    let queues = open.map(|job| job.spec.queue.as_str()).collect();
    RunSummary::from(view).held_back(pauses, &queues)
}

/// Counts what went wrong on the way of each job, from its journal.
///
/// # Errors
/// [`StoreError`].
pub async fn count_troubles(store: &dyn Store, jobs: &mut [JobView]) -> Result<(), StoreError> {
    for job in jobs {
        let mut troubles = Troubles::default();
        let mut next = 0;
        loop {
            let page = store.journal(job.id, next, JOURNAL_PAGE).await?;
            let Some(last) = page.last() else { break };
            next = last.seq + 1;
            troubles = troubles.plus(Troubles::of(page.iter().map(|entry| &entry.entry)));
        }
        job.troubles = Some(troubles);
    }
    Ok(())
}
