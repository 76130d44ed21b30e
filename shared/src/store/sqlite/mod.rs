//! The embedded engine: one file, many processes.
//!
//! A process has one thread that writes, see [`scribe`], and a few connections that read, see [`readers`]. The file is
//! in write-ahead-log mode: readers never wait for writers. What `SQLite` calls busy is waited out, see [`connection`].

mod claim;
mod commit;
mod connection;
mod edge_row;
mod error;
mod job_row;
mod migrate;
mod pause;
mod prepared;
mod query;
mod read;
mod readers;
mod run_row;
mod schedules;
mod scribe;
mod turn_book;
mod upkeep;
mod value;
mod writer;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::params;
use tokio::sync::watch;

use super::{
    ClaimRequest, Claimed, Commit, Due, EventRecord, Extension, JobQuery, Lead, Match, Page, RunQuery, Store,
    StoreError, WorkerRecord,
};
use crate::batch::{Batch, FileRecord, JournalEntry, KeyClaim};
use crate::clock::{Clock, SystemClock};
use crate::dag::Edge;
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{Job, LeaseToken, Mail};
use crate::run::{Pausable, Pause, RunView};
use crate::schedule::Schedule;
use crate::time::Timestamp;
use error::classify;
use prepared::Prepared;
use query::sql;
use readers::Readers;
use run_row::RunCache;
use value::encode;
use writer::{Survives, Writer};

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// A crash of every process and of the machine: each group of commits waits for the disk. Leases and the records of
    /// workers survive only the processes: after a crash of the machine, nobody is left to hold them.
    #[default]
    Full,
    /// A crash of every process; a power failure may take back the last commits, in order, and never a part of one.
    Normal,
}

/// How a file is used.
#[derive(Clone)]
pub struct SqliteOptions {
    /// What time is measured by.
    pub clock: Arc<dyn Clock>,
    /// What a commit survives.
    pub synchronous: Synchronous,
    /// How long to wait for another process that writes, in milliseconds, before the store counts as not available.
    pub busy_timeout_ms: u64,
}

impl SqliteOptions {
    /// A minute: a transaction of another process takes milliseconds, so that a longer wait means that it hangs.
    pub const BUSY_TIMEOUT_MS: u64 = 60_000;
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            synchronous: Synchronous::default(),
            busy_timeout_ms: Self::BUSY_TIMEOUT_MS,
        }
    }
}

/// A store in one file, which any number of processes of one machine may share.
///
/// Dropping it waits until what was handed over is written. The file is never on a network share: its locks and its
/// shared memory do not reach other machines.
pub struct SqliteStore {
    clock: Arc<dyn Clock>,
    runs: Arc<RunCache>,
    readers: Readers,
    writer: Writer,
}

impl SqliteStore {
    /// Opens the file, or makes it if it is not there, and brings it to the newest format.
    ///
    /// Blocks for as long as another process holds the file.
    ///
    /// # Errors
    /// [`StoreError::Newer`] and [`StoreError::Corrupt`] if the file is not what this version can use,
    /// [`StoreError::ReadOnly`], [`StoreError::Full`] and [`StoreError::Unavailable`] if it cannot be written now.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let path = path.as_ref().to_path_buf();
        let closing = connection::Closing::default();
        let conn = connection::writer(&path, &options, &closing)?;
        migrate::migrate(&conn, &path)?;
        let runs = Arc::new(RunCache::default());
        let readers = Readers::new(path.clone(), options.clone(), closing.clone());
        Ok(Self {
            clock: options.clock.clone(),
            runs: runs.clone(),
            readers,
            writer: Writer::start(conn, path, options, runs, closing)?,
        })
    }
}

impl SqliteStore {
    /// Looks through the whole file for damage and returns at most `limit` problems in words; none if it is whole.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot even be read.
    pub async fn problems(&self, limit: u32) -> Result<Vec<String>, StoreError> {
        self.readers.read(move |conn| read::problems(conn, limit)).await
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.writer.changes()
    }

    async fn commit(&self, batch: Batch) -> Result<Commit, StoreError> {
        let batch = Prepared::of(batch)?;
        let survives = Survives::Everything;
        self.writer.call(survives, move |tx| commit::commit(tx, &batch)).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let (request, clock) = (request.clone(), self.clock.clone());
        // The lease begins when it is written, not when the wish for it was queued.
        self.writer
            .call(Survives::Processes, move |tx| claim::claim(tx, &request, clock.now()))
            .await
    }

    async fn extend(&self, tokens: &[LeaseToken], until: Timestamp) -> Result<Vec<Extension>, StoreError> {
        let tokens = tokens.to_vec();
        self.writer
            .call(Survives::Processes, move |tx| {
                let extensions = tokens.iter().map(|token| Ok(claim::extend(tx.conn, *token, until)?));
                extensions.collect()
            })
            .await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        self.readers.read(move |conn| job_row::load(conn, id)).await
    }

    async fn run(&self, id: RunId) -> Result<Option<RunView>, StoreError> {
        let runs = self.runs.clone();
        self.readers.read(move |conn| runs.view(conn, id)).await
    }

    async fn jobs(&self, query: &JobQuery) -> Result<Page<Job>, StoreError> {
        let query = query.clone();
        self.readers.read(move |conn| read::jobs(conn, &query)).await
    }

    async fn runs(&self, query: &RunQuery) -> Result<Page<RunView>, StoreError> {
        let (runs, query) = (self.runs.clone(), query.clone());
        self.readers.read(move |conn| read::runs(conn, &runs, &query)).await
    }

    async fn dependents(&self, parent: JobId) -> Result<Vec<Edge>, StoreError> {
        self.readers
            .read(move |conn| edge_row::list(conn, sql!("dependents"), parent.as_bytes()))
            .await
    }

    async fn dependencies(&self, child: JobId) -> Result<Vec<Edge>, StoreError> {
        self.readers
            .read(move |conn| edge_row::list(conn, sql!("dependencies"), child.as_bytes()))
            .await
    }

    async fn edges(&self, run: RunId) -> Result<Vec<Edge>, StoreError> {
        self.readers
            .read(move |conn| edge_row::list(conn, sql!("edges_of_run"), run.as_bytes()))
            .await
    }

    async fn journal(&self, job: JobId, from: u32, limit: usize) -> Result<Vec<JournalEntry>, StoreError> {
        self.readers
            .read(move |conn| read::journal(conn, job, from, limit))
            .await
    }

    async fn mail(&self, job: JobId) -> Result<Vec<Mail>, StoreError> {
        self.readers.read(move |conn| read::mail(conn, job)).await
    }

    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<EventRecord>, StoreError> {
        self.readers
            .read(move |conn| read::events(conn, run, after, limit))
            .await
    }

    async fn last_event(&self, run: RunId) -> Result<Option<EventRecord>, StoreError> {
        self.readers.read(move |conn| read::last_event(conn, run)).await
    }

    async fn file(&self, run: RunId, path: &str) -> Result<Option<FileRecord>, StoreError> {
        let path = path.to_owned();
        self.readers.read(move |conn| read::file(conn, run, &path)).await
    }

    async fn files(&self, run: RunId, prefix: &str) -> Result<Vec<FileRecord>, StoreError> {
        let prefix = prefix.to_owned();
        self.readers.read(move |conn| read::files(conn, run, &prefix)).await
    }

    async fn key(&self, tenant: &str, key: &str) -> Result<Option<KeyClaim>, StoreError> {
        let (tenant, key) = (tenant.to_owned(), key.to_owned());
        self.readers
            .read(move |conn| commit::key(conn, &tenant, &key).map_err(|error| classify(&error)))
            .await
    }

    async fn resolve(&self, prefix: &str, limit: usize) -> Result<Match, StoreError> {
        let prefix = prefix.to_owned();
        self.readers.read(move |conn| read::resolve(conn, &prefix, limit)).await
    }

    async fn due(&self, now: Timestamp, limit: usize) -> Result<Due, StoreError> {
        self.readers.read(move |conn| read::due(conn, now, limit)).await
    }

    async fn held(&self, worker: WorkerId) -> Result<Vec<Job>, StoreError> {
        self.readers.read(move |conn| read::held(conn, worker)).await
    }

    async fn put_worker(&self, worker: &WorkerRecord) -> Result<(), StoreError> {
        let (id, doc) = (worker.id, encode(worker, "a worker")?);
        self.writer
            .call(Survives::Processes, move |tx| {
                query::prepared(tx.conn, sql!("worker_put"))?.execute(params![id.as_bytes(), doc])?;
                Ok(())
            })
            .await
    }

    async fn remove_worker(&self, id: WorkerId) -> Result<(), StoreError> {
        self.writer
            .call(Survives::Processes, move |tx| {
                query::prepared(tx.conn, sql!("worker_delete"))?.execute([id.as_bytes()])?;
                Ok(())
            })
            .await
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        self.readers.read(read::workers).await
    }

    async fn lead(&self, who: WorkerId, until: Timestamp) -> Result<Lead, StoreError> {
        let clock = self.clock.clone();
        self.writer
            .call(Survives::Processes, move |tx| {
                upkeep::lead(tx.conn, who, until, clock.now())
            })
            .await
    }

    async fn leader(&self) -> Result<Option<Lead>, StoreError> {
        let now = self.now();
        self.readers.read(move |conn| upkeep::leader(conn, now)).await
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        let pause = pause.clone();
        let survives = Survives::Everything;
        self.writer.call(survives, move |tx| pause::pause(tx, &pause)).await
    }

    async fn resume(&self, of: &Pausable, by: &str) -> Result<bool, StoreError> {
        let (of, by, clock) = (of.clone(), by.to_owned(), self.clock.clone());
        self.writer
            .call(Survives::Everything, move |tx| pause::resume(tx, &of, &by, clock.now()))
            .await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        self.readers.read(pause::pauses).await
    }

    async fn put_schedule(&self, schedule: &Schedule) -> Result<(), StoreError> {
        let (schedule, survives) = (schedule.clone(), Survives::Everything);
        self.writer
            .call(survives, move |tx| schedules::put(tx, &schedule))
            .await
    }

    async fn remove_schedule(&self, tenant: &str, name: &str) -> Result<bool, StoreError> {
        let (tenant, name) = (tenant.to_owned(), name.to_owned());
        let survives = Survives::Everything;
        self.writer
            .call(survives, move |tx| schedules::remove(tx, &tenant, &name))
            .await
    }

    async fn schedules(&self, tenant: Option<&str>) -> Result<Vec<Schedule>, StoreError> {
        let tenant = tenant.map(str::to_owned);
        self.readers
            .read(move |conn| schedules::list(conn, tenant.as_deref()))
            .await
    }

    async fn prune(&self, run: RunId, last: u64) -> Result<(), StoreError> {
        self.writer
            .call(Survives::Everything, move |tx| upkeep::prune(tx, run, last))
            .await
    }
}
