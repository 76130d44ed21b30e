//! A worker and maintenance in this process.

use std::sync::Arc;
use std::time::Duration;

use legwork_orchestrator::maintenance::Maintenance;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::store::Store;
use legwork_shared::store::presence::machine;
use legwork_worker::runner::Runners;
use legwork_worker::workspace::Artifacts;
use legwork_worker::{Shutdown, Worker, WorkerError};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::base::Context;

/// How the worker of an engine works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineOptions {
    /// What a person calls it; a name is made up if there is none.
    pub name: Option<String>,
    /// The queues to claim from.
    pub queues: Vec<String>,
    /// How many jobs run at a time.
    pub slots: usize,
    /// How long jobs may go on when it is told to stop.
    pub drain: Duration,
}

/// A worker that takes jobs, and the maintenance of its store.
pub struct Engine {
    shutdown: Shutdown,
    worker: JoinHandle<Result<(), Fault>>,
    maintenance: JoinHandle<()>,
    maintained: CancellationToken,
}

impl Engine {
    /// Starts both. Signals are caught from now on: the first drains, the second aborts.
    ///
    /// # Errors
    /// [`Fault`] if the folder of artifacts or the signals cannot be used.
    pub fn start(
        context: &Context,
        store: &Arc<dyn Store>,
        runners: Runners,
        options: EngineOptions,
    ) -> Result<Self, Fault> {
        let artifacts = Artifacts::open(context.artifacts_folder()).map_err(|error| {
            Fault::new(
                Code::StoreReadOnly,
                error.to_string(),
                "make the folder writable, or choose another --store",
            )
        })?;
        let mut worker = Worker::builder(store.clone(), artifacts)
            .runners(runners)
            .queues(options.queues)
            .slots(options.slots)
            .drain(options.drain);
        if let Some(folder) = context.presence_folder() {
            worker = worker.presence(folder);
        }
        if let Some(name) = options.name {
            worker = worker.name(name);
        }
        let shutdown = Shutdown::new();
        let signals = shutdown.on_signals().map_err(|error| {
            Fault::new(
                Code::Internal,
                format!("signals cannot be caught: {error}"),
                "report this as a bug",
            )
        })?;
        tokio::spawn(signals);
        let maintained = CancellationToken::new();
        let (worker, asked) = (worker.build(), shutdown.clone());
        let maintenance = Maintenance {
            store: store.clone(),
            worker: worker.id(),
            presence: context.presence_folder(),
            machine: machine(),
            retention: context.settings.retention(),
        };
        let run = async move {
            let ended = worker.run(asked.clone()).await;
            // Whoever waits for the worker must not wait for one that broke off.
            asked.drain();
            ended.map_err(why_broken_off)
        };
        Ok(Self {
            shutdown,
            worker: tokio::spawn(run),
            maintenance: tokio::spawn(maintenance.drive(maintained.clone())),
            maintained,
        })
    }

    /// Fires when the worker is to stop, or has broken off.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.shutdown.draining().clone()
    }

    /// Lets the worker finish what it has begun, within its drain time, and ends both.
    ///
    /// # Errors
    /// [`Fault`] if the worker broke off.
    pub async fn finish(self) -> Result<(), Fault> {
        self.shutdown.drain();
        self.ended().await
    }

    /// Waits until a signal has ended the worker.
    ///
    /// # Errors
    /// [`Fault`] if the worker broke off.
    pub async fn ended(self) -> Result<(), Fault> {
        let worker = self.worker.await;
        self.maintained.cancel();
        let maintenance = self.maintenance.await;
        for lost in [worker.as_ref().err(), maintenance.as_ref().err()]
            .into_iter()
            .flatten()
        {
            tracing::error!("a part of the engine broke off: {lost}");
        }
        worker.unwrap_or_else(|lost| {
            Err(Fault::new(
                Code::Internal,
                lost.to_string(),
                "report this as a bug; what was accepted is not lost",
            ))
        })
    }
}

/// Why a worker could not start, or ended by itself. A store that cannot be used is told as everywhere else.
fn why_broken_off(error: WorkerError) -> Fault {
    match error {
        WorkerError::Store(error) => error.into(),
        WorkerError::Io(_) | WorkerError::Runtime(_) => Fault::new(
            Code::Internal,
            error.to_string(),
            "see `legwork doctor`; what was accepted is not lost",
        ),
    }
}
