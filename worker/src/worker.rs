//! The worker: takes jobs from a store and runs them, many at a time, until it is asked to end.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apalis_core::worker::builder::WorkerBuilder as ApalisBuilder;
use legwork_shared::clock::{Clock as _, SystemClock, entropy};
use legwork_shared::id::WorkerId;
use legwork_shared::store::presence::{Presence, host, machine};
use legwork_shared::store::{Store, StoreError, WorkerRecord};
use legwork_shared::submit::DEFAULT_QUEUE;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attempt::Host;
use crate::layers::{AroundLayer, Budget, Stop, Trace};
use crate::pump::{Claimer, Keeper, Leases, RunRunner, Shutdown, StoreBackend};
use crate::runner::Runners;
use crate::workspace::Artifacts;

/// How many jobs run at a time: agents mostly wait for models, so many more than cores.
pub const DEFAULT_SLOTS: usize = 16;
/// How many slots a worker may have: each is a few kilobytes, so this is where one process stops being the right shape.
pub const SLOTS_MAX: usize = 100_000;
/// How long a runner has to stop after it was asked to.
pub const GRACE: Duration = Duration::from_secs(10);
/// How long a drain lets running attempts finish: within the ninety seconds that service managers wait.
pub const DRAIN: Duration = Duration::from_mins(1);

/// Why a worker could not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The store does not take the worker's record.
    #[error("the worker could not register: {0}")]
    Store(#[from] StoreError),
    /// The system does not give what the worker needs.
    #[error("the worker could not start: {0}")]
    Io(#[from] std::io::Error),
    /// The runtime of the worker broke.
    #[error("the worker broke off: {0}")]
    Runtime(String),
}

/// A worker that has not started.
pub struct Worker {
    host: Arc<Host>,
    id: WorkerId,
    name: String,
    runners: Runners,
    queues: Vec<String>,
    slots: usize,
    grace: Duration,
    drain: Duration,
    presence: Option<PathBuf>,
}

/// Makes a [`Worker`].
pub struct WorkerBuilder {
    store: Arc<dyn Store>,
    artifacts: Artifacts,
    lease_ms: u64,
    name: Option<String>,
    runners: Runners,
    queues: BTreeSet<String>,
    slots: usize,
    grace: Duration,
    drain: Duration,
    presence: Option<PathBuf>,
}

impl WorkerBuilder {
    /// What executes the attempts.
    #[must_use]
    pub fn runners(mut self, runners: Runners) -> Self {
        self.runners = runners;
        self
    }

    /// The queues to claim from, in place of [`DEFAULT_QUEUE`].
    #[must_use]
    pub fn queues(mut self, queues: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.queues = queues.into_iter().map(Into::into).collect();
        self
    }

    /// How many jobs run at a time; at least one, at most [`SLOTS_MAX`].
    #[must_use]
    pub fn slots(mut self, slots: usize) -> Self {
        self.slots = slots.clamp(1, SLOTS_MAX);
        self
    }

    /// What a person calls it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How long a lease holds, in place of [`Host::LEASE_MS`].
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> Self {
        self.lease_ms = lease_ms;
        self
    }

    /// How long a runner has to stop after it was asked to, in place of [`GRACE`].
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long a drain lets running attempts finish, in place of [`DRAIN`].
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// The folder in which other processes of this machine see at once that this one is gone.
    #[must_use]
    pub fn presence(mut self, folder: impl Into<PathBuf>) -> Self {
        self.presence = Some(folder.into());
        self
    }

    /// The worker.
    #[must_use]
    pub fn build(self) -> Worker {
        let id = WorkerId::new(self.store.now(), entropy());
        let mut queues: Vec<String> = self.queues.into_iter().collect();
        if queues.is_empty() {
            queues.push(DEFAULT_QUEUE.to_owned());
        }
        Worker {
            host: Arc::new(Host::new(self.store, self.artifacts).with_lease_ms(self.lease_ms)),
            id,
            name: self.name.unwrap_or_else(|| format!("worker-{}", std::process::id())),
            runners: self.runners,
            queues,
            slots: self.slots,
            grace: self.grace,
            drain: self.drain,
            presence: self.presence,
        }
    }
}

impl Worker {
    /// A worker over `store`, whose files' bytes lie in `artifacts`.
    #[must_use]
    pub fn builder(store: Arc<dyn Store>, artifacts: Artifacts) -> WorkerBuilder {
        WorkerBuilder {
            store,
            artifacts,
            lease_ms: Host::LEASE_MS,
            name: None,
            runners: Runners::new(),
            queues: BTreeSet::new(),
            slots: DEFAULT_SLOTS,
            grace: GRACE,
            drain: DRAIN,
            presence: None,
        }
    }

    /// Its id, new with each start.
    #[must_use]
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// Runs jobs until `shutdown` asks it to drain and what had begun has ended or was given back.
    ///
    /// # Errors
    /// [`WorkerError`] when it cannot start. While it runs it waits for a store that cannot be reached.
    ///
    /// # Cancel safety
    /// A dropped worker stops claiming and renewing, and drops its runners; its jobs are taken back when their leases
    /// have lapsed.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), WorkerError> {
        let presence = self.presence.as_deref().map(|folder| Presence::hold(folder, self.id));
        let presence = presence.transpose()?;
        let record = self.record();
        self.host.store.put_worker(&record).await?;
        let leases = Arc::new(Leases::default());
        let ended = CancellationToken::new();
        let _end_with_this = ended.clone().drop_guard();
        let keeper = Keeper {
            store: Arc::clone(&self.host.store),
            leases: Arc::clone(&leases),
            lease_ms: self.host.lease_ms,
            worker: record,
            end: ended.clone(),
        };
        keeper.start()?;
        tracing::info!(worker.id = %self.id, slots = self.slots, "worker {} started", self.name);
        self.pump(leases, &shutdown, &ended).await?;
        // Forgotten before its presence is given up, so that nobody takes a clean end for a death.
        if let Err(error) = self.host.store.remove_worker(self.id).await {
            tracing::warn!(worker.id = %self.id, "the worker's record could not be removed: {error}");
        }
        drop(presence);
        tracing::info!(worker.id = %self.id, "worker {} ended", self.name);
        Ok(())
    }

    async fn pump(
        &self,
        leases: Arc<Leases>,
        shutdown: &Shutdown,
        ended: &CancellationToken,
    ) -> Result<(), WorkerError> {
        let (sender, receiver) = mpsc::channel(self.slots);
        let draining = shutdown.draining().clone();
        let claimer = Claimer {
            host: Arc::clone(&self.host),
            worker: self.id,
            queues: self.queues.clone(),
            slots: Arc::new(Semaphore::new(self.slots)),
            leases,
            claimed: sender,
            draining: draining.clone(),
        };
        let drained = CancellationToken::new();
        let tasks = TaskTracker::new();
        tasks.spawn(ended.clone().run_until_cancelled_owned(claimer.run()));
        tasks.spawn(ended.clone().run_until_cancelled_owned(drain_clock(
            shutdown.clone(),
            self.drain,
            drained.clone(),
        )));
        let stop = Stop {
            grace: self.grace,
            drained,
        };
        let exhausted = CancellationToken::new();
        ApalisBuilder::new(self.name.as_str())
            .backend(StoreBackend::new(receiver, exhausted.clone(), self.name.clone()))
            .layer(AroundLayer(Trace))
            .layer(AroundLayer(Budget))
            .layer(AroundLayer(stop))
            .build(RunRunner::new(self.runners.clone(), draining))
            // The closed channel alone does not end it.
            .run_until(async move {
                exhausted.cancelled().await;
                Ok::<(), apalis_core::error::WorkerError>(())
            })
            .await
            .map_err(|error| WorkerError::Runtime(error.to_string()))
    }

    fn record(&self) -> WorkerRecord {
        let now = self.host.store.now();
        WorkerRecord {
            id: self.id,
            name: self.name.clone(),
            host: host(),
            // Without a lock file, nobody may take the missing sign for a death.
            machine: self.presence.as_ref().map(|_| machine()),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            slots: self.slots,
            queues: self.queues.clone(),
            started_at: now,
            seen_at: now,
            clock_ahead_ms: SystemClock.now().ahead_ms(now),
        }
    }
}

/// Fires `drained` when a drain has lasted for `limit`, or at once on an abort.
async fn drain_clock(shutdown: Shutdown, limit: Duration, drained: CancellationToken) {
    shutdown.draining().cancelled().await;
    tokio::select! {
        () = tokio::time::sleep(limit) => {}
        () = shutdown.aborting().cancelled() => {}
    }
    drained.cancel();
}
