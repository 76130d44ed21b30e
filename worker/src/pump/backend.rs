//! The worker's source of jobs: an apalis backend over the claimer's channel. The store stays the only truth.

use std::convert::Infallible;
use std::task::{Context, Poll};

use apalis_core::backend::finalize::Ephemeral;
use apalis_core::backend::{Backend, BackendConfig};
use apalis_core::task::Task;
use apalis_core::task::builder::TaskBuilder;
use apalis_core::task::task_id::TaskId;
use apalis_core::worker::context::WorkerContext;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::work::Work;
use crate::layers::{AroundLayer, Settle};

/// Gives claimed jobs to the worker.
///
/// It never fails: an error would end the worker and drop what runs. A store that cannot be reached is the claimer's
/// matter, which waits and tries again.
pub struct StoreBackend {
    claimed: mpsc::Receiver<Work>,
    exhausted: CancellationToken,
    name: String,
}

impl StoreBackend {
    /// A backend over `claimed`. `exhausted` fires when that is closed and empty: the worker may then be stopped.
    pub fn new(claimed: mpsc::Receiver<Work>, exhausted: CancellationToken, name: String) -> Self {
        Self {
            claimed,
            exhausted,
            name,
        }
    }
}

impl Backend for StoreBackend {
    type Task = Task<Work>;
    type Error = Infallible;

    fn poll_ready(&mut self, _: &mut Context<'_>, _: &WorkerContext) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn poll_next(&mut self, cx: &mut Context<'_>, _: &WorkerContext) -> Poll<Option<Result<Task<Work>, Infallible>>> {
        self.claimed.poll_recv(cx).map(|received| {
            let Some(work) = received else {
                self.exhausted.cancel();
                return None;
            };
            // An id per attempt: a job may be claimed again while its lost attempt is still being dropped.
            let token = work.attempt.token();
            let id = TaskId::from_string(format!("{}#{}", token.job, token.attempt));
            Some(Ok(TaskBuilder::new(work).task_id(id).build()))
        })
    }

    /// Nothing is left here: the worker is stopped only after the channel was found closed and empty.
    fn poll_close(&mut self, _: &mut Context<'_>, _: &WorkerContext) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }
}

impl BackendConfig for StoreBackend {
    type Args = Work;
    type Id = String;
    type Kind = Ephemeral;
    type Config = String;
    /// The outermost layer: it sees the final verdict, and frees the slot after that is written.
    type Layer = AroundLayer<Settle>;

    fn config(&self) -> &String {
        &self.name
    }

    fn middleware(&mut self, _: &mut WorkerContext) -> AroundLayer<Settle> {
        AroundLayer(Settle)
    }
}
