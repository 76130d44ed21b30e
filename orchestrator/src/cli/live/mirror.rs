//! A copy of a run's records that is kept up to date by its events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use legwork_shared::dag::Edge;
use legwork_shared::fault::Fault;
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::Job;
use legwork_shared::run::{Pause, RunView};
use legwork_shared::store::{EventRecord, Store, StoreError};
use legwork_shared::time::Timestamp;
use legwork_shared::wire::{EventView, RunStatus};

use crate::cli::base::{find_run_view, job_views, load_jobs, summary};

/// Events that are read at a time.
const EVENTS_PAGE: usize = 500;
/// Changed jobs that are read one by one; of more than this, reading all jobs by pages is cheaper.
const SINGLE_READS_MAX: usize = 100;

/// A run, its jobs and edges, as of the last refresh.
pub struct Mirror {
    store: Arc<dyn Store>,
    view: RunView,
    jobs: BTreeMap<JobId, Job>,
    edges: Vec<Edge>,
    pauses: Vec<Pause>,
    seq: u64,
}

impl Mirror {
    /// A copy of `run` that will tell of the events after number `after`.
    ///
    /// # Errors
    /// [`Fault`] of the store, or where the run is not there.
    pub async fn load(store: Arc<dyn Store>, run: RunId, after: u64) -> Result<Self, Fault> {
        let view = find_run_view(store.as_ref(), run).await?;
        let jobs = load_jobs(store.as_ref(), run).await?;
        let edges = store.edges(run).await?;
        let pauses = store.pauses().await?;
        Ok(Self {
            store,
            pauses,
            view,
            jobs: jobs.into_iter().map(|job| (job.id, job)).collect(),
            edges,
            seq: after,
        })
    }

    /// Catches up with the store and tells what has happened since the last time.
    ///
    /// The records are at least as new as the last event.
    ///
    /// # Errors
    /// [`StoreError`]; the copy stays as it was, and the next refresh tells the same events.
    pub async fn refresh(&mut self) -> Result<Vec<EventView>, StoreError> {
        let run = self.view.run.id;
        let records = self.new_events(run).await?;
        let changed: BTreeSet<JobId> = records.iter().filter_map(|record| record.event.job).collect();
        if changed.iter().any(|id| !self.jobs.contains_key(id)) {
            self.edges = self.store.edges(run).await?;
        }
        if changed.len() > SINGLE_READS_MAX {
            let jobs = load_jobs(self.store.as_ref(), run).await?;
            self.jobs = jobs.into_iter().map(|job| (job.id, job)).collect();
        } else {
            for id in changed {
                if let Some(job) = self.store.job(id).await? {
                    self.jobs.insert(id, job);
                }
            }
        }
        if let Some(view) = self.store.run(run).await? {
            self.view = view;
        }
        self.pauses = self.store.pauses().await?;
        self.seq = records.last().map_or(self.seq, |record| record.seq);
        Ok(records.into_iter().map(|record| self.event(record)).collect())
    }

    async fn new_events(&self, run: RunId) -> Result<Vec<EventRecord>, StoreError> {
        let mut records: Vec<EventRecord> = Vec::new();
        loop {
            let after = records.last().map_or(self.seq, |record| record.seq);
            let page = self.store.events(run, after, EVENTS_PAGE).await?;
            let is_last = page.len() < EVENTS_PAGE;
            records.extend(page);
            if is_last {
                return Ok(records);
            }
        }
    }

    fn event(&self, record: EventRecord) -> EventView {
        EventView {
            seq: record.seq,
            at_ms: record.at,
            run: record.event.run,
            job: record.event.job,
            name: record.event.job.and_then(|job| self.name_of(job)),
            kind: record.event.kind,
        }
    }

    /// The name of a job.
    #[must_use]
    pub fn name_of(&self, job: JobId) -> Option<String> {
        self.jobs.get(&job).map(|job| job.spec.name.clone())
    }

    /// The run.
    #[must_use]
    pub fn view(&self) -> &RunView {
        &self.view
    }

    /// The jobs, in the order of their ids.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The status of the run at `now`.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> RunStatus {
        let views = job_views(self.jobs.values(), &self.edges, self.view.run.on_failure, now);
        RunStatus::new(summary(&self.view, self.jobs.values(), &self.pauses), views, now)
    }
}

#[cfg(test)]
mod tests {
    use legwork_orchestrator::coordinator::{Coordinator, Scope, Target};
    use legwork_shared::clock::SystemClock;
    use legwork_shared::job::{EventKind, JobState};
    use legwork_shared::plan::parse;
    use legwork_shared::run::{DEFAULT_TENANT, RunState};
    use legwork_shared::store::memory::MemoryStore;
    use legwork_worker::agents::AgentLibrary;

    use super::*;

    async fn submitted(jobs: usize) -> (Coordinator, RunId, Vec<JobId>) {
        let coordinator = Coordinator::new(Arc::new(MemoryStore::new(Arc::new(SystemClock))), DEFAULT_TENANT);
        let lines: String = (0..jobs)
            .map(|n| format!("- {{id: j{n}, agent: writer, description: d}}\n"))
            .collect();
        let plan = parse(&format!("jobs:\n{lines}"), "plan").expect("a plan");
        let accepted = coordinator
            .submit(&plan, &AgentLibrary::shipped())
            .await
            .expect("accepted");
        (
            coordinator,
            accepted.run,
            accepted.jobs.into_iter().map(|(_, id)| id).collect(),
        )
    }

    #[tokio::test]
    async fn s48_a_mirror_tells_each_event_once_and_is_as_new_as_the_last_one() {
        // More jobs than are read one by one.
        for count in [3, SINGLE_READS_MAX + 20] {
            let (coordinator, run, ids) = submitted(count).await;
            let mut mirror = Mirror::load(coordinator.store().clone(), run, 0).await.expect("a run");
            let first = mirror.refresh().await.expect("events");
            assert_eq!(
                first.iter().map(|event| event.seq).collect::<Vec<_>>(),
                (1..=count as u64 + 1).collect::<Vec<_>>()
            );
            assert_eq!(mirror.refresh().await.expect("events"), []);
            coordinator
                .cancel(Target::Job(ids[1]), Scope::Job, "me", "")
                .await
                .expect("cancelled");
            let later = mirror.refresh().await.expect("events");
            assert_eq!(later.len(), 1);
            assert_eq!(
                (later[0].name.as_deref(), &later[0].kind),
                (Some("j1"), &EventKind::Cancelled { by: "me".into() })
            );
            let status = mirror.status(coordinator.store().now());
            assert_eq!(
                (status.jobs[1].state, status.run.open),
                (JobState::Cancelled, count as u64 - 1)
            );
            coordinator
                .cancel(Target::Run(run), Scope::Tree, "me", "")
                .await
                .expect("cancelled");
            assert_eq!(mirror.refresh().await.expect("events").len(), count - 1);
            assert_eq!(mirror.view().state, RunState::Cancelled);
        }
    }

    #[tokio::test]
    async fn jobs_that_join_a_run_are_mirrored_with_their_dependencies() {
        let (coordinator, run, ids) = submitted(1).await;
        let mut mirror = Mirror::load(coordinator.store().clone(), run, 0).await.expect("a run");
        let plan = parse(
            "jobs: [{id: late, agent: writer, description: d, depends_on: [j0]}]",
            "plan",
        )
        .expect("a plan");
        coordinator
            .add(run, &plan, &AgentLibrary::shipped())
            .await
            .expect("added");
        let names: Vec<_> = mirror
            .refresh()
            .await
            .expect("events")
            .into_iter()
            .map(|event| event.name)
            .collect();
        assert_eq!(names.last(), Some(&Some("late".to_owned())));
        let status = mirror.status(coordinator.store().now());
        assert_eq!(
            status.jobs[1]
                .depends_on
                .iter()
                .map(|need| need.job)
                .collect::<Vec<_>>(),
            ids
        );
    }
}
