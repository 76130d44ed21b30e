//! The one total, pure transition function of a job.

mod attempt;
mod request;

use serde::{Deserialize, Serialize};

use super::{CancelRequest, Command, Delay, EventKind, Job, JobState, Lease, LeaseToken, Outcome, Phase};
use crate::budget::Counter;
use crate::time::Timestamp;

/// What the run's counters change by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Which one.
    pub counter: Counter,
    /// By how much.
    pub add: i64,
    /// Whether the commit is refused when the counter would pass its bound.
    pub must_fit: bool,
}

/// What a command makes of a job: data for one commit, nothing done yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// The next record, its version one higher.
    pub job: Job,
    /// What happened, in order.
    pub events: Vec<EventKind>,
    /// What it costs the run.
    pub charges: Vec<Charge>,
}

impl Transition {
    /// This transition and `next`, which was applied to its job, as the one change of one commit.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        let version = self.job.version;
        self.job = next.job;
        self.job.version = version;
        self.events.extend(next.events);
        self.charges.extend(next.charges);
        self
    }

    /// Whether the job has just ended, so that its dependents must be settled in the same commit.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.events.iter().any(EventKind::is_terminal)
    }
}

/// Why a command does not apply. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The attempt no longer holds the job; its worker must drop the work.
    #[error("attempt {attempt} no longer holds {job}")]
    Fenced {
        /// The job.
        job: crate::id::JobId,
        /// The attempt that tried to write.
        attempt: u32,
    },
    /// The state does not allow it; a job that has ended stays as it is.
    #[error("a {state} job cannot be asked to {asked}")]
    State {
        /// Where the job stands.
        state: JobState,
        /// What was asked, as a verb.
        asked: &'static str,
    },
    /// The job's own budget does not allow the next call.
    #[error("the job may use {limit} {what} and would need {needed}")]
    Budget {
        /// Which limit.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What would be used.
        needed: u64,
    },
}

/// Applies `command` to `job` at `now`.
///
/// # Errors
/// [`Refusal`] if the command does not apply in the job's state; the job is unchanged.
pub fn apply(job: &Job, command: &Command, now: Timestamp) -> Result<Transition, Refusal> {
    let step = Step { job, now };
    match command {
        Command::Release => step.release(),
        Command::Due => step.due(),
        Command::Claim { lease } => step.claim(*lease),
        Command::Checkpoint { token, report } => step.checkpoint(*token, report),
        Command::Settle { token, verdict } => step.settle(*token, verdict),
        Command::Lose { token } => step.lose(*token),
        Command::Cancel { by, reason } => step.cancel(by, reason),
        Command::Skip { cause } => match job.phase {
            Phase::Blocked { .. } => Ok(step.end(Outcome::Skipped { cause: *cause })),
            Phase::Scheduled { .. } | Phase::Queued { .. } | Phase::Running { .. } | Phase::Ended { .. } => {
                Err(step.refused("be skipped"))
            }
        },
        Command::QueueTimeout => step.queue_timeout(),
        Command::Retry { by, unmet } => step.retry(by, *unmet),
        Command::Update { id, mode } => match job.phase {
            Phase::Blocked { .. } | Phase::Scheduled { .. } | Phase::Queued { .. } | Phase::Running { .. } => {
                let mut next = step.next();
                next.job.mail_sent += 1;
                next.events.push(EventKind::UpdateSent {
                    update: *id,
                    mode: *mode,
                });
                Ok(next)
            }
            Phase::Ended { .. } => Err(step.refused("take an update")),
        },
    }
}

/// One job at one moment.
struct Step<'a> {
    job: &'a Job,
    now: Timestamp,
}

impl Step<'_> {
    fn refused(&self, asked: &'static str) -> Refusal {
        Refusal::State {
            state: self.job.state(),
            asked,
        }
    }

    /// A transition that changes nothing but the version.
    fn next(&self) -> Transition {
        let mut job = self.job.clone();
        job.version += 1;
        Transition {
            job,
            events: Vec::new(),
            charges: Vec::new(),
        }
    }

    /// A transition into `phase`: books the time spent in the one before.
    fn enter(&self, phase: Phase) -> Transition {
        let mut next = self.next();
        let spent_ms = self.now.since_ms(self.job.phase.since());
        let times = &mut next.job.times;
        match self.job.phase {
            Phase::Blocked { .. } => times.blocked_ms += spent_ms,
            Phase::Scheduled { .. } => times.scheduled_ms += spent_ms,
            Phase::Queued { .. } => times.queued_ms += spent_ms,
            Phase::Running { .. } => times.running_ms += spent_ms,
            Phase::Ended { .. } => {}
        }
        if matches!(self.job.phase, Phase::Running { .. }) {
            // The provider may have billed the call in flight: what was reserved and not settled counts as spent.
            if let Some(reserved) = next.job.reserved.take() {
                next.job.usage = next.job.usage.plus(&reserved.as_usage());
            }
        }
        next.job.phase = phase;
        next
    }

    fn queue(&self) -> Transition {
        let mut next = self.enter(Phase::Queued { since: self.now });
        next.events.push(EventKind::Queued);
        next
    }

    fn schedule(&self, due: Timestamp, reason: Delay) -> Transition {
        let mut next = self.enter(Phase::Scheduled {
            due,
            reason,
            since: self.now,
        });
        next.events.push(EventKind::Scheduled { due, reason });
        next
    }

    fn end(&self, outcome: Outcome) -> Transition {
        let event = match &outcome {
            Outcome::Succeeded { .. } => EventKind::Succeeded,
            Outcome::Failed { error } => EventKind::Failed { error: error.clone() },
            Outcome::Cancelled { by, .. } => EventKind::Cancelled { by: by.clone() },
            Outcome::Skipped { cause } => EventKind::Skipped { cause: *cause },
        };
        let mut next = self.enter(Phase::Ended { outcome, at: self.now });
        next.job.last_error = None;
        let unread = next.job.mail_waiting();
        if unread > 0 {
            next.events.push(EventKind::UpdatesUnread { count: unread });
        }
        next.events.push(event);
        next.charges.push(Charge {
            counter: Counter::Open,
            add: -1,
            must_fit: false,
        });
        next
    }

    fn end_as_requested(&self, request: &CancelRequest) -> Transition {
        self.end(Outcome::Cancelled {
            by: request.by.clone(),
            reason: request.reason.clone(),
        })
    }

    /// The lease, if `token` is the one that holds the job.
    fn held(&self, token: LeaseToken) -> Result<Lease, Refusal> {
        match &self.job.phase {
            Phase::Running { lease } if lease.token == token => Ok(*lease),
            Phase::Running { .. }
            | Phase::Blocked { .. }
            | Phase::Scheduled { .. }
            | Phase::Queued { .. }
            | Phase::Ended { .. } => Err(Refusal::Fenced {
                job: self.job.id,
                attempt: token.attempt,
            }),
        }
    }

    fn release(&self) -> Result<Transition, Refusal> {
        match self.job.phase {
            Phase::Blocked { .. } => Ok(match self.job.spec.start_at {
                Some(start) if start > self.now && self.job.attempt == 0 => self.schedule(start, Delay::Start),
                Some(_) | None => self.queue(),
            }),
            Phase::Scheduled { .. } | Phase::Queued { .. } | Phase::Running { .. } | Phase::Ended { .. } => {
                Err(self.refused("be released"))
            }
        }
    }

    fn due(&self) -> Result<Transition, Refusal> {
        match self.job.phase {
            Phase::Scheduled { due, .. } if due <= self.now => Ok(self.queue()),
            Phase::Scheduled { .. }
            | Phase::Blocked { .. }
            | Phase::Queued { .. }
            | Phase::Running { .. }
            | Phase::Ended { .. } => Err(self.refused("start now")),
        }
    }
}

#[cfg(test)]
mod tests;
