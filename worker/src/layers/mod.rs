//! What stands around each attempt, from the outside in: settle, trace, budget, stop, and then the runner.

mod budget;
mod settle;
mod stop;
mod trace;

use std::future::Future;
use std::task::{Context, Poll};

use apalis_core::error::BoxDynError;
use apalis_core::task::Task;
use futures::FutureExt;
use futures::future::BoxFuture;
use legwork_shared::job::{JobError, Verdict};
use tower::{Layer, Service};

pub use budget::Budget;
pub use settle::Settle;
pub use stop::Stop;
pub use trace::Trace;

use crate::pump::Work;

/// What a layer wraps: everything that stands further inside.
pub type Inner = BoxFuture<'static, Verdict>;

/// What a layer does around one attempt.
pub trait Around: Clone + Send + Sync + 'static {
    /// Drives `inner` and gives the verdict to the next layer outside.
    fn around(self, work: Work, inner: Inner) -> impl Future<Output = Verdict> + Send + 'static;
}

/// An [`Around`] as a layer of tower.
#[derive(Debug, Clone)]
pub struct AroundLayer<A>(pub A);

impl<A: Clone, S> Layer<S> for AroundLayer<A> {
    type Service = AroundService<A, S>;

    fn layer(&self, service: S) -> Self::Service {
        AroundService {
            around: self.0.clone(),
            service,
        }
    }
}

/// A service with an [`Around`] around it.
#[derive(Debug, Clone)]
pub struct AroundService<A, S> {
    around: A,
    service: S,
}

impl<A, S> Service<Task<Work>> for AroundService<A, S>
where
    A: Around,
    S: Service<Task<Work>, Response = Verdict>,
    S::Future: Send + 'static,
    S::Error: Into<BoxDynError>,
{
    type Response = Verdict;
    type Error = BoxDynError;
    type Future = BoxFuture<'static, Result<Verdict, BoxDynError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxDynError>> {
        self.service.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, task: Task<Work>) -> Self::Future {
        let work = task.args.clone();
        let inner = self.service.call(task).map(|answer| match answer {
            Ok(verdict) => verdict,
            Err(error) => {
                let error: BoxDynError = error.into();
                Verdict::Failed(JobError::retryable("worker", error.to_string()))
            }
        });
        self.around.clone().around(work, inner.boxed()).map(Ok).boxed()
    }
}
