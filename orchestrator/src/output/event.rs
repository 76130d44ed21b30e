//! Events of a run, a line each.

use chrono::TimeZone;
use legwork_shared::id::JobId;
use legwork_shared::job::{BlockedOn, Delay, EventKind, FailReason, JobState, UpdateMode};
use legwork_shared::wire::EventView;

use super::{dim, human, paint_job_state, without_controls};

/// The longest error that a line shows, in characters; the whole one is in `status` and `logs`.
const ERROR_CHARS_MAX: usize = 160;

/// An event as a line: time, job, what happened.
#[must_use]
pub fn event_line<Z: TimeZone>(event: &EventView, zone: &Z, name_of: &dyn Fn(JobId) -> Option<String>) -> String {
    let time = dim(&human::clock_time(event.at_ms, zone));
    let subject = event.name.clone().unwrap_or_else(|| "run".to_owned());
    let text = match state_of(&event.kind) {
        Some(state) => paint_job_state(state, &words(event, name_of)),
        None => words(event, name_of),
    };
    format!(
        "{time}  {}  {text}",
        human::first_line(&without_controls(&subject), usize::MAX)
    )
}

/// The state that an event leads to, for its colour.
fn state_of(kind: &EventKind) -> Option<JobState> {
    match kind {
        EventKind::Started { .. } => Some(JobState::Running),
        EventKind::Succeeded => Some(JobState::Succeeded),
        EventKind::Failed { .. } => Some(JobState::Failed),
        EventKind::Cancelled { .. } | EventKind::CancelRequested { .. } => Some(JobState::Cancelled),
        EventKind::Skipped { .. } | EventKind::Held { .. } => Some(JobState::Skipped),
        EventKind::AttemptFailed { .. } | EventKind::AttemptLost { .. } | EventKind::Scheduled { .. } => {
            Some(JobState::Scheduled)
        }
        EventKind::Submitted
        | EventKind::Paused { .. }
        | EventKind::Resumed { .. }
        | EventKind::Blocked { .. }
        | EventKind::Queued
        | EventKind::Retried { .. }
        | EventKind::UpdateSent { .. }
        | EventKind::UpdateApplied { .. }
        | EventKind::UpdatesUnread { .. }
        | EventKind::Stepped { .. }
        | EventKind::TodosChanged { .. } => None,
    }
}

fn words(event: &EventView, name_of: &dyn Fn(JobId) -> Option<String>) -> String {
    match &event.kind {
        EventKind::Submitted => "submitted".into(),
        EventKind::Paused { by } => format!("paused by {}", without_controls(by)),
        EventKind::Resumed { by } => format!("resumed by {}", without_controls(by)),
        EventKind::Blocked {
            on: BlockedOn::Dependencies,
        } => "waits for what it depends on".into(),
        EventKind::Blocked {
            on: BlockedOn::Children,
        } => "waits for the jobs it handed out".into(),
        EventKind::Scheduled { due, reason } => {
            let wait = human::duration(due.since_ms(event.at_ms));
            match reason {
                Delay::Start => format!("starts in {wait}"),
                Delay::Retry => format!("is tried again in {wait}"),
                Delay::Provider => format!("goes on in {wait}, when the provider is ready"),
            }
        }
        EventKind::Queued => "queued".into(),
        EventKind::Started { attempt, .. } => format!("started, attempt {attempt}"),
        EventKind::AttemptFailed { attempt, error } => {
            format!("attempt {attempt} failed: {}", error_text(&error.message))
        }
        EventKind::AttemptLost { attempt, losses } => {
            format!("attempt {attempt} was lost with its worker ({losses} in a row)")
        }
        EventKind::Succeeded => "succeeded".into(),
        EventKind::Failed { error } => format!("failed{}: {}", reason_text(error.reason), error_text(&error.message)),
        EventKind::CancelRequested { by } => format!("asked to stop by {}", without_controls(by)),
        EventKind::Cancelled { by } => format!("cancelled by {}", without_controls(by)),
        EventKind::Skipped { cause } => {
            format!(
                "skipped because of {}",
                name_of(*cause).unwrap_or_else(|| cause.to_string())
            )
        }
        EventKind::Held { cause } => {
            format!(
                "held because of {}, until somebody retries that or cancels this",
                name_of(*cause).unwrap_or_else(|| cause.to_string())
            )
        }
        EventKind::Retried { by, generation } => {
            format!("retried by {}, generation {generation}", without_controls(by))
        }
        EventKind::UpdateSent { mode, .. } => match mode {
            UpdateMode::Enqueue => "an update was sent".into(),
            UpdateMode::Interrupt => "an update was sent and interrupts".into(),
        },
        EventKind::UpdateApplied { step, .. } => format!("read the update at step {step}"),
        EventKind::UpdatesUnread { count: 1 } => "ended without having read an update".into(),
        EventKind::UpdatesUnread { count } => format!("ended without having read {count} updates"),
        EventKind::Stepped { step, tokens, tool } => {
            let tool = tool.as_ref().map(|tool| format!(" · {}", error_text(tool)));
            format!("step {step} · {}{}", human::tokens(*tokens), tool.unwrap_or_default())
        }
        EventKind::TodosChanged { completed, total } => format!("{completed} of {total} todos done"),
    }
}

fn error_text(message: &str) -> String {
    human::first_line(&without_controls(message), ERROR_CHARS_MAX)
}

fn reason_text(reason: FailReason) -> String {
    match reason {
        FailReason::Error => String::new(),
        FailReason::Timeout
        | FailReason::Budget
        | FailReason::Limit
        | FailReason::Schema
        | FailReason::Poison
        | FailReason::QueueTimeout => format!(" ({})", reason.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use chrono::Utc;
    use legwork_shared::id::{RunId, WorkerId};
    use legwork_shared::job::JobError;
    use legwork_shared::time::Timestamp;

    use super::*;

    #[test]
    fn events_read_as_a_diary() {
        let start = Timestamp(1_796_068_212_000);
        let id = JobId::new(start, 1);
        let event = |seq, job: Option<&str>, kind| EventView {
            seq,
            at_ms: start + seq * 1_000,
            run: RunId::new(start, 1),
            job: job.map(|_| id),
            name: job.map(str::to_owned),
            kind,
        };
        let worker = WorkerId::new(start, 1);
        let error = JobError::retryable("overloaded", "the provider is\x1b[2J overloaded\nsecond line");
        let events = [
            event(1, None, EventKind::Submitted),
            event(2, Some("reader"), EventKind::Started { attempt: 1, worker }),
            event(
                3,
                Some("reader"),
                EventKind::Stepped {
                    step: 2,
                    tokens: 1_234,
                    tool: Some("grep".into()),
                },
            ),
            event(4, Some("reader"), EventKind::AttemptFailed { attempt: 1, error }),
            event(
                5,
                Some("reader"),
                EventKind::Scheduled {
                    due: start + 7_000,
                    reason: Delay::Retry,
                },
            ),
            event(6, Some("writer"), EventKind::Skipped { cause: id }),
        ];
        let name_of = |_| Some("reader".to_owned());
        let text: Vec<String> = events.iter().map(|event| event_line(event, &Utc, &name_of)).collect();
        insta::assert_snapshot!(strip_str(&text.join("\n")), @r"
        19:50:13  run  submitted
        19:50:14  reader  started, attempt 1
        19:50:15  reader  step 2 · 1.2k tokens · grep
        19:50:16  reader  attempt 1 failed: the provider is␛[2J overloaded
        19:50:17  reader  is tried again in 2.0 s
        19:50:18  writer  skipped because of reader
        ");
    }
}
