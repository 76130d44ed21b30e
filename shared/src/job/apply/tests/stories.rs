//! What a person would tell of a job: cancels, attempts, losses, budgets, times.

use super::*;
use crate::budget::{Reservation, Usage};
use crate::job::{FailReason, Progress, Times, Todo, TodoStatus};

#[test]
fn a_cancel_beats_a_result_that_was_not_yet_committed() {
    let asked = apply(
        &job(JobState::Running),
        &Command::Cancel {
            by: "me".into(),
            reason: "enough".into(),
        },
        NOW,
    )
    .expect("asked");
    assert_eq!(asked.events, [EventKind::CancelRequested { by: "me".into() }]);
    let verdicts = [
        Verdict::Succeeded(JobResult::default()),
        Verdict::Failed(error(Severity::Retryable)),
        Verdict::Waiting(BlockedOn::Children),
        Verdict::Yielded { due: NOW },
        Verdict::Cancelled,
    ];
    for verdict in verdicts {
        let ended = apply(&asked.job, &settle(verdict), LATER).expect("ended");
        let outcome = Outcome::Cancelled {
            by: "me".into(),
            reason: "enough".into(),
        };
        assert_eq!(ended.job.phase, Phase::Ended { outcome, at: LATER });
    }
    let lost = apply(&asked.job, &Command::Lose { token: token(1) }, LATER).expect("ended");
    assert_eq!(lost.job.state(), JobState::Cancelled, "no worker is needed to end it");
}

#[test]
fn a_second_cancel_changes_nothing() {
    let cancel = |by: &str| Command::Cancel {
        by: by.into(),
        reason: String::new(),
    };
    let first = apply(&job(JobState::Running), &cancel("a"), NOW).expect("asked");
    let second = apply(&first.job, &cancel("b"), LATER).expect("asked again");
    assert_eq!(second.events, []);
    assert_eq!(second.job.cancel, first.job.cancel);
}

#[test]
fn attempts_are_spent_and_then_the_job_has_failed() {
    let mut at = job_with(
        JobState::Queued,
        JobLimits {
            attempts: Some(3),
            ..JobLimits::default()
        },
    );
    let mut states = Vec::new();
    for attempt in 1..=3 {
        at = apply(&at, &Command::Claim { lease: lease(attempt) }, NOW)
            .expect("claimed")
            .job;
        let command = Command::Settle {
            token: token(attempt),
            verdict: Verdict::Failed(error(Severity::Retryable)),
        };
        at = apply(&at, &command, NOW).expect("settled").job;
        states.push(at.state());
        if let Phase::Scheduled { due, .. } = at.phase {
            at = apply(&at, &Command::Due, due).expect("due").job;
        }
    }
    assert_eq!(states, [JobState::Scheduled, JobState::Scheduled, JobState::Failed]);
    assert_eq!((at.attempt, at.failures), (3, 3));
}

#[test]
fn d20_a_job_that_takes_its_workers_down_is_poison_unless_it_makes_progress() {
    let mut at = job(JobState::Queued);
    let mut states = Vec::new();
    for attempt in 1..=3 {
        at = apply(&at, &Command::Claim { lease: lease(attempt) }, NOW)
            .expect("claimed")
            .job;
        if attempt == 1 {
            let checkpoint = Command::Checkpoint {
                token: token(attempt),
                report: report(),
            };
            at = apply(&at, &checkpoint, NOW).expect("progress").job;
        }
        at = apply(&at, &Command::Lose { token: token(attempt) }, NOW)
            .expect("lost")
            .job;
        states.push(at.state());
    }
    assert_eq!(states, [JobState::Queued, JobState::Queued, JobState::Failed]);
    let Phase::Ended {
        outcome: Outcome::Failed { error },
        ..
    } = at.phase
    else {
        panic!("{:?}", at.phase)
    };
    assert_eq!(error.reason, FailReason::Poison);
}

#[test]
fn s58_a_reservation_is_settled_with_the_real_figures() {
    let reserve = Reservation {
        input_tokens: 100,
        output_tokens: 50,
        cost_micro_usd: 0,
    };
    let first = Checkpoint {
        reserve: Some(reserve),
        ..report()
    };
    let held = apply(
        &job(JobState::Running),
        &Command::Checkpoint {
            token: token(1),
            report: first,
        },
        NOW,
    )
    .expect("reserved");
    let adds: Vec<(Counter, i64, bool)> = held.charges.iter().map(|c| (c.counter, c.add, c.must_fit)).collect();
    assert_eq!(
        adds,
        [
            (Counter::InputTokens, 100, true),
            (Counter::OutputTokens, 50, true),
            (Counter::Tokens, 150, true)
        ]
    );
    let spent = Usage {
        input_tokens: 80,
        output_tokens: 20,
        model_calls: 1,
        ..Usage::default()
    };
    let second = Checkpoint { spent, ..report() };
    let settled = apply(
        &held.job,
        &Command::Checkpoint {
            token: token(1),
            report: second,
        },
        NOW,
    )
    .expect("settled");
    let adds: Vec<(Counter, i64, bool)> = settled.charges.iter().map(|c| (c.counter, c.add, c.must_fit)).collect();
    assert_eq!(
        adds,
        [
            (Counter::InputTokens, -20, false),
            (Counter::OutputTokens, -30, false),
            (Counter::Tokens, -50, false)
        ]
    );
    assert_eq!((settled.job.usage, settled.job.reserved), (spent, None));
}

#[test]
fn s58_what_was_reserved_by_a_lost_attempt_counts_as_spent() {
    let mut running = job(JobState::Running);
    running.reserved = Some(Reservation {
        input_tokens: 100,
        output_tokens: 50,
        cost_micro_usd: 7,
    });
    let lost = apply(&running, &Command::Lose { token: token(1) }, NOW).expect("lost");
    let usage = Usage {
        input_tokens: 100,
        output_tokens: 50,
        cost_micro_usd: 7,
        model_calls: 1,
        tool_calls: 0,
    };
    assert_eq!((lost.job.usage, lost.job.reserved), (usage, None));
    assert_eq!(lost.charges, [], "the counters hold the reservation already");
}

#[test]
fn s58_a_call_that_passes_the_jobs_own_budget_is_refused() {
    let limits = JobLimits {
        tokens: Some(120),
        ..JobLimits::default()
    };
    let reserve = |input_tokens| Reservation {
        input_tokens,
        output_tokens: 20,
        cost_micro_usd: 0,
    };
    let ask = |input| Command::Checkpoint {
        token: token(1),
        report: Checkpoint {
            reserve: Some(reserve(input)),
            ..report()
        },
    };
    let running = job_with(JobState::Running, limits);
    assert!(apply(&running, &ask(100), NOW).is_ok(), "exactly the limit fits");
    let refused = Refusal::Budget {
        what: "tokens",
        limit: 120,
        needed: 121,
    };
    assert_eq!(apply(&running, &ask(101), NOW), Err(refused));
    let zero = job_with(
        JobState::Running,
        JobLimits {
            tokens: Some(0),
            ..JobLimits::default()
        },
    );
    assert!(apply(&zero, &ask(1), NOW).is_err(), "zero means zero");
}

#[test]
fn a_checkpoint_books_progress_updates_and_todos() {
    let mut running = job(JobState::Running);
    running.mail_sent = 1;
    let update = UpdateId::new(NOW, 4);
    let todo = |status| Todo {
        content: "read".into(),
        status,
        active_form: None,
    };
    let todos = vec![todo(TodoStatus::Completed), todo(TodoStatus::Pending)];
    let report = Checkpoint {
        applied: vec![update],
        progress: Progress {
            step: 1,
            last_tool: Some("grep".into()),
            note: None,
        },
        todos: Some(todos.clone()),
        ..report()
    };
    let next = apply(
        &running,
        &Command::Checkpoint {
            token: token(1),
            report,
        },
        NOW,
    )
    .expect("booked");
    assert_eq!(
        (next.job.mail_waiting(), next.job.journal_len, &next.job.todos),
        (0, 1, &todos)
    );
    let events = [
        EventKind::UpdateApplied { update, step: 1 },
        EventKind::Stepped {
            step: 1,
            tokens: 0,
            tool: Some("grep".into()),
        },
        EventKind::TodosChanged { completed: 1, total: 2 },
    ];
    assert_eq!(next.events, events);
    assert_eq!(next.job.phase.lease().map(|lease| lease.until), Some(NOW + 90_000));
}

#[test]
fn a_lease_is_never_shortened() {
    let report = Checkpoint {
        lease_until: NOW,
        ..report()
    };
    let next = apply(
        &job(JobState::Running),
        &Command::Checkpoint {
            token: token(1),
            report,
        },
        NOW,
    )
    .expect("booked");
    assert_eq!(next.job.phase.lease().map(|lease| lease.until), Some(NOW + 30_000));
}

#[test]
fn time_is_booked_where_it_was_spent() {
    let queued = apply(&job(JobState::Blocked), &Command::Release, NOW + 5)
        .expect("released")
        .job;
    let running = apply(
        &queued,
        &Command::Claim {
            lease: Lease {
                since: NOW + 12,
                ..lease(1)
            },
        },
        NOW + 12,
    )
    .expect("claimed")
    .job;
    let ended = apply(&running, &settle(Verdict::Succeeded(JobResult::default())), NOW + 112)
        .expect("ended")
        .job;
    let times = Times {
        blocked_ms: 5,
        scheduled_ms: 0,
        queued_ms: 7,
        running_ms: 100,
    };
    assert_eq!((ended.times, ended.started_at), (times, Some(NOW + 12)));
}

#[test]
fn a_job_with_a_start_time_is_scheduled_when_its_parents_are_done() {
    let mut blocked = job(JobState::Blocked);
    blocked.spec = Arc::new(JobSpec {
        start_at: Some(LATER),
        ..(*blocked.spec).clone()
    });
    let released = apply(&blocked, &Command::Release, NOW).expect("released").job;
    assert_eq!(
        released.phase,
        Phase::Scheduled {
            due: LATER,
            reason: Delay::Start,
            since: NOW
        }
    );
    assert!(apply(&released, &Command::Due, NOW).is_err(), "not before its time");
    assert!(apply(&released, &Command::Due, LATER).is_ok());
}

#[test]
fn open_jobs_are_counted_down_once_per_generation() {
    let open = |transition: &Transition| -> i64 {
        transition
            .charges
            .iter()
            .filter(|charge| charge.counter == Counter::Open)
            .map(|charge| charge.add)
            .sum()
    };
    for (name, command, _) in table() {
        for state in JobState::ALL {
            let before = job_with(
                state,
                JobLimits {
                    queue_timeout_ms: Some(1),
                    ..JobLimits::default()
                },
            );
            let Ok(transition) = apply(&before, &command, LATER) else {
                continue;
            };
            let expected = i64::from(transition.job.state().is_terminal()) - i64::from(state.is_terminal());
            assert_eq!(open(&transition), -expected, "{name} a {state} job");
            assert_eq!(transition.ended(), expected == 1, "{name} a {state} job");
        }
    }
}

/// A running job with one update in its mailbox.
fn with_mail() -> Job {
    let update = Command::Update {
        id: UpdateId::new(NOW, 4),
        mode: UpdateMode::Enqueue,
    };
    apply(&job(JobState::Running), &update, NOW).expect("told").job
}

#[test]
fn d11_an_answer_does_not_end_a_job_that_was_told_something_since() {
    let answered = settle(Verdict::Answered(JobResult::default()));
    let went_on = apply(&with_mail(), &answered, LATER).expect("went on");
    assert_eq!(
        (went_on.job.phase, went_on.events, went_on.charges),
        (Phase::Queued { since: LATER }, vec![EventKind::Queued], vec![])
    );
    assert_eq!(went_on.job.failures, 0, "that is no failure");

    let read = Command::Checkpoint {
        token: token(1),
        report: Checkpoint {
            applied: vec![UpdateId::new(NOW, 4)],
            ..report()
        },
    };
    let read = apply(&with_mail(), &read, NOW).expect("read").job;
    let ended = apply(&read, &answered, LATER).expect("ended");
    assert_eq!(
        (ended.job.state(), ended.events),
        (JobState::Succeeded, vec![EventKind::Succeeded])
    );
}

#[test]
fn a_job_that_ends_without_having_read_an_update_says_so_however_it_ends() {
    let told = |state| Job {
        mail_sent: 3,
        mail_applied: 1,
        ..job(state)
    };
    let ends = [
        (JobState::Running, settle(Verdict::Succeeded(JobResult::default()))),
        (JobState::Running, settle(Verdict::Failed(error(Severity::Fatal)))),
        (
            JobState::Queued,
            Command::Cancel {
                by: "me".into(),
                reason: String::new(),
            },
        ),
        (
            JobState::Blocked,
            Command::Skip {
                cause: JobId::new(NOW, 7),
            },
        ),
    ];
    for (state, command) in ends {
        let ended = apply(&told(state), &command, LATER).expect("ended");
        assert_eq!(
            ended.events.first(),
            Some(&EventKind::UpdatesUnread { count: 2 }),
            "{command:?}"
        );
        assert!(ended.events.last().is_some_and(EventKind::is_terminal), "{command:?}");
        assert_eq!(ended.job.mail_waiting(), 2, "a retry reads them");
    }
}
