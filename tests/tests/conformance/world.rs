//! A store with a clock that stands still, and short ways to make and move jobs in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use legwork_shared::batch::{Batch, FileRecord, JournalEntry};
use legwork_shared::clock::{Clock, SimClock};
use legwork_shared::dag::Edge;
use legwork_shared::id::{JobId, RunId, UpdateId, WorkerId};
use legwork_shared::job::{Command, Delay, EventKind, Job, JobSpec, Mail, Phase, Verdict};
use legwork_shared::run::{Run, RunView};
use legwork_shared::store::memory::MemoryStore;
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore, Synchronous};
use legwork_shared::store::{ClaimRequest, Claimed, Commit, EventRecord, JobQuery, Store, StoreError};
use legwork_shared::time::Timestamp;
use legwork_tests::make;
use legwork_tests::redis_server::RedisServer;
use tempfile::TempDir;

/// The moment at which each world begins.
pub const START: Timestamp = Timestamp(1_700_000_000_000);
/// How long a lease holds here.
pub const LEASE_MS: u64 = 30_000;

/// The engines under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Memory,
    Sqlite,
    Redis,
}

/// A store and the clock it goes by.
pub struct World {
    pub store: Arc<dyn Store>,
    pub clock: Arc<SimClock>,
    pub worker: WorkerId,
    next_id: AtomicU32,
    /// Where the file is, for engines that have one.
    folder: Option<TempDir>,
    /// The server, for engines that have one.
    server: Option<RedisServer>,
}

impl World {
    /// An empty store of that engine.
    pub async fn on(engine: Engine) -> Self {
        let clock = Arc::new(SimClock::at(START));
        let folder = (engine == Engine::Sqlite).then(|| TempDir::new().unwrap());
        let server = (engine == Engine::Redis).then(|| RedisServer::start().unwrap());
        let store: Arc<dyn Store> = match (&folder, &server) {
            (Some(folder), _) => Arc::new(open(&folder.path().join("store.db"), clock.clone()).unwrap()),
            (None, Some(server)) => Arc::new(connect(server, clock.clone()).await.unwrap()),
            (None, None) => Arc::new(MemoryStore::new(clock.clone())),
        };
        Self {
            store,
            clock,
            worker: WorkerId::nth(START, 1, 0),
            next_id: AtomicU32::new(1),
            folder,
            server,
        }
    }

    /// Where the file is.
    pub fn path(&self) -> PathBuf {
        let folder = self.folder.as_ref().expect("this engine has a file");
        folder.path().join("store.db")
    }

    /// Another handle on the same file, as another process would hold it.
    pub fn opened_again(&self) -> SqliteStore {
        open(&self.path(), self.clock.clone()).unwrap()
    }

    /// The server.
    pub fn server(&self) -> &RedisServer {
        self.server.as_ref().expect("this engine has a server")
    }

    /// The server, to be killed and started again.
    pub fn server_mut(&mut self) -> &mut RedisServer {
        self.server.as_mut().expect("this engine has a server")
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn number(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub fn run(&self) -> Run {
        make::run(RunId::nth(self.now(), self.number(), 7), self.now())
    }

    fn job_id(&self) -> JobId {
        JobId::nth(self.now(), self.number(), 3)
    }

    /// A job that may be claimed.
    pub fn queued(&self, run: &Run, spec: JobSpec) -> Job {
        make::queued(self.job_id(), run, spec, self.now())
    }

    /// A job that waits for its dependencies.
    pub fn blocked(&self, run: &Run, spec: JobSpec) -> Job {
        make::blocked(self.job_id(), run, spec, self.now())
    }

    /// A job that waits until `due`.
    pub fn scheduled(&self, run: &Run, spec: JobSpec, due: Timestamp) -> Job {
        let (reason, since) = (Delay::Start, self.now());
        let phase = Phase::Scheduled { due, reason, since };
        Job::new(self.job_id(), run.id, Arc::new(spec), phase, since)
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

/// Opens a file with a clock of the test. Only processes are killed here, so nothing waits for the disk.
pub fn open(path: &Path, clock: Arc<SimClock>) -> Result<SqliteStore, StoreError> {
    let options = SqliteOptions {
        clock,
        synchronous: Synchronous::Normal,
        ..SqliteOptions::default()
    };
    SqliteStore::open(path, options)
}

/// Opens the store of a server with a clock of the test.
pub async fn connect(server: &RedisServer, clock: Arc<SimClock>) -> Result<RedisStore, StoreError> {
    let options = RedisOptions {
        clock: Some(clock),
        ..RedisOptions::default()
    };
    RedisStore::open(&server.address("lw"), options).await
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
