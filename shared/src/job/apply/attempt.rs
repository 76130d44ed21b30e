//! What an attempt does to its job: it begins, reports, ends, or is lost.

use super::{Charge, Refusal, Step, Transition};
use crate::budget::{Counter, Reservation};
use crate::job::{
    BlockedOn, Checkpoint, Delay, EventKind, FailReason, JobError, JobResult, Lease, LeaseToken, Outcome, Phase,
    Severity, TodoStatus, Verdict, retry,
};

impl Step<'_> {
    pub(super) fn claim(&self, lease: Lease) -> Result<Transition, Refusal> {
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

    pub(super) fn checkpoint(&self, token: LeaseToken, report: &Checkpoint) -> Result<Transition, Refusal> {
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
            let completed = todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
            next.events.push(EventKind::TodosChanged {
                completed,
                total: todos.len(),
            });
            next.job.todos.clone_from(todos);
        }
        Ok(next)
    }

    pub(super) fn settle(&self, token: LeaseToken, verdict: &Verdict) -> Result<Transition, Refusal> {
        self.held(token)?;
        // A cancel that was accepted beats whatever was not yet committed.
        if let Some(request) = &self.job.cancel {
            return Ok(self.end_as_requested(request));
        }
        Ok(match verdict {
            Verdict::Answered(_) if self.job.mail_waiting() > 0 => self.queue(),
            Verdict::Succeeded(result) | Verdict::Answered(result) => self.succeed(result),
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

    pub(super) fn wait(&self, on: BlockedOn) -> Transition {
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

    pub(super) fn lose(&self, token: LeaseToken) -> Result<Transition, Refusal> {
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
