//! A store with one flaw, to see that the onlooker finds it out.

use std::sync::Arc;

use async_trait::async_trait;
use legwork_shared::batch::{Batch, FileRecord, JournalEntry, KeyClaim, NewEvent};
use legwork_shared::budget::Counter;
use legwork_shared::dag::Edge;
use legwork_shared::id::{JobId, RunId, WorkerId};
use legwork_shared::job::{EventKind, Job, LeaseToken, Mail, Phase};
use legwork_shared::run::{Pausable, Pause, RunView};
use legwork_shared::schedule::Schedule;
use legwork_shared::store::{
    ClaimRequest, Claimed, Commit, Due, EventRecord, Extension, JobQuery, Lead, Match, Page, RunQuery, Store,
    StoreError, WorkerRecord,
};
use legwork_shared::time::Timestamp;
use tokio::sync::watch;

/// What the store does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// A write that comes too late lands all the same.
    ForgetsFencing,
    /// A job that was released, and is at work or done, is released again.
    ReleasesTwice,
    /// The end of one parent counts for all.
    ReleasesEarly,
    /// The last event of a commit is not written.
    LosesEvent,
    /// A commit that ends a job is acknowledged and not written.
    LosesResult,
    /// What was reserved and spent is not charged.
    LosesCharge,
    /// Counters pass their bounds.
    ForgetsBounds,
    /// A join that is ready is not released.
    ForgetsRelease,
}

impl Flaw {
    pub const ALL: [Self; 8] = [
        Self::ForgetsFencing,
        Self::ReleasesTwice,
        Self::ReleasesEarly,
        Self::LosesEvent,
        Self::LosesResult,
        Self::LosesCharge,
        Self::ForgetsBounds,
        Self::ForgetsRelease,
    ];
}

/// The flawed store.
pub struct Flawed {
    pub inner: Arc<dyn Store>,
    pub flaw: Flaw,
}

impl Flawed {
    /// Brings the versions of a late write up to date.
    async fn catch_up(&self, batch: &mut Batch) -> Result<(), StoreError> {
        for job in &mut batch.put {
            if let Some(stored) = self.inner.job(job.id).await? {
                job.version = stored.version + 1;
            }
        }
        for entry in &mut batch.journal {
            entry.seq = self
                .inner
                .job(entry.job)
                .await?
                .map_or(entry.seq, |job| job.journal_len);
        }
        Ok(())
    }

    async fn release_again(&self, child: JobId, at: Timestamp) -> Result<(), StoreError> {
        let Some(mut job) = self.inner.job(child).await? else {
            return Ok(());
        };
        job.version += 1;
        job.phase = Phase::Queued { since: at };
        let mut batch = Batch::at(at);
        let (run, job_id, kind) = (job.run, Some(job.id), EventKind::Queued);
        batch.events.push(NewEvent { run, job: job_id, kind });
        batch.put.push(job);
        self.inner.commit(batch).await.map(|_| ())
    }

    async fn all_edges_into(&self, edges: &[Edge]) -> Result<Vec<Edge>, StoreError> {
        let mut all = Vec::new();
        for edge in edges {
            all.extend(self.inner.dependencies(edge.child).await?);
        }
        Ok(all)
    }
}

#[async_trait]
impl Store for Flawed {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes()
    }

    fn shard_of(&self, slot: u8) -> usize {
        self.inner.shard_of(slot)
    }

    async fn commit(&self, mut batch: Batch) -> Result<Commit, StoreError> {
        let ends = batch.events.iter().any(|event| event.kind.is_terminal());
        let (counted, at) = (batch.countdown.clone(), batch.at);
        match self.flaw {
            Flaw::ForgetsFencing => self.catch_up(&mut batch).await?,
            Flaw::ReleasesEarly => batch.countdown = self.all_edges_into(&counted).await?,
            Flaw::LosesEvent => {
                batch.events.pop();
            }
            Flaw::LosesResult if ends => return Ok(Commit::Done),
            Flaw::LosesCharge => batch.charges.retain(|row| row.charge.counter != Counter::Tokens),
            Flaw::ForgetsBounds => batch.charges.iter_mut().for_each(|row| row.bound = None),
            Flaw::ForgetsRelease => batch.countdown.clear(),
            Flaw::LosesResult | Flaw::ReleasesTwice => {}
        }
        let answer = self.inner.commit(batch).await;
        if self.flaw == Flaw::ReleasesTwice && answer.is_ok() {
            for edge in counted {
                self.release_again(edge.child, at).await?;
            }
        }
        answer
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        self.inner.claim(request).await
    }

    async fn extend(&self, tokens: &[LeaseToken], until: Timestamp) -> Result<Vec<Extension>, StoreError> {
        self.inner.extend(tokens, until).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        self.inner.job(id).await
    }

    async fn run(&self, id: RunId) -> Result<Option<RunView>, StoreError> {
        self.inner.run(id).await
    }

    async fn jobs(&self, query: &JobQuery) -> Result<Page<Job>, StoreError> {
        self.inner.jobs(query).await
    }

    async fn runs(&self, query: &RunQuery) -> Result<Page<RunView>, StoreError> {
        self.inner.runs(query).await
    }

    async fn dependents(&self, parent: JobId) -> Result<Vec<Edge>, StoreError> {
        self.inner.dependents(parent).await
    }

    async fn dependencies(&self, child: JobId) -> Result<Vec<Edge>, StoreError> {
        self.inner.dependencies(child).await
    }

    async fn edges(&self, run: RunId) -> Result<Vec<Edge>, StoreError> {
        self.inner.edges(run).await
    }

    async fn journal(&self, job: JobId, from: u32, limit: usize) -> Result<Vec<JournalEntry>, StoreError> {
        self.inner.journal(job, from, limit).await
    }

    async fn mail(&self, job: JobId) -> Result<Vec<Mail>, StoreError> {
        self.inner.mail(job).await
    }

    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<EventRecord>, StoreError> {
        self.inner.events(run, after, limit).await
    }

    async fn file(&self, run: RunId, path: &str) -> Result<Option<FileRecord>, StoreError> {
        self.inner.file(run, path).await
    }

    async fn files(&self, run: RunId, prefix: &str) -> Result<Vec<FileRecord>, StoreError> {
        self.inner.files(run, prefix).await
    }

    async fn key(&self, tenant: &str, key: &str) -> Result<Option<KeyClaim>, StoreError> {
        self.inner.key(tenant, key).await
    }

    async fn resolve(&self, prefix: &str, limit: usize) -> Result<Match, StoreError> {
        self.inner.resolve(prefix, limit).await
    }

    async fn due(&self, now: Timestamp, limit: usize) -> Result<Due, StoreError> {
        self.inner.due(now, limit).await
    }

    async fn held(&self, worker: WorkerId) -> Result<Vec<Job>, StoreError> {
        self.inner.held(worker).await
    }

    async fn put_worker(&self, worker: &WorkerRecord) -> Result<(), StoreError> {
        self.inner.put_worker(worker).await
    }

    async fn remove_worker(&self, id: WorkerId) -> Result<(), StoreError> {
        self.inner.remove_worker(id).await
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        self.inner.workers().await
    }

    async fn last_event(&self, run: RunId) -> Result<Option<EventRecord>, StoreError> {
        self.inner.last_event(run).await
    }

    async fn lead(&self, who: WorkerId, until: Timestamp) -> Result<Lead, StoreError> {
        self.inner.lead(who, until).await
    }

    async fn leader(&self) -> Result<Option<Lead>, StoreError> {
        self.inner.leader().await
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        self.inner.pause(pause).await
    }

    async fn resume(&self, of: &Pausable, by: &str) -> Result<bool, StoreError> {
        self.inner.resume(of, by).await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        self.inner.pauses().await
    }

    async fn put_schedule(&self, schedule: &Schedule) -> Result<(), StoreError> {
        self.inner.put_schedule(schedule).await
    }

    async fn remove_schedule(&self, tenant: &str, name: &str) -> Result<bool, StoreError> {
        self.inner.remove_schedule(tenant, name).await
    }

    async fn schedules(&self, tenant: Option<&str>) -> Result<Vec<Schedule>, StoreError> {
        self.inner.schedules(tenant).await
    }

    async fn prune(&self, run: RunId, last: u64) -> Result<(), StoreError> {
        self.inner.prune(run, last).await
    }
}
