//! The store as an actor of the simulation sees it: each call waits for its turn, and may go wrong in every way there is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use async_trait::async_trait;
use legwork_shared::batch::{Batch, FileRecord, JournalEntry, KeyClaim, NewEvent};
use legwork_shared::dag::Edge;
use legwork_shared::id::{JobId, RunId, WorkerId};
use legwork_shared::job::{Job, LeaseToken, Mail};
use legwork_shared::run::{Pausable, Pause, RunView};
use legwork_shared::schedule::Schedule;
use legwork_shared::store::{
    ClaimRequest, Claimed, Commit, Due, EventRecord, Extension, JobQuery, Lead, Match, Page, RunQuery, Store,
    StoreError, WorkerRecord,
};
use legwork_shared::time::Timestamp;
use legwork_tests::chance::Chance;
use tokio::sync::watch;

/// Once in so many calls something goes wrong with it.
const FAULT_EVERY: u64 = 24;

/// What the actors of one simulation share.
pub struct Fate {
    pub chance: Mutex<Chance>,
    /// Set by an actor that has given up its turn.
    paused: AtomicBool,
    /// Set when the store may have changed.
    wrote: AtomicBool,
    /// Whether anything goes wrong.
    troubled: AtomicBool,
    /// The events of commits that were answered with success.
    acknowledged: Mutex<Vec<NewEvent>>,
}

impl Fate {
    pub fn of(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            chance: Mutex::new(Chance::of(seed)),
            paused: AtomicBool::new(false),
            wrote: AtomicBool::new(true),
            troubled: AtomicBool::new(true),
            acknowledged: Mutex::default(),
        })
    }

    pub fn below(&self, end: u64) -> u64 {
        self.chance.lock().unwrap().below(end)
    }

    pub fn once_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn took_pause(&self) -> bool {
        self.paused.swap(false, Ordering::SeqCst)
    }

    pub fn took_write(&self) -> bool {
        self.wrote.swap(false, Ordering::SeqCst)
    }

    pub fn acknowledged(&self) -> Vec<NewEvent> {
        std::mem::take(&mut self.acknowledged.lock().unwrap())
    }

    /// From now on nothing goes wrong.
    pub fn calm(&self) {
        self.troubled.store(false, Ordering::SeqCst);
    }

    /// Gives up the turn once. An actor that is dropped here has crashed.
    async fn turn(&self) {
        let mut waited = false;
        std::future::poll_fn(|_| {
            if waited {
                return Poll::Ready(());
            }
            waited = true;
            self.paused.store(true, Ordering::SeqCst);
            Poll::Pending
        })
        .await;
    }

    fn fault(&self) -> Fault {
        if !self.troubled.load(Ordering::SeqCst) || !self.once_in(FAULT_EVERY) {
            return Fault::None;
        }
        match self.below(3) {
            0 => Fault::Refused,
            1 => Fault::ReplyLost,
            _ => Fault::Repeated,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// It never arrives.
    Refused,
    /// It is done, and nobody learns of it.
    ReplyLost,
    /// It is done twice; the first answer counts.
    Repeated,
}

/// The store through one actor's connection.
pub struct Faulty {
    pub inner: Arc<dyn Store>,
    pub fate: Arc<Fate>,
    /// How far this actor's clock is behind.
    pub behind_ms: u64,
}

fn away() -> StoreError {
    StoreError::Unavailable {
        message: "the simulation is in the way".to_owned(),
    }
}

/// A call with everything that can happen around it: a turn before and after, and the faults of the fate.
macro_rules! through {
    ($self:ident, $name:ident($($argument:expr),*)) => {{
        $self.fate.turn().await;
        let fault = $self.fate.fault();
        if fault == Fault::Refused {
            return Err(away());
        }
        let answer = $self.inner.$name($($argument),*).await;
        if fault == Fault::Repeated {
            // The repetition's answer reaches nobody.
            let _ = $self.inner.$name($($argument),*).await;
        }
        $self.fate.turn().await;
        if fault == Fault::ReplyLost { Err(away()) } else { answer }
    }};
}

#[async_trait]
impl Store for Faulty {
    fn now(&self) -> Timestamp {
        self.inner.now() - self.behind_ms
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes()
    }

    fn shard_of(&self, slot: u8) -> usize {
        self.inner.shard_of(slot)
    }

    async fn commit(&self, batch: Batch) -> Result<Commit, StoreError> {
        self.fate.turn().await;
        let fault = self.fate.fault();
        if fault == Fault::Refused {
            return Err(away());
        }
        let answer = self.inner.commit(batch.clone()).await;
        if answer == Ok(Commit::Done) {
            self.fate.acknowledged.lock().unwrap().extend(batch.events.clone());
        }
        if fault == Fault::Repeated {
            let again = self.inner.commit(batch.clone()).await;
            // What replaces or inserts nothing may be done twice: a cascade that is done, a touch.
            let moves = !(batch.put.is_empty() && batch.insert.is_empty());
            assert!(!moves || answer.is_err() || again.is_err(), "a commit was done twice");
        }
        self.fate.wrote.store(true, Ordering::SeqCst);
        self.fate.turn().await;
        if fault == Fault::ReplyLost { Err(away()) } else { answer }
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let answer = through!(self, claim(request));
        self.fate.wrote.store(true, Ordering::SeqCst);
        answer
    }

    async fn extend(&self, tokens: &[LeaseToken], until: Timestamp) -> Result<Vec<Extension>, StoreError> {
        through!(self, extend(tokens, until))
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        through!(self, job(id))
    }

    async fn run(&self, id: RunId) -> Result<Option<RunView>, StoreError> {
        through!(self, run(id))
    }

    async fn jobs(&self, query: &JobQuery) -> Result<Page<Job>, StoreError> {
        through!(self, jobs(query))
    }

    async fn runs(&self, query: &RunQuery) -> Result<Page<RunView>, StoreError> {
        through!(self, runs(query))
    }

    async fn dependents(&self, parent: JobId) -> Result<Vec<Edge>, StoreError> {
        through!(self, dependents(parent))
    }

    async fn dependencies(&self, child: JobId) -> Result<Vec<Edge>, StoreError> {
        through!(self, dependencies(child))
    }

    async fn edges(&self, run: RunId) -> Result<Vec<Edge>, StoreError> {
        through!(self, edges(run))
    }

    async fn journal(&self, job: JobId, from: u32, limit: usize) -> Result<Vec<JournalEntry>, StoreError> {
        through!(self, journal(job, from, limit))
    }

    async fn mail(&self, job: JobId) -> Result<Vec<Mail>, StoreError> {
        through!(self, mail(job))
    }

    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<EventRecord>, StoreError> {
        through!(self, events(run, after, limit))
    }

    async fn file(&self, run: RunId, path: &str) -> Result<Option<FileRecord>, StoreError> {
        through!(self, file(run, path))
    }

    async fn files(&self, run: RunId, prefix: &str) -> Result<Vec<FileRecord>, StoreError> {
        through!(self, files(run, prefix))
    }

    async fn key(&self, tenant: &str, key: &str) -> Result<Option<KeyClaim>, StoreError> {
        through!(self, key(tenant, key))
    }

    async fn resolve(&self, prefix: &str, limit: usize) -> Result<Match, StoreError> {
        through!(self, resolve(prefix, limit))
    }

    async fn due(&self, now: Timestamp, limit: usize) -> Result<Due, StoreError> {
        through!(self, due(now, limit))
    }

    async fn held(&self, worker: WorkerId) -> Result<Vec<Job>, StoreError> {
        through!(self, held(worker))
    }

    async fn put_worker(&self, worker: &WorkerRecord) -> Result<(), StoreError> {
        through!(self, put_worker(worker))
    }

    async fn remove_worker(&self, id: WorkerId) -> Result<(), StoreError> {
        through!(self, remove_worker(id))
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        through!(self, workers())
    }

    async fn last_event(&self, run: RunId) -> Result<Option<EventRecord>, StoreError> {
        through!(self, last_event(run))
    }

    async fn lead(&self, who: WorkerId, until: Timestamp) -> Result<Lead, StoreError> {
        through!(self, lead(who, until))
    }

    async fn leader(&self) -> Result<Option<Lead>, StoreError> {
        through!(self, leader())
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        through!(self, pause(pause))
    }

    async fn resume(&self, of: &Pausable, by: &str) -> Result<bool, StoreError> {
        through!(self, resume(of, by))
    }

    async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        through!(self, pauses())
    }

    async fn put_schedule(&self, schedule: &Schedule) -> Result<(), StoreError> {
        through!(self, put_schedule(schedule))
    }

    async fn remove_schedule(&self, tenant: &str, name: &str) -> Result<bool, StoreError> {
        through!(self, remove_schedule(tenant, name))
    }

    async fn schedules(&self, tenant: Option<&str>) -> Result<Vec<Schedule>, StoreError> {
        through!(self, schedules(tenant))
    }

    async fn prune(&self, run: RunId, last: u64) -> Result<(), StoreError> {
        through!(self, prune(run, last))
    }
}
