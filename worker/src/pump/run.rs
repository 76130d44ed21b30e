//! The innermost service: an attempt meets its runner.

use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use apalis_core::task::Task;
use futures::FutureExt;
use futures::future::BoxFuture;
use legwork_shared::job::{JobError, Verdict};
use legwork_shared::time::Timestamp;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::Service;
use tracing::Instrument as _;

use super::work::Work;
use crate::attempt::Attempt;
use crate::runner::Runners;

/// Runs each attempt with the runner that its agent names, in a task of its own.
#[derive(Clone)]
pub struct RunRunner {
    runners: Runners,
    draining: CancellationToken,
}

impl RunRunner {
    /// Runs attempts until `draining` has fired; what has not started by then is given back.
    #[must_use]
    pub fn new(runners: Runners, draining: CancellationToken) -> Self {
        Self { runners, draining }
    }

    async fn run(self, attempt: Arc<Attempt>) -> Verdict {
        if self.draining.is_cancelled() {
            return give_back();
        }
        let runner = match attempt.agent().and_then(|agent| self.runners.find(&agent.runner)) {
            Ok(runner) => runner,
            Err(error) => return Verdict::Failed(error),
        };
        let running = async move {
            let dismissed = attempt.control().dismissed().clone();
            tokio::select! {
                biased;
                // The runner is dropped right here, so that it has ended when this task has.
                () = dismissed.cancelled() => give_back(),
                verdict = runner.run(&attempt) => verdict,
            }
        };
        match AbortOnDrop(tokio::spawn(running.in_current_span())).await {
            Ok(verdict) => verdict,
            Err(lost) => match lost.try_into_panic() {
                Ok(panic) => Verdict::Failed(panicked(panic.as_ref())),
                Err(_) => give_back(),
            },
        }
    }
}

impl Service<Task<Work>> for RunRunner {
    type Response = Verdict;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Verdict, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, task: Task<Work>) -> Self::Future {
        self.clone().run(task.args.attempt).map(Ok).boxed()
    }
}

/// The verdict of an attempt that was not to run, or not to the end: somebody else goes on at once.
pub(crate) fn give_back() -> Verdict {
    Verdict::Yielded { due: Timestamp(0) }
}

/// A panic may be an accident of this attempt, so another one is made.
fn panicked(panic: &(dyn Any + Send)) -> JobError {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message");
    JobError::retryable("panic", format!("its runner panicked: {said}"))
}

/// A task that ends with its handle: a dropped future must not leave a runner behind.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> Future for AbortOnDrop<T> {
    type Output = <JoinHandle<T> as Future>::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_unpin(cx)
    }
}
