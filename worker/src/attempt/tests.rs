//! What attempts read and write, and what they may not.

use legwork_shared::budget::{Counter, JobLimits, Reservation, RunLimits, Usage};
use legwork_shared::dag::Condition;
use legwork_shared::job::{
    Command, EventKind, FailReason, Job, JobError, JobResult, JobSpec, JobState, Outcome, Phase, Progress, UpdateMode,
    Verdict,
};
use legwork_shared::store::Store;
use serde_json::json;

use super::{AfterSubmit, Attempt, AttemptError, Child, ChildJob, Need, Report, Settled, Signals};
use crate::testing::{Bench, TEST, cancel, limited, plan, success};
use crate::workspace::{VPath, WorkspaceError};

async fn running(bench: &Bench) -> Attempt {
    bench.submit(&plan(&[("job", &[])])).await;
    bench.claim().await
}

fn child(name: &str, needs: Vec<(Need, Condition)>) -> ChildJob {
    let spec = JobSpec {
        name: name.to_owned(),
        agent: TEST.to_owned(),
        ad_hoc: None,
        description: format!("do {name}"),
        context: None,
        queue: "default".to_owned(),
        priority: 0,
        start_at: None,
        parent: None,
        depth: 0,
        call: Some(format!("call-{name}")),
        key: None,
        limits: JobLimits::default(),
    };
    ChildJob { spec, needs }
}

fn noted(entry: &str) -> Report {
    Report {
        entries: vec![json!(entry)],
        ..Report::default()
    }
}

fn code_of(error: AttemptError) -> &'static str {
    match error {
        AttemptError::Refused { code, .. } => code,
        other => panic!("not refused but {other:?}"),
    }
}

fn path(text: &str) -> VPath {
    VPath::parse(text).unwrap()
}

/// Everything of a run that an attempt could have changed.
async fn picture(bench: &Bench, attempt: &Attempt) -> impl PartialEq + std::fmt::Debug + use<> {
    let run = attempt.run().id;
    let store = &bench.store;
    (
        store.job(attempt.token().job).await.unwrap(),
        store.run(run).await.unwrap(),
        store.journal(attempt.token().job, 0, 100).await.unwrap(),
        store.files(run, "").await.unwrap(),
        store.events(run, 0, 1_000).await.unwrap(),
        store.edges(run).await.unwrap(),
    )
}

#[tokio::test]
async fn s59_a_report_is_one_commit_and_the_journal_goes_on_without_gaps() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    attempt
        .workspace()
        .write(&path("notes.md"), b"abc".to_vec())
        .await
        .unwrap();
    let report = Report {
        entries: vec![json!("one"), json!("two")],
        spent: Usage {
            input_tokens: 10,
            output_tokens: 5,
            model_calls: 1,
            ..Usage::default()
        },
        progress: Some(Progress {
            step: 1,
            ..Progress::default()
        }),
        ..Report::default()
    };
    assert_eq!(attempt.checkpoint(report).await, Ok(Signals::default()));
    attempt.checkpoint(noted("three")).await.unwrap();
    let entries = attempt.journal(1).await.unwrap();
    let places: Vec<_> = entries.iter().map(|entry| (entry.seq, entry.entry.clone())).collect();
    assert_eq!(places, [(1, json!("two")), (2, json!("three"))]);
    let stored = bench.job("job").await;
    assert_eq!(
        (stored.journal_len, stored.usage.total_tokens(), stored.progress.step),
        (3, 15, 1)
    );
    assert_eq!(stored, attempt.job());
    let file = bench.store.file(attempt.run().id, "notes.md").await.unwrap().unwrap();
    assert_eq!((file.size, file.by), (3, attempt.token().job));
}

#[tokio::test]
async fn a_report_on_a_stale_copy_is_made_again_and_brings_the_news() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    let id = attempt.token().job;
    let update = bench.update(id, UpdateMode::Enqueue).await;
    let told = attempt.checkpoint(noted("one")).await.unwrap();
    assert_eq!(told, Signals { cancel: false, mail: 1 });
    assert_eq!(attempt.mail().await.unwrap()[0].id, update);
    bench.command(id, &cancel()).await;
    let report = Report {
        applied: vec![update],
        ..noted("two")
    };
    let told = attempt.checkpoint(report).await.unwrap();
    assert_eq!(told, Signals { cancel: true, mail: 0 });
    assert!(attempt.cancelled().is_cancelled());
    assert_eq!(attempt.journal(0).await.unwrap().len(), 2);
}

#[tokio::test]
async fn d15_nothing_of_a_fenced_attempt_is_ever_visible() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    let token = attempt.token();
    bench.command(token.job, &Command::Lose { token }).await;
    let second = bench.claim().await;
    let before = picture(&bench, &attempt).await;
    attempt
        .workspace()
        .write(&path("late.md"), b"late".to_vec())
        .await
        .unwrap();
    let spent = Report {
        spent: Usage {
            input_tokens: 1_000,
            ..Usage::default()
        },
        ..noted("late")
    };
    assert_eq!(attempt.checkpoint(spent).await, Err(AttemptError::Fenced));
    assert!(attempt.control().lost().is_cancelled());
    for after in [AfterSubmit::Continue, AfterSubmit::Wait] {
        let late = attempt
            .submit_children(vec![child("late", vec![])], noted("late"), after)
            .await;
        assert_eq!(late, Err(AttemptError::Fenced));
    }
    assert_eq!(attempt.settle(success("late")).await, Ok(Settled::Fenced));
    assert_eq!(picture(&bench, &attempt).await, before);
    assert_eq!(
        second.settle(success("in time")).await,
        Ok(Settled::As(JobState::Succeeded))
    );
    let result = bench
        .job("job")
        .await
        .phase
        .outcome()
        .and_then(Outcome::result)
        .cloned();
    assert_eq!(result.unwrap().text, "in time");
}

#[tokio::test]
async fn s58_a_call_that_cannot_be_reserved_is_refused_by_the_job_and_by_the_run_and_writes_nothing() {
    for (job, run) in [(Some(100), None), (None, Some(100))] {
        let bench = Bench::new();
        let limits = JobLimits {
            tokens: job,
            ..JobLimits::default()
        };
        let shared = RunLimits {
            tokens: run,
            ..RunLimits::default()
        };
        bench.submit(&limited(limits, shared)).await;
        let attempt = bench.claim().await;
        let reserve = |output_tokens| Report {
            reserve: Some(Reservation {
                input_tokens: 50,
                output_tokens,
                cost_micro_usd: 0,
            }),
            ..noted("asked")
        };
        let before = picture(&bench, &attempt).await;
        let refused = attempt.checkpoint(reserve(51)).await.unwrap_err();
        assert!(
            matches!(&refused, AttemptError::Budget { message } if message.contains("100")),
            "{refused}"
        );
        assert_eq!(picture(&bench, &attempt).await, before);
        attempt.checkpoint(reserve(50)).await.unwrap();
        let view = bench.store.run(attempt.run().id).await.unwrap().unwrap();
        assert_eq!(view.counter(Counter::Tokens), 100);
    }
}

#[tokio::test]
async fn d11_an_interrupt_is_heard_once_and_until_it_is_applied() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    let id = attempt.token().job;
    bench.update(id, UpdateMode::Enqueue).await;
    attempt.control().deliver(&bench.store.mail(id).await.unwrap());
    assert!(futures::FutureExt::now_or_never(attempt.interrupted()).is_none());
    let update = bench.update(id, UpdateMode::Interrupt).await;
    let mail = bench.store.mail(id).await.unwrap();
    let ((), ()) = tokio::join!(attempt.interrupted(), async { attempt.control().deliver(&mail) });
    let applied = Report {
        applied: vec![update],
        ..Report::default()
    };
    attempt.checkpoint(applied).await.unwrap();
    // A mailbox that was loaded before the report still lists it.
    attempt.control().deliver(&mail);
    assert!(futures::FutureExt::now_or_never(attempt.interrupted()).is_none());
}

#[tokio::test]
async fn s17_a_job_hands_out_a_graph_sleeps_without_a_slot_and_goes_on_with_its_outcomes() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    let children = vec![
        child("researcher", vec![]),
        child("writer", vec![(Need::Sibling(0), Condition::Success)]),
    ];
    let handed = attempt
        .submit_children(children, noted("asked"), AfterSubmit::Wait)
        .await
        .unwrap();
    let names: Vec<&str> = handed.iter().map(|child| child.name.as_str()).collect();
    assert_eq!(names, ["job/researcher", "job/writer"]);
    let parent = bench.job("job").await;
    assert_eq!((parent.state(), parent.journal_len), (JobState::Blocked, 1));
    // The runner has nothing more to say, and whatever it says is not looked at.
    assert_eq!(
        attempt.settle(success("early")).await,
        Ok(Settled::As(JobState::Blocked))
    );
    for name in ["researcher", "writer"] {
        let working = bench.claim().await;
        assert_eq!(
            (working.job().spec.depth, working.job().spec.parent),
            (1, Some(parent.id))
        );
        working.settle(success(&format!("{name} done"))).await.unwrap();
    }
    let second = bench.claim().await;
    assert_eq!((second.token().job, second.token().attempt), (parent.id, 2));
    let inputs = second.inputs().await.unwrap();
    let answers: Vec<_> = inputs
        .children
        .iter()
        .map(|input| {
            (
                input.call.clone().unwrap(),
                input.outcome.result().unwrap().text.clone(),
            )
        })
        .collect();
    let pair = |call: &str, text: &str| (call.to_owned(), text.to_owned());
    assert_eq!(
        answers,
        [
            pair("call-researcher", "researcher done"),
            pair("call-writer", "writer done")
        ]
    );
    assert_eq!(inputs.parents, []);
}

#[tokio::test]
async fn children_beside_a_job_that_goes_on_may_depend_on_jobs_that_exist() {
    let bench = Bench::new();
    bench
        .submit(&plan(&[("done", &[]), ("job", &["done"]), ("later", &["job"])]))
        .await;
    bench.claim().await.settle(success("ok")).await.unwrap();
    let attempt = bench.claim().await;
    let (done, later) = (bench.job("done").await.id, bench.job("later").await.id);
    let children = vec![
        child("at-once", vec![(Need::Job(done), Condition::Success)]),
        child("after", vec![(Need::Job(later), Condition::Finished)]),
    ];
    let handed = attempt
        .submit_children(children, Report::default(), AfterSubmit::Continue)
        .await
        .unwrap();
    assert_eq!(bench.job("job").await.state(), JobState::Running);
    assert_eq!(bench.job("job/at-once").await.state(), JobState::Queued);
    assert_eq!(bench.job("job/after").await.state(), JobState::Blocked);
    assert_eq!(bench.store.dependents(later).await.unwrap()[0].child, handed[1].id);
}

#[tokio::test]
async fn names_that_are_taken_get_a_number() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    let mut names = Vec::new();
    for _ in 0..2 {
        let twins = vec![child("twin", vec![]), child("job/twin", vec![])];
        let handed = attempt
            .submit_children(twins, Report::default(), AfterSubmit::Continue)
            .await;
        names.extend(handed.unwrap().into_iter().map(|Child { name, .. }| name));
    }
    assert_eq!(names, ["job/twin", "job/twin-2", "job/twin-3", "job/twin-4"]);
}

#[tokio::test]
async fn d42_depth_fan_out_and_the_number_of_jobs_are_limited_and_a_refusal_writes_nothing() {
    let bench = Bench::new();
    let limits = JobLimits {
        fan_out: Some(2),
        ..JobLimits::default()
    };
    let run = RunLimits {
        jobs: Some(2),
        depth: Some(1),
        ..RunLimits::default()
    };
    bench.submit(&limited(limits, run)).await;
    let attempt = bench.claim().await;
    let before = picture(&bench, &attempt).await;
    let hand_out = async |count: usize| {
        let children = (0..count).map(|n| child(&format!("c{n}"), vec![])).collect();
        attempt
            .submit_children(children, noted("asked"), AfterSubmit::Wait)
            .await
    };
    assert_eq!(hand_out(0).await.map_err(code_of), Err("no_jobs"));
    assert_eq!(hand_out(3).await.map_err(code_of), Err("fan_out"));
    assert!(matches!(hand_out(2).await, Err(AttemptError::Budget { .. })));
    assert_eq!(picture(&bench, &attempt).await, before);
    hand_out(1).await.unwrap();
    let deep = bench.claim().await;
    let refused = deep.submit_children(vec![child("deeper", vec![])], Report::default(), AfterSubmit::Wait);
    assert_eq!(refused.await.map_err(code_of), Err("depth"));
}

#[tokio::test]
async fn d24_rings_and_strangers_among_children_are_refused() {
    let bench = Bench::new();
    bench.submit(&plan(&[("job", &[]), ("after", &["job"])])).await;
    let attempt = bench.claim().await;
    let other = Bench::new();
    let stranger = running(&other).await.token().job;
    let after = bench.job("after").await.id;
    let needs = |need| vec![(need, Condition::Finished)];
    let ring = vec![child("a", needs(Need::Sibling(1))), child("b", needs(Need::Sibling(0)))];
    let cases = [
        (ring, "cycle"),
        (vec![child("a", needs(Need::Sibling(0)))], "cycle"),
        (vec![child("a", needs(Need::Sibling(7)))], "unknown_job"),
        (vec![child("a", needs(Need::Job(stranger)))], "unknown_job"),
        // `after` waits for this job, which would sleep until its child has ended, which waits for `after`.
        (vec![child("a", needs(Need::Job(after)))], "cycle"),
        (vec![child("a", needs(Need::Job(attempt.token().job)))], "cycle"),
    ];
    let before = picture(&bench, &attempt).await;
    for (children, code) in cases {
        let refused = attempt
            .submit_children(children, noted("asked"), AfterSubmit::Wait)
            .await;
        assert_eq!(refused.map_err(code_of), Err(code));
    }
    assert_eq!(picture(&bench, &attempt).await, before);
}

#[tokio::test]
async fn a_job_that_was_asked_to_stop_hands_out_nothing() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    bench.command(attempt.token().job, &cancel()).await;
    let asked = attempt.submit_children(vec![child("late", vec![])], Report::default(), AfterSubmit::Wait);
    assert_eq!(asked.await, Err(AttemptError::Cancelled));
    let stopped = attempt.settle(Verdict::Cancelled).await;
    assert_eq!(stopped, Ok(Settled::As(JobState::Cancelled)));
}

#[tokio::test]
async fn a_runner_that_stops_unasked_has_failed() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    assert_eq!(
        attempt.settle(Verdict::Cancelled).await,
        Ok(Settled::As(JobState::Scheduled))
    );
    assert_eq!(bench.job("job").await.last_error.unwrap().code, "stopped");
}

#[tokio::test]
async fn a_dependent_that_was_added_meanwhile_is_released_with_the_rest() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    let view = bench.store.run(attempt.run().id).await.unwrap().unwrap();
    let existing = [bench.job("job").await];
    let more = plan(&[("late", &["job"])]);
    let none = std::collections::BTreeMap::new();
    let now = bench.store.now();
    let submission = legwork_shared::submit::extend_run(&more, &none, &view.run, &existing, now, 99).unwrap();
    bench.store.commit(submission.batch).await.unwrap();
    assert_eq!(
        attempt.settle(success("ok")).await,
        Ok(Settled::As(JobState::Succeeded))
    );
    assert_eq!(bench.job("late").await.state(), JobState::Queued);
}

#[tokio::test]
async fn a_failure_without_a_retry_left_in_the_run_is_final_and_names_the_budget() {
    let bench = Bench::new();
    let run = RunLimits {
        retries: Some(0),
        ..RunLimits::default()
    };
    bench.submit(&limited(JobLimits::default(), run)).await;
    let attempt = bench.claim().await;
    let mut error = JobError::retryable("overloaded", "the provider is overloaded");
    error.partial = Some("half".to_owned());
    assert_eq!(
        attempt.settle(Verdict::Failed(error)).await,
        Ok(Settled::As(JobState::Failed))
    );
    let message = "the run's 0 retries are used up; the last error: the provider is overloaded";
    let mut expected = JobError::fatal(FailReason::Budget, "retry_budget", message);
    expected.partial = Some("half".to_owned());
    assert_eq!(
        bench.job("job").await.phase.outcome(),
        Some(&Outcome::Failed { error: expected })
    );
}

fn result_of(job: &Job) -> JobResult {
    job.phase.outcome().and_then(Outcome::result).cloned().unwrap()
}

#[tokio::test]
async fn d27_a_long_answer_is_kept_whole_as_a_file_with_its_beginning_in_the_record() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    let text = "ä".repeat(super::INLINE_BYTES_MAX / 2 + 1);
    attempt.settle(success(&text)).await.unwrap();
    let result = result_of(&bench.job("job").await);
    assert_eq!(result.text, text[..4_096]);
    assert_eq!(result.file.as_deref(), Some("results/job.md"));
    assert_eq!(result.notes, ["the whole answer of 262146 bytes is in results/job.md"]);
    let whole = attempt
        .workspace()
        .read(&path("results/job.md"))
        .await
        .unwrap()
        .unwrap();
    assert!(whole == text.as_bytes());
    let record = bench
        .store
        .file(attempt.run().id, "results/job.md")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(record.size, 262_146);
}

#[tokio::test]
async fn an_answer_that_just_fits_stays_in_the_record() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    let text = "a".repeat(super::INLINE_BYTES_MAX);
    attempt.settle(success(&text)).await.unwrap();
    let result = result_of(&bench.job("job").await);
    assert!(result.text == text && result.file.is_none() && result.notes.is_empty());
}

#[tokio::test]
async fn d27_an_answer_beyond_the_limit_is_one_permanent_failure_that_names_both_sizes() {
    let bench = Bench::new();
    let limits = JobLimits {
        output_bytes: Some(10),
        ..JobLimits::default()
    };
    bench.submit(&limited(limits, RunLimits::default())).await;
    let attempt = bench.claim().await;
    attempt.settle(success("elevenbytes")).await.unwrap();
    let message = "the answer has 11 bytes, at most 10 are accepted; let it write files instead";
    let mut error = JobError::fatal(FailReason::Limit, "payload_too_large", message);
    error.partial = Some("elevenbytes".to_owned());
    assert_eq!(bench.job("job").await.phase.outcome(), Some(&Outcome::Failed { error }));
}

#[tokio::test]
async fn s34_writes_are_seen_by_their_own_attempt_at_once_and_by_others_after_the_commit() {
    let bench = Bench::new();
    bench.submit(&plan(&[("job", &[]), ("other", &[])])).await;
    let (attempt, other) = (bench.claim().await, bench.claim().await);
    attempt
        .workspace()
        .write(&path("a/b.md"), b"abc".to_vec())
        .await
        .unwrap();
    assert_eq!(
        attempt.workspace().read(&path("a/b.md")).await,
        Ok(Some(b"abc".to_vec()))
    );
    assert_eq!(attempt.workspace().list(&path("a")).await.unwrap().len(), 1);
    assert_eq!(other.workspace().read(&path("a/b.md")).await, Ok(None));
    assert_eq!(other.workspace().list(&VPath::root()).await, Ok(vec![]));
    attempt.checkpoint(Report::default()).await.unwrap();
    assert_eq!(other.workspace().read(&path("a/b.md")).await, Ok(Some(b"abc".to_vec())));
    let conflict = other.workspace().write(&path("a"), vec![]).await;
    let expected = WorkspaceError::PathConflict {
        path: path("a"),
        other: path("a/b.md"),
    };
    assert_eq!(conflict, Err(expected));
}

#[tokio::test]
async fn files_of_a_failed_attempt_are_not_published() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    attempt
        .workspace()
        .write(&path("half.md"), b"half".to_vec())
        .await
        .unwrap();
    let error = JobError::fatal(FailReason::Error, "broken", "broken");
    attempt.settle(Verdict::Failed(error)).await.unwrap();
    assert_eq!(bench.store.files(attempt.run().id, "").await.unwrap(), vec![]);
}

#[tokio::test]
async fn a_second_settle_writes_no_second_end() {
    let bench = Bench::new();
    let attempt = running(&bench).await;
    attempt.settle(success("once")).await.unwrap();
    assert_eq!(
        attempt.settle(success("twice")).await,
        Ok(Settled::As(JobState::Succeeded))
    );
    let events = bench.store.events(attempt.run().id, 0, 100).await.unwrap();
    let ends = events
        .iter()
        .filter(|event| event.event.kind == EventKind::Succeeded)
        .count();
    assert_eq!(ends, 1);
    assert!(matches!(bench.job("job").await.phase, Phase::Ended { .. }));
}
