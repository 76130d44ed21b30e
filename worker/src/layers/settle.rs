//! The outermost layer: the verdict becomes a commit.

use legwork_shared::job::{Job, Verdict};

use super::{Around, Inner};
use crate::attempt::Settled;
use crate::pump::Work;

/// Writes each verdict into the store before the slot is free again.
#[derive(Debug, Clone, Copy)]
pub struct Settle;

impl Around for Settle {
    async fn around(self, work: Work, inner: Inner) -> Verdict {
        let verdict = inner.await;
        // In a box of its own, which is there for the moment of the commit and not for as long as the attempt.
        let settled = Box::pin(work.attempt.settle(verdict.clone())).await;
        let job = work.attempt.job();
        let attempt = work.attempt.token().attempt;
        match settled {
            Ok(Settled::As(_)) => told(&job, attempt),
            Ok(Settled::Fenced) => tracing::warn!(
                job.id = %job.id, attempt,
                "attempt {attempt} of job {} was taken over by somebody else; its work is dropped", job.id
            ),
            Err(error) => tracing::error!(
                job.id = %job.id, attempt,
                "the end of attempt {attempt} of job {} could not be written, so it will be made again: {error}", job.id
            ),
        }
        verdict
    }
}

fn told(job: &Job, attempt: u32) {
    let (id, state) = (job.id, job.state());
    if state.is_terminal() {
        tracing::info!(job.id = %id, attempt, "job {id} {state} on attempt {attempt}");
    } else {
        tracing::debug!(job.id = %id, attempt, "job {id} is {state} after attempt {attempt}");
    }
}
