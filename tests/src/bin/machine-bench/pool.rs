//! A worker in this process, whose runner tells when it starts and does nothing else.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use async_trait::async_trait;
use legwork_shared::job::{JobResult, Verdict};
use legwork_shared::store::Store;
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore};
use legwork_tests::marked::{Client, MARK};
use legwork_worker::attempt::Attempt;
use legwork_worker::runner::{Runner, Runners};
use legwork_worker::workspace::Artifacts;
use legwork_worker::{Shutdown, Worker, WorkerError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// How many jobs run at a time.
const SLOTS: usize = 200;

/// Sends the moment at which each job starts.
struct Tell(UnboundedSender<Instant>);

#[async_trait]
impl Runner for Tell {
    async fn run(&self, _attempt: &Attempt) -> Verdict {
        // Nobody listens any more when the measurement is over.
        let _ = self.0.send(Instant::now());
        Verdict::Succeeded(JobResult::default())
    }
}

/// Opens the store of a folder.
pub fn open(folder: &Path) -> Result<Arc<dyn Store>> {
    let store = SqliteStore::open(folder.join("legwork.db"), SqliteOptions::default())?;
    Ok(Arc::new(store))
}

/// A worker on `store`, whose jobs go to `runner`.
pub fn worker(store: Arc<dyn Store>, folder: &Path, runner: impl Runner) -> Result<Worker> {
    let artifacts = Artifacts::open(folder.join("artifacts"))?;
    let worker = Worker::builder(store, artifacts)
        .runners(Runners::new().with(MARK, runner))
        .slots(SLOTS);
    Ok(worker.build())
}

/// A worker at work in this process, and a client of the same store.
pub struct Pool {
    /// Submits.
    pub client: Client,
    started: UnboundedReceiver<Instant>,
    shutdown: Shutdown,
    working: JoinHandle<std::result::Result<(), WorkerError>>,
}

impl Pool {
    /// Starts a worker on the store of `folder`.
    pub fn start(folder: &Path) -> Result<Self> {
        let store = open(folder)?;
        let (sender, started) = unbounded_channel();
        let worker = worker(Arc::clone(&store), folder, Tell(sender))?;
        let shutdown = Shutdown::new();
        let stop = shutdown.clone();
        Ok(Self {
            client: Client::new(store),
            started,
            shutdown,
            working: tokio::spawn(worker.run(stop)),
        })
    }

    /// The moment at which the next job started.
    pub async fn started(&mut self) -> Result<Instant> {
        self.started.recv().await.context("the worker has ended")
    }

    /// Waits until `count` jobs have started; returns the moment of the last.
    pub async fn all_started(&mut self, count: usize) -> Result<Instant> {
        let mut last = Instant::now();
        for _ in 0..count {
            last = self.started().await?;
        }
        Ok(last)
    }

    /// Ends the worker.
    pub async fn stop(self) -> Result<()> {
        self.shutdown.drain();
        self.working.await??;
        Ok(())
    }
}
