//! Every command in every state.

mod stories;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::budget::JobLimits;
use crate::id::{JobId, RunId, UpdateId, WorkerId};
use crate::job::{BlockedOn, Checkpoint, JobError, JobResult, JobSpec, Severity, UpdateMode, Verdict};

const NOW: Timestamp = Timestamp(10_000);
const LATER: Timestamp = Timestamp(60_000);

fn spec(limits: JobLimits) -> Arc<JobSpec> {
    let text = |text: &str| text.to_owned();
    Arc::new(JobSpec {
        name: text("job"),
        agent: text("agent"),
        ad_hoc: None,
        description: text("do it"),
        context: None,
        queue: text("default"),
        priority: 0,
        start_at: None,
        parent: None,
        depth: 0,
        call: None,
        limits,
        key: None,
    })
}

fn token(attempt: u32) -> LeaseToken {
    LeaseToken {
        job: JobId::new(NOW, 1),
        attempt,
        secret: 99,
    }
}

fn lease(attempt: u32) -> Lease {
    Lease {
        token: token(attempt),
        worker: WorkerId::new(NOW, 3),
        since: NOW,
        until: NOW + 30_000,
    }
}

fn error(severity: Severity) -> JobError {
    let mut error = JobError::retryable("overloaded", "try later");
    error.severity = severity;
    error
}

fn outcome(state: JobState) -> Outcome {
    match state {
        JobState::Failed => Outcome::Failed {
            error: error(Severity::Fatal),
        },
        JobState::Cancelled => Outcome::Cancelled {
            by: "test".into(),
            reason: String::new(),
        },
        JobState::Skipped => Outcome::Skipped {
            cause: JobId::new(NOW, 7),
        },
        _ => Outcome::Succeeded {
            result: JobResult::default(),
        },
    }
}

/// A job in `state`, since [`NOW`]; a running one in its first attempt.
fn job(state: JobState) -> Job {
    job_with(state, JobLimits::default())
}

fn job_with(state: JobState, limits: JobLimits) -> Job {
    let phase = match state {
        JobState::Blocked => Phase::Blocked {
            on: BlockedOn::Dependencies,
            since: NOW,
        },
        JobState::Scheduled => Phase::Scheduled {
            due: NOW,
            reason: Delay::Start,
            since: NOW,
        },
        JobState::Queued => Phase::Queued { since: NOW },
        JobState::Running => Phase::Running { lease: lease(1) },
        ended => Phase::Ended {
            outcome: outcome(ended),
            at: NOW,
        },
    };
    let mut job = Job::new(JobId::new(NOW, 1), RunId::new(NOW, 2), spec(limits), phase, NOW);
    if state == JobState::Running {
        job.attempt = 1;
    }
    job
}

fn report() -> Checkpoint {
    Checkpoint {
        entries: 1,
        lease_until: NOW + 90_000,
        ..Checkpoint::default()
    }
}

fn settle(verdict: Verdict) -> Command {
    Command::Settle {
        token: token(1),
        verdict,
    }
}

/// A command with the state it leads to from each state; `None` where it is refused.
type Row = (&'static str, Command, [Option<JobState>; 8]);

/// A row of a command that applies in one state only.
fn only(name: &'static str, command: Command, at: JobState, to: JobState) -> Row {
    (name, command, JobState::ALL.map(|state| (state == at).then_some(to)))
}

fn of_attempts() -> Vec<Row> {
    use JobState::{Blocked, Failed, Queued, Running, Scheduled, Succeeded};
    let ends = |name, verdict, to| only(name, settle(verdict), Running, to);
    let older = Command::Checkpoint {
        token: token(0),
        report: report(),
    };
    let checkpoint = Command::Checkpoint {
        token: token(1),
        report: report(),
    };
    vec![
        only("claim", Command::Claim { lease: lease(1) }, Queued, Running),
        (
            "claim with another number",
            Command::Claim { lease: lease(2) },
            [None; 8],
        ),
        only("checkpoint", checkpoint, Running, Running),
        ("checkpoint of an older attempt", older, [None; 8]),
        ends("succeed", Verdict::Succeeded(JobResult::default()), Succeeded),
        ends("answer", Verdict::Answered(JobResult::default()), Succeeded),
        ends("fail for good", Verdict::Failed(error(Severity::Fatal)), Failed),
        ends("fail", Verdict::Failed(error(Severity::Retryable)), Scheduled),
        ends("wait", Verdict::Waiting(BlockedOn::Children), Blocked),
        ends("yield", Verdict::Yielded { due: NOW }, Queued),
        ends("yield until later", Verdict::Yielded { due: LATER + 1 }, Scheduled),
        ("stop unasked", settle(Verdict::Cancelled), [None; 8]),
        only("lose", Command::Lose { token: token(1) }, Running, Queued),
        ("lose an older attempt", Command::Lose { token: token(0) }, [None; 8]),
    ]
}

fn table() -> Vec<Row> {
    use JobState::{Blocked as B, Cancelled as C, Failed as F, Queued as Q, Running as R, Scheduled as S, Skipped};
    let none = None;
    let cancel = Command::Cancel {
        by: "test".into(),
        reason: String::new(),
    };
    let update = Command::Update {
        id: UpdateId::new(NOW, 4),
        mode: UpdateMode::Enqueue,
    };
    let retry = |unmet| Command::Retry {
        by: "test".into(),
        unmet,
    };
    let mut rows = of_attempts();
    rows.extend([
        only("release", Command::Release, B, Q),
        only("due", Command::Due, S, Q),
        (
            "cancel",
            cancel,
            [Some(C), Some(C), Some(C), Some(R), none, none, none, none],
        ),
        only(
            "skip",
            Command::Skip {
                cause: JobId::new(NOW, 7),
            },
            B,
            Skipped,
        ),
        only("time out in the queue", Command::QueueTimeout, Q, F),
        (
            "retry",
            retry(false),
            [none, none, none, none, none, Some(Q), Some(Q), Some(Q)],
        ),
        (
            "retry and wait",
            retry(true),
            [none, none, none, none, none, Some(B), Some(B), Some(B)],
        ),
        (
            "update",
            update,
            [Some(B), Some(S), Some(Q), Some(R), none, none, none, none],
        ),
    ]);
    rows
}

#[test]
fn every_command_is_answered_in_every_state() {
    let limits = JobLimits {
        queue_timeout_ms: Some(1_000),
        ..JobLimits::default()
    };
    for (name, command, expected) in table() {
        for (state, expected) in JobState::ALL.into_iter().zip(expected) {
            let before = job_with(state, limits);
            let found = apply(&before, &command, LATER);
            assert_eq!(
                found.as_ref().ok().map(|t| t.job.state()),
                expected,
                "{name} a {state} job: {found:?}"
            );
            if let Ok(transition) = found {
                assert_eq!(transition.job.version, before.version + 1, "{name} a {state} job");
            }
        }
    }
}

#[test]
fn every_transition_of_the_design_is_covered_and_no_other_exists() {
    use JobState::{Blocked, Cancelled, Failed, Queued, Running, Scheduled, Skipped, Succeeded};
    let limits = JobLimits {
        queue_timeout_ms: Some(1_000),
        ..JobLimits::default()
    };
    let one_loss = JobLimits {
        losses: Some(1),
        ..limits
    };
    let mut found = BTreeSet::new();
    for (_, command, _) in table() {
        for state in JobState::ALL {
            let request = CancelRequest {
                by: "test".into(),
                reason: String::new(),
                at: NOW,
            };
            let cancelling = Job {
                cancel: Some(request),
                ..job_with(state, limits)
            };
            for before in [job_with(state, limits), job_with(state, one_loss), cancelling] {
                let after = apply(&before, &command, LATER).map(|transition| transition.job.state());
                found.extend(after.ok().filter(|after| *after != state).map(|after| (state, after)));
            }
        }
    }
    let designed = [
        (Blocked, vec![Queued, Cancelled, Skipped]),
        (Scheduled, vec![Queued, Cancelled]),
        (Queued, vec![Running, Failed, Cancelled]),
        (Running, vec![Blocked, Scheduled, Queued, Succeeded, Failed, Cancelled]),
        (Failed, vec![Blocked, Queued]),
        (Cancelled, vec![Blocked, Queued]),
        (Skipped, vec![Blocked, Queued]),
    ];
    let pairs = |(from, to): (JobState, Vec<JobState>)| to.into_iter().map(move |to| (from, to));
    assert_eq!(found, designed.into_iter().flat_map(pairs).collect());
}
