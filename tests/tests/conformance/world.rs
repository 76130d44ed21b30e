//! A store with a clock that stands still, and short ways to make and move jobs in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use legwork_shared::batch::{Batch, FileRecord, JournalEntry, KeyClaim};
use legwork_shared::clock::{Clock, SimClock};
use legwork_shared::dag::Edge;
use legwork_shared::id::{JobId, RunId, UpdateId, WorkerId};
use legwork_shared::job::{Command, Delay, EventKind, Job, JobSpec, Mail, Phase, Verdict};
use legwork_shared::run::{Run, RunView};
use legwork_shared::store::{ClaimRequest, Claimed, Commit, EventRecord, JobQuery, Store, StoreError};
use legwork_shared::time::Timestamp;
use legwork_tests::engine::{Engine, Opened, START};
use legwork_tests::make;
use legwork_tests::redis_cluster::RedisCluster;
use legwork_tests::redis_server::RedisServer;

/// How long a lease holds here.
pub const LEASE_MS: u64 = 30_000;

/// A store and the clock it goes by.
pub struct World {
    pub store: Arc<dyn Store>,
    pub clock: Arc<SimClock>,
    pub worker: WorkerId,
    next_id: AtomicU32,
    runs: AtomicU32,
    /// In which slots runs stand.
    spread: Spread,
    ground: Opened,
}

/// In which slots the runs of a world stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// All in one: what holds of several runs together holds within a shard.
    Together,
    /// Each in the next.
    Apart,
}

impl World {
    /// An empty store of that engine.
    pub async fn on(engine: Engine) -> Self {
        Self::of(Opened::on(engine).await.unwrap(), Spread::Together)
    }

    /// The store that was opened.
    pub fn of(ground: Opened, spread: Spread) -> Self {
        Self {
            store: ground.store.clone(),
            clock: ground.clock.clone(),
            worker: WorkerId::nth(START, 1, 0),
            next_id: AtomicU32::new(1),
            runs: AtomicU32::new(0),
            spread,
            ground,
        }
    }

    /// The same world with another empty store.
    pub async fn renewed(self, name: &str, spread: Spread) -> Self {
        let mut ground = self.ground;
        ground.another(name).await.unwrap();
        Self::of(ground, spread)
    }

    /// Where the file is.
    pub fn path(&self) -> PathBuf {
        self.ground.path()
    }

    /// Lets the store go; what it stands on stays.
    pub fn close(&mut self) {
        self.ground.close();
        self.store = self.ground.store.clone();
    }

    /// Another handle on the same store, as another process would hold it.
    pub async fn opened_again(&self) -> Arc<dyn Store> {
        self.ground.again().await.unwrap()
    }

    /// The server.
    pub fn server(&self) -> &RedisServer {
        self.ground.server()
    }

    /// The server, to be killed and started again.
    pub fn server_mut(&mut self) -> &mut RedisServer {
        self.ground.server_mut()
    }

    /// The cluster, to be disturbed.
    pub fn cluster(&mut self) -> &mut RedisCluster {
        self.ground.cluster()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn number(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub fn run(&self) -> Run {
        let slot = match self.spread {
            Spread::Together => 7,
            Spread::Apart => u8::try_from(self.runs.fetch_add(1, Ordering::Relaxed) % 252).unwrap(),
        };
        make::run(RunId::nth(self.now(), self.number(), 7).with_slot(slot), self.now())
    }

    /// A run that may be submitted under that key: it stands in the same slot.
    pub fn keyed_run(&self, tenant: &str, key: &str) -> Run {
        let run = self.run();
        let id = run.id.with_slot(KeyClaim::slot_of(tenant, key));
        Run { id, ..run }
    }

    fn job_id(&self, run: &Run) -> JobId {
        JobId::nth(self.now(), self.number(), 3).with_slot(run.id.slot())
    }

    /// A job that may be claimed.
    pub fn queued(&self, run: &Run, spec: JobSpec) -> Job {
        make::queued(self.job_id(run), run, spec, self.now())
    }

    /// A job that waits for its dependencies.
    pub fn blocked(&self, run: &Run, spec: JobSpec) -> Job {
        make::blocked(self.job_id(run), run, spec, self.now())
    }

    /// A job that waits until `due`.
    pub fn scheduled(&self, run: &Run, spec: JobSpec, due: Timestamp) -> Job {
        let (reason, since) = (Delay::Start, self.now());
        let phase = Phase::Scheduled { due, reason, since };
        Job::new(self.job_id(run), run.id, Arc::new(spec), phase, since)
    }

    pub fn update_id(&self) -> UpdateId {
        UpdateId::nth(self.now(), self.number(), 5)
    }

    /// The batch that submits a run.
    pub fn submission(&self, run: &Run, jobs: &[Job], edges: &[Edge]) -> Batch {
        make::submission(run, jobs, edges, self.now())
    }

    /// Submits a run.
    pub async fn submit(&self, run: &Run, jobs: &[Job], edges: &[Edge]) {
        let batch = self.submission(run, jobs, edges);
        assert_eq!(self.store.commit(batch).await, Ok(Commit::Done));
    }

    /// Submits a run of one job that may be claimed.
    pub async fn submit_one(&self, name: &str) -> (Run, Job) {
        let run = self.run();
        let job = self.queued(&run, make::spec(name));
        self.submit(&run, std::slice::from_ref(&job), &[]).await;
        (run, job)
    }

    /// A claim from the queue `default`.
    pub fn request(&self, slots: usize) -> ClaimRequest {
        ClaimRequest {
            worker: self.worker,
            queues: vec!["default".to_owned()],
            slots,
            lease_ms: LEASE_MS,
            entropy: 99,
        }
    }

    pub async fn claim(&self, slots: usize) -> Vec<Claimed> {
        self.store.claim(&self.request(slots)).await.unwrap()
    }

    /// Claims the one job that may be claimed.
    pub async fn claim_one(&self) -> Claimed {
        let mut claimed = self.claim(2).await;
        assert_eq!(claimed.len(), 1, "one job should be claimable");
        claimed.remove(0)
    }

    /// Settles a claimed job.
    pub async fn settle(&self, claimed: &Claimed, verdict: Verdict) -> Result<Commit, StoreError> {
        let token = make::token(&claimed.job);
        let command = Command::Settle { token, verdict };
        self.store.commit(self.change(claimed, &command)).await
    }

    /// Ends a claimed job with a result.
    pub async fn succeed(&self, claimed: &Claimed) {
        let done = self.settle(claimed, Verdict::Succeeded(make::result("done"))).await;
        assert_eq!(done, Ok(Commit::Done));
    }

    /// The batch of a command to a claimed job.
    pub fn change(&self, claimed: &Claimed, command: &Command) -> Batch {
        make::change(claimed, command, self.now()).unwrap()
    }

    pub async fn job(&self, id: JobId) -> Job {
        self.store.job(id).await.unwrap().expect("the job is on record")
    }

    pub async fn view(&self, id: RunId) -> RunView {
        self.store.run(id).await.unwrap().expect("the run is on record")
    }

    /// The kinds of a run's events, in order.
    pub async fn log(&self, run: RunId) -> Vec<EventKind> {
        let events = self.store.events(run, 0, usize::MAX).await.unwrap();
        events.into_iter().map(|record| record.event.kind).collect()
    }

    pub async fn snapshot(&self, run: RunId) -> Snapshot {
        snapshot(&*self.store, run).await
    }
}

/// Everything that a store keeps of a run.
#[derive(Debug, PartialEq)]
pub struct Snapshot {
    pub view: Option<RunView>,
    pub jobs: Vec<Job>,
    pub edges: Vec<Edge>,
    pub events: Vec<EventRecord>,
    pub journals: Vec<JournalEntry>,
    pub mail: Vec<Mail>,
    pub files: Vec<FileRecord>,
}

/// Reads everything that a store keeps of a run.
pub async fn snapshot(store: &dyn Store, run: RunId) -> Snapshot {
    let query = JobQuery {
        run: Some(run),
        limit: usize::MAX - 1,
        ..JobQuery::default()
    };
    let jobs = store.jobs(&query).await.unwrap().items;
    let (mut journals, mut mail) = (Vec::new(), Vec::new());
    for job in &jobs {
        journals.extend(store.journal(job.id, 0, usize::MAX).await.unwrap());
        mail.extend(store.mail(job.id).await.unwrap());
    }
    Snapshot {
        view: store.run(run).await.unwrap(),
        jobs,
        edges: store.edges(run).await.unwrap(),
        events: store.events(run, 0, usize::MAX).await.unwrap(),
        journals,
        mail,
        files: store.files(run, "").await.unwrap(),
    }
}
