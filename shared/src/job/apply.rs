//! The one total, pure transition function of a job.

use serde::{Deserialize, Serialize};

use super::{
    BlockedOn, CancelRequest, Checkpoint, Command, Delay, EventKind, FailReason, Job, JobError, JobResult, JobState,
    Lease, LeaseToken, Outcome, Phase, Severity, Verdict, retry,
};
use crate::budget::{Counter, Reservation};
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

    fn claim(&self, lease: Lease) -> Result<Transition, Refusal> {
        match self.job.phase {
            Phase::Queued { .. } if lease.token.attempt == self.job.attempt + 1 => {
                let mut next = self.enter(Phase::Running { lease });
                next.job.attempt = lease.token.attempt;
                next.job.started_at.get_or_insert(self.now);
                next.events.push(EventKind::Started {
                    attempt: next.job.attempt,
                    worker: lease.worker,
                });
                Ok(next)
            }
            Phase::Queued { .. }
            | Phase::Blocked { .. }
            | Phase::Scheduled { .. }
            | Phase::Running { .. }
            | Phase::Ended { .. } => Err(self.refused("be claimed")),
        }
    }

    fn checkpoint(&self, token: LeaseToken, report: &Checkpoint) -> Result<Transition, Refusal> {
        let mut lease = self.held(token)?;
        let mut next = self.next();
        let before = next.job.reserved.take().unwrap_or_default();
        next.job.usage = next.job.usage.plus(&report.spent);
        let ahead = report.reserve.unwrap_or_default();
        if report.reserve.is_some() {
            self.job.spec.limits.allow(&next.job.usage, &ahead)?;
        }
        next.job.reserved = report.reserve;
        next.charges = settle_charges(&before, report, &ahead);
        lease.until = lease.until.max(report.lease_until);
        next.job.phase = Phase::Running { lease };
        if report.entries > 0 {
            next.job.journal_len += report.entries;
            next.job.losses = 0;
        }
        next.job.progress = report.progress.clone();
        let step = report.progress.step;
        for update in &report.applied {
            next.job.mail_applied += 1;
            next.events.push(EventKind::UpdateApplied { update: *update, step });
        }
        if step > self.job.progress.step {
            let (tokens, tool) = (next.job.usage.total_tokens(), report.progress.last_tool.clone());
            next.events.push(EventKind::Stepped { step, tokens, tool });
        }
        if let Some(todos) = &report.todos {
            let completed = todos
                .iter()
                .filter(|todo| todo.status == super::TodoStatus::Completed)
                .count();
            next.events.push(EventKind::TodosChanged {
                completed,
                total: todos.len(),
            });
            next.job.todos.clone_from(todos);
        }
        Ok(next)
    }

    fn settle(&self, token: LeaseToken, verdict: &Verdict) -> Result<Transition, Refusal> {
        self.held(token)?;
        // A cancel that was accepted beats whatever was not yet committed.
        if let Some(request) = &self.job.cancel {
            return Ok(self.end_as_requested(request));
        }
        Ok(match verdict {
            Verdict::Succeeded(result) => self.succeed(result),
            Verdict::Failed(error) => self.fail(error),
            Verdict::Waiting(on) => self.wait(*on),
            Verdict::Yielded { due } if *due > self.now => self.schedule(*due, Delay::Provider),
            Verdict::Yielded { .. } => self.queue(),
            Verdict::Cancelled => return Err(self.refused("stop without being asked to")),
        })
    }

    fn succeed(&self, result: &JobResult) -> Transition {
        self.end(Outcome::Succeeded { result: result.clone() })
    }

    fn wait(&self, on: BlockedOn) -> Transition {
        let mut next = self.enter(Phase::Blocked { on, since: self.now });
        next.events.push(EventKind::Blocked { on });
        next
    }

    fn fail(&self, error: &JobError) -> Transition {
        let failures = self.job.failures + 1;
        let again = error.severity == Severity::Retryable && failures < self.job.spec.limits.attempts();
        let mut next = if again {
            let wait_ms = retry::delay_ms(failures, error.retry_after_ms, self.job.id.seed());
            let mut next = self.schedule(self.now + wait_ms, Delay::Retry);
            next.events.insert(
                0,
                EventKind::AttemptFailed {
                    attempt: self.job.attempt,
                    error: error.clone(),
                },
            );
            next.charges.push(Charge {
                counter: Counter::Retries,
                add: 1,
                must_fit: true,
            });
            next.job.last_error = Some(error.clone());
            next
        } else {
            self.end(Outcome::Failed { error: error.clone() })
        };
        next.job.failures = failures;
        next
    }

    fn lose(&self, token: LeaseToken) -> Result<Transition, Refusal> {
        self.held(token)?;
        let losses = self.job.losses + 1;
        let mut next = if let Some(request) = &self.job.cancel {
            self.end_as_requested(request)
        } else if losses >= self.job.spec.limits.losses() {
            let message = format!(
                "its worker was lost {losses} times in a row without progress; see the workers' logs, then retry it"
            );
            self.end(Outcome::Failed {
                error: JobError::fatal(FailReason::Poison, "poison", message),
            })
        } else {
            self.queue()
        };
        next.events.insert(
            0,
            EventKind::AttemptLost {
                attempt: token.attempt,
                losses,
            },
        );
        next.job.losses = losses;
        Ok(next)
    }

    fn cancel(&self, by: &str, reason: &str) -> Result<Transition, Refusal> {
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

    fn queue_timeout(&self) -> Result<Transition, Refusal> {
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

    fn retry(&self, by: &str, unmet: bool) -> Result<Transition, Refusal> {
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

/// What the run's counters change by when `report` settles `before` and reserves `ahead`.
fn settle_charges(before: &Reservation, report: &Checkpoint, ahead: &Reservation) -> Vec<Charge> {
    let spent = &report.spent;
    let change = |used: u64, old: u64, new: u64| {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        signed(used).saturating_sub(signed(old)).saturating_add(signed(new))
    };
    let input = change(spent.input_tokens, before.input_tokens, ahead.input_tokens);
    let output = change(spent.output_tokens, before.output_tokens, ahead.output_tokens);
    let rows = [
        (Counter::InputTokens, input),
        (Counter::OutputTokens, output),
        (Counter::Tokens, input.saturating_add(output)),
        (
            Counter::Cost,
            change(spent.cost_micro_usd, before.cost_micro_usd, ahead.cost_micro_usd),
        ),
        (Counter::ToolCalls, change(spent.tool_calls, 0, 0)),
    ];
    let must_fit = report.reserve.is_some();
    rows.into_iter()
        .filter(|(_, add)| *add != 0)
        .map(|(counter, add)| Charge { counter, add, must_fit })
        .collect()
}

#[cfg(test)]
#[path = "apply_tests/mod.rs"]
mod tests;
