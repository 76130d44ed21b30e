//! What people and clocks ask of a job from outside: cancel, retry, a time-out in the queue.

use super::{Charge, Refusal, Step, Transition};
use crate::budget::Counter;
use crate::job::{BlockedOn, CancelRequest, EventKind, FailReason, JobError, Outcome, Phase};

impl Step<'_> {
    pub(super) fn cancel(&self, by: &str, reason: &str) -> Result<Transition, Refusal> {
        match &self.job.phase {
            Phase::Blocked { .. } | Phase::Scheduled { .. } | Phase::Queued { .. } => {
                Ok(self.end(Outcome::Cancelled {
                    by: by.to_owned(),
                    reason: reason.to_owned(),
                }))
            }
            Phase::Running { .. } => {
                let mut next = self.next();
                // The first request counts; asking twice is no error and changes nothing.
                if next.job.cancel.is_none() {
                    let request = CancelRequest {
                        by: by.to_owned(),
                        reason: reason.to_owned(),
                        at: self.now,
                    };
                    next.job.cancel = Some(request);
                    next.events.push(EventKind::CancelRequested { by: by.to_owned() });
                }
                Ok(next)
            }
            Phase::Ended { .. } => Err(self.refused("be cancelled")),
        }
    }

    pub(super) fn queue_timeout(&self) -> Result<Transition, Refusal> {
        let limit_ms = self.job.spec.limits.queue_timeout_ms;
        match (&self.job.phase, limit_ms) {
            (Phase::Queued { since }, Some(limit_ms)) if self.job.attempt == 0 && *since + limit_ms <= self.now => {
                let message = format!("no worker took it within {limit_ms} ms; start a worker for its queue");
                let error = JobError::fatal(FailReason::QueueTimeout, "queue_timeout", message);
                Ok(self.end(Outcome::Failed { error }))
            }
            (
                Phase::Queued { .. }
                | Phase::Blocked { .. }
                | Phase::Scheduled { .. }
                | Phase::Running { .. }
                | Phase::Ended { .. },
                _,
            ) => Err(self.refused("time out in its queue")),
        }
    }

    pub(super) fn retry(&self, by: &str, unmet: bool) -> Result<Transition, Refusal> {
        match &self.job.phase {
            Phase::Ended {
                outcome: Outcome::Failed { .. } | Outcome::Cancelled { .. } | Outcome::Skipped { .. },
                ..
            } => {
                let mut next = if unmet {
                    self.wait(BlockedOn::Dependencies)
                } else {
                    self.queue()
                };
                next.job.generation += 1;
                next.job.failures = 0;
                next.job.losses = 0;
                next.job.cancel = None;
                let generation = next.job.generation;
                next.events.insert(
                    0,
                    EventKind::Retried {
                        by: by.to_owned(),
                        generation,
                    },
                );
                next.charges.push(Charge {
                    counter: Counter::Open,
                    add: 1,
                    must_fit: false,
                });
                Ok(next)
            }
            Phase::Ended {
                outcome: Outcome::Succeeded { .. },
                ..
            }
            | Phase::Blocked { .. }
            | Phase::Scheduled { .. }
            | Phase::Queued { .. }
            | Phase::Running { .. } => Err(self.refused("be retried")),
        }
    }
}
