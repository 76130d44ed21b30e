//! A store with a clock that stands still, and short ways to make and move jobs in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use legwork_shared::agent::AgentSpec;
use legwork_shared::batch::{Batch, FileRecord, JournalEntry, NewEvent, RunCharge};
use legwork_shared::budget::{Counter, JobLimits, RunLimits};
use legwork_shared::clock::{Clock, SimClock};
use legwork_shared::dag::{Condition, Edge, EdgeKind};
use legwork_shared::id::{JobId, RunId, UpdateId, WorkerId};
use legwork_shared::job::{
    self, BlockedOn, Charge, Command, EventKind, Job, JobResult, JobSpec, LeaseToken, Mail, Phase, Verdict,
};
use legwork_shared::run::{DEFAULT_TENANT, Run, RunView};
use legwork_shared::store::memory::MemoryStore;
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore};
use legwork_shared::store::{ClaimRequest, Claimed, Commit, EventRecord, JobQuery, Store, StoreError};
use legwork_shared::time::Timestamp;

/// The moment at which each world begins.
pub const START: Timestamp = Timestamp(1_700_000_000_000);
/// How long a lease holds here.
pub const LEASE_MS: u64 = 30_000;

/// The engines under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Memory,
    Sqlite,
}

/// A store and the clock it goes by.
pub struct World {
    pub store: Arc<dyn Store>,
    pub clock: Arc<SimClock>,
    pub worker: WorkerId,
    next_id: AtomicU32,
    /// Where the file is, for engines that have one.
    folder: Option<tempfile::TempDir>,
}

impl World {
    /// An empty store of that engine.
    pub fn on(engine: Engine) -> Self {
        let clock = Arc::new(SimClock::at(START));
        let folder = (engine == Engine::Sqlite).then(|| tempfile::tempdir().unwrap());
        let store: Arc<dyn Store> = match &folder {
            None => Arc::new(MemoryStore::new(clock.clone())),
            Some(folder) => Arc::new(open(&folder.path().join("store.db"), clock.clone()).unwrap()),
        };
        Self {
            store,
            clock,
            worker: WorkerId::new(START, 1),
            next_id: AtomicU32::new(1),
            folder,
        }
    }

    /// Another handle on the same file, as another process would hold it.
    pub fn reopened(&self) -> SqliteStore {
        let folder = self
            .folder
            .as_ref()
            .expect("only an engine with a file is opened twice");
        open(&folder.path().join("store.db"), self.clock.clone()).unwrap()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn number(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub fn run(&self) -> Run {
        let agent = AgentSpec {
            name: "writer".to_owned(),
            prompt: "Write.".to_owned(),
            ..AgentSpec::default()
        };
        Run {
            id: RunId::nth(self.now(), self.number(), 7),
            tenant: DEFAULT_TENANT.to_owned(),
            version: 1,
            title: "a run".to_owned(),
            agents: BTreeMap::from([("writer".to_owned(), Arc::new(agent))]),
            limits: RunLimits::default(),
            model: None,
            sources: Vec::new(),
            results: Vec::new(),
            created_at: self.now(),
        }
    }

    /// A specification of a job of that name, to be changed at will.
    pub fn spec(name: &str) -> JobSpec {
        JobSpec {
            name: name.to_owned(),
            agent: "writer".to_owned(),
            ad_hoc: None,
            description: format!("Do {name}."),
            context: None,
            queue: "default".to_owned(),
            priority: 0,
            start_at: None,
            parent: None,
            depth: 0,
            call: None,
            key: None,
            limits: JobLimits::default(),
        }
    }

    /// A job that may be claimed.
    pub fn queued(&self, run: &Run, spec: JobSpec) -> Job {
        self.new_job(run, spec, Phase::Queued { since: self.now() })
    }

    /// A job that waits for its dependencies.
    pub fn blocked(&self, run: &Run, spec: JobSpec) -> Job {
        let on = BlockedOn::Dependencies;
        let since = self.now();
        self.new_job(run, spec, Phase::Blocked { on, since })
    }

    pub fn new_job(&self, run: &Run, spec: JobSpec, phase: Phase) -> Job {
        let id = JobId::nth(self.now(), self.number(), 3);
        Job::new(id, run.id, Arc::new(spec), phase, self.now())
    }

    pub fn update_id(&self) -> UpdateId {
        UpdateId::nth(self.now(), self.number(), 5)
    }

    /// The batch that submits a run.
    pub fn submission(&self, run: &Run, jobs: &[Job], edges: &[Edge]) -> Batch {
        let mut batch = Batch::at(self.now());
        batch.runs.push(run.clone());
        batch.events.push(event(run.id, None, EventKind::Submitted));
        add_jobs(&mut batch, run, jobs, edges);
        batch
    }

    /// Submits a run.
    pub async fn submit(&self, run: &Run, jobs: &[Job], edges: &[Edge]) {
        let batch = self.submission(run, jobs, edges);
        assert_eq!(self.store.commit(batch).await, Ok(Commit::Done));
    }

    /// Submits a run of one job that may be claimed.
    pub async fn submit_one(&self, name: &str) -> (Run, Job) {
        let run = self.run();
        let job = self.queued(&run, Self::spec(name));
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
        let token = token(&claimed.job);
        let command = Command::Settle { token, verdict };
        self.store.commit(self.change(claimed, &command)).await
    }

    /// Ends a claimed job with a result.
    pub async fn succeed(&self, claimed: &Claimed) {
        let done = self.settle(claimed, Verdict::Succeeded(result("done"))).await;
        assert_eq!(done, Ok(Commit::Done));
    }

    /// The batch of a command to a claimed job.
    pub fn change(&self, claimed: &Claimed, command: &Command) -> Batch {
        let transition = job::apply(&claimed.job, command, self.now()).unwrap();
        let mut batch = Batch::at(self.now());
        batch.transition(transition, &claimed.run, &claimed.dependents);
        batch
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

/// Opens a file with a clock of the test.
pub fn open(path: &std::path::Path, clock: Arc<SimClock>) -> Result<SqliteStore, StoreError> {
    let options = SqliteOptions {
        clock,
        ..SqliteOptions::default()
    };
    SqliteStore::open(path, options)
}

/// Adds new jobs with their edges, counters and events to a batch.
pub fn add_jobs(batch: &mut Batch, run: &Run, jobs: &[Job], edges: &[Edge]) {
    let count = i64::try_from(jobs.len()).unwrap();
    for counter in [Counter::Open, Counter::Jobs] {
        batch.charges.push(charge(run, counter, count));
    }
    for job in jobs {
        let kind = match &job.phase {
            Phase::Blocked { on, .. } => EventKind::Blocked { on: *on },
            Phase::Scheduled { due, reason, .. } => EventKind::Scheduled {
                due: *due,
                reason: *reason,
            },
            Phase::Queued { .. } => EventKind::Queued,
            Phase::Running { .. } | Phase::Ended { .. } => unreachable!("no job begins like this"),
        };
        batch.events.push(event(run.id, Some(job.id), kind));
    }
    batch.insert.extend(jobs.iter().cloned());
    batch.edges.extend(edges.iter().map(|edge| (*edge, true)));
}

pub fn charge(run: &Run, counter: Counter, add: i64) -> RunCharge {
    let must_fit = counter == Counter::Jobs;
    RunCharge {
        run: run.id,
        charge: Charge { counter, add, must_fit },
        bound: run.limits.bound(counter),
    }
}

pub fn event(run: RunId, job: Option<JobId>, kind: EventKind) -> NewEvent {
    NewEvent { run, job, kind }
}

/// `child` needs the success of `parent`.
pub fn needs(child: &Job, parent: &Job) -> Edge {
    Edge {
        parent: parent.id,
        child: child.id,
        condition: Condition::Success,
        kind: EdgeKind::Dependency,
    }
}

pub fn token(job: &Job) -> LeaseToken {
    job.phase.lease().expect("the job runs").token
}

pub fn result(text: &str) -> JobResult {
    JobResult {
        text: text.to_owned(),
        ..JobResult::default()
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
