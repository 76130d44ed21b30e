//! The reference engine: everything in maps under one lock. It says what the other engines must do.

mod state;
mod write;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;

use super::{
    ClaimRequest, Claimed, Commit, Due, EventRecord, Extension, JobQuery, Lead, Match, Page, RunQuery, Store,
    StoreError, WorkerRecord,
};
use crate::batch::{Batch, FileRecord, JournalEntry, KeyClaim};
use crate::clock::Clock;
use crate::dag::Edge;
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{Job, LeaseToken, Mail};
use crate::run::{Pausable, Pause, RunView};
use crate::schedule::Schedule;
use crate::time::Timestamp;
use state::State;

/// A store that lives as long as its process. For tests, and for work that need not survive.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

impl MemoryStore {
    /// An empty store that measures time by `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            state: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Applies `change` to the state, or leaves it as it was.
    fn write<T>(&self, change: impl FnOnce(&mut State) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = change(&mut state)?;
        drop(state);
        self.changes.send_modify(|seen| *seen += 1);
        Ok(answer)
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    async fn commit(&self, batch: Batch) -> Result<Commit, StoreError> {
        self.write(|state| state.commit(batch))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let now = self.now();
        if !self.read(|state| state.has_claimable(request)) {
            return Ok(Vec::new());
        }
        self.write(|state| state.claim(request, now))
    }

    async fn extend(&self, tokens: &[LeaseToken], until: Timestamp) -> Result<Vec<Extension>, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(tokens.iter().map(|token| state.extend(*token, until)).collect())
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        Ok(self.read(|state| state.jobs.get(&id).cloned()))
    }

    async fn run(&self, id: RunId) -> Result<Option<RunView>, StoreError> {
        Ok(self.read(|state| state.view(id)))
    }

    async fn jobs(&self, query: &JobQuery) -> Result<Page<Job>, StoreError> {
        Ok(self.read(|state| state.jobs_page(query)))
    }

    async fn runs(&self, query: &RunQuery) -> Result<Page<RunView>, StoreError> {
        Ok(self.read(|state| state.runs_page(query)))
    }

    async fn dependents(&self, parent: JobId) -> Result<Vec<Edge>, StoreError> {
        Ok(self.read(|state| state.dependents(parent)))
    }

    async fn dependencies(&self, child: JobId) -> Result<Vec<Edge>, StoreError> {
        Ok(self.read(|state| state.edges_into(child).map(|(edge, _)| edge).collect()))
    }

    async fn edges(&self, run: RunId) -> Result<Vec<Edge>, StoreError> {
        Ok(self.read(|state| {
            let jobs = state.jobs.values().filter(|job| job.run == run);
            jobs.flat_map(|job| state.edges_into(job.id).map(|(edge, _)| edge))
                .collect()
        }))
    }

    async fn journal(&self, job: JobId, from: u32, limit: usize) -> Result<Vec<JournalEntry>, StoreError> {
        Ok(self.read(|state| {
            let journal = state.journals.get(&job).map(Vec::as_slice).unwrap_or_default();
            journal
                .iter()
                .skip(usize::try_from(from).unwrap_or(usize::MAX))
                .take(limit)
                .cloned()
                .collect()
        }))
    }

    async fn mail(&self, job: JobId) -> Result<Vec<Mail>, StoreError> {
        Ok(self.read(|state| state.mail.get(&job).cloned().unwrap_or_default()))
    }

    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<EventRecord>, StoreError> {
        Ok(self.read(|state| {
            let events = state.events.get(&run).map(Vec::as_slice).unwrap_or_default();
            events
                .iter()
                .skip(usize::try_from(after).unwrap_or(usize::MAX))
                .take(limit)
                .cloned()
                .collect()
        }))
    }

    async fn last_event(&self, run: RunId) -> Result<Option<EventRecord>, StoreError> {
        Ok(self.read(|state| state.events.get(&run).and_then(|log| log.last()).cloned()))
    }

    async fn file(&self, run: RunId, path: &str) -> Result<Option<FileRecord>, StoreError> {
        Ok(self.read(|state| state.files.get(&(run, path.to_owned())).cloned()))
    }

    async fn files(&self, run: RunId, prefix: &str) -> Result<Vec<FileRecord>, StoreError> {
        Ok(self.read(|state| {
            let of_run = state.files.range((run, prefix.to_owned())..).map(|(_, file)| file);
            of_run
                .take_while(|file| file.run == run && file.path.starts_with(prefix))
                .cloned()
                .collect()
        }))
    }

    async fn key(&self, tenant: &str, key: &str) -> Result<Option<KeyClaim>, StoreError> {
        Ok(self.read(|state| state.keys.get(&(tenant.to_owned(), key.to_owned())).cloned()))
    }

    async fn resolve(&self, prefix: &str, limit: usize) -> Result<Match, StoreError> {
        Ok(self.read(|state| {
            let fits = |id: &str| id.starts_with(prefix);
            Match {
                runs: state
                    .runs
                    .keys()
                    .filter(|id| fits(&id.to_string()))
                    .take(limit)
                    .copied()
                    .collect(),
                jobs: state
                    .jobs
                    .keys()
                    .filter(|id| fits(&id.to_string()))
                    .take(limit)
                    .copied()
                    .collect(),
            }
        }))
    }

    async fn due(&self, now: Timestamp, limit: usize) -> Result<Due, StoreError> {
        Ok(self.read(|state| state.due(now, limit)))
    }

    async fn held(&self, worker: WorkerId) -> Result<Vec<Job>, StoreError> {
        let holds = |job: &&Job| job.phase.lease().is_some_and(|lease| lease.worker == worker);
        Ok(self.read(|state| state.jobs.values().filter(holds).cloned().collect()))
    }

    async fn put_worker(&self, worker: &WorkerRecord) -> Result<(), StoreError> {
        self.read_write(|state| {
            state.workers.insert(worker.id, worker.clone());
        });
        Ok(())
    }

    async fn remove_worker(&self, id: WorkerId) -> Result<(), StoreError> {
        self.read_write(|state| {
            state.workers.remove(&id);
        });
        Ok(())
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        Ok(self.read(|state| state.workers.values().cloned().collect()))
    }

    async fn lead(&self, who: WorkerId, until: Timestamp) -> Result<Lead, StoreError> {
        let now = self.now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lead = Lead::after(state.lead, who, until, now);
        state.lead = Some(lead);
        Ok(lead)
    }

    async fn leader(&self) -> Result<Option<Lead>, StoreError> {
        let now = self.now();
        Ok(self.read(|state| state.lead.filter(|lead| lead.until > now)))
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        self.write(|state| Ok(state.pause(pause)))
    }

    async fn resume(&self, of: &Pausable, by: &str) -> Result<bool, StoreError> {
        let now = self.now();
        self.write(|state| Ok(state.resume(of, by, now)))
    }

    async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        Ok(self.read(|state| state.pauses.values().cloned().collect()))
    }

    async fn put_schedule(&self, schedule: &Schedule) -> Result<(), StoreError> {
        self.write(|state| state.put_schedule(schedule))
    }

    async fn remove_schedule(&self, tenant: &str, name: &str) -> Result<bool, StoreError> {
        let key = (tenant.to_owned(), name.to_owned());
        if !self.read(|state| state.schedules.contains_key(&key)) {
            return Ok(false);
        }
        self.write(|state| Ok(state.schedules.remove(&key).is_some()))
    }

    async fn schedules(&self, tenant: Option<&str>) -> Result<Vec<Schedule>, StoreError> {
        Ok(self.read(|state| {
            let of_tenant = |schedule: &&Schedule| tenant.is_none_or(|tenant| schedule.tenant == tenant);
            state.schedules.values().filter(of_tenant).cloned().collect()
        }))
    }

    async fn prune(&self, run: RunId, last: u64) -> Result<(), StoreError> {
        self.write(|state| state.prune(run, last))
    }
}

impl MemoryStore {
    /// Changes something that nobody waits for.
    fn read_write(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
