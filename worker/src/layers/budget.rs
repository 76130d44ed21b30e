//! The time that an attempt may take.

use std::time::Duration;

use legwork_shared::job::{FailReason, JobError, Verdict};

use super::{Around, Inner};
use crate::pump::Work;

/// Ends attempts that run longer than their job allows.
#[derive(Debug, Clone, Copy)]
pub struct Budget;

impl Around for Budget {
    async fn around(self, work: Work, mut inner: Inner) -> Verdict {
        let Some(timeout_ms) = work.attempt.job().spec.limits.timeout_ms else {
            return inner.await;
        };
        tokio::select! {
            biased;
            verdict = &mut inner => verdict,
            () = tokio::time::sleep(Duration::from_millis(timeout_ms)) => {
                work.attempt.control().stop();
                // The layer inside bounds this wait by the grace period.
                Verdict::Failed(timed_out(timeout_ms, inner.await))
            }
        }
    }
}

/// The failure of an attempt whose time is up, with what its runner could save in the grace period.
fn timed_out(timeout_ms: u64, verdict: Verdict) -> JobError {
    let message =
        format!("the attempt ran longer than the {timeout_ms} ms that it may; raise timeout_ms or ask for less");
    let mut error = JobError::fatal(FailReason::Timeout, "timeout", message);
    error.partial = match verdict {
        Verdict::Failed(late) => late.partial,
        Verdict::Succeeded(late) | Verdict::Answered(late) => Some(late.text),
        Verdict::Waiting(_) | Verdict::Yielded { .. } | Verdict::Cancelled => None,
    };
    error
}
