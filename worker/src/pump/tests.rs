//! The whole worker over the store in memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legwork_shared::agent::RunnerSpec;
use legwork_shared::budget::{JobLimits, RunLimits};
use legwork_shared::job::{Command, FailReason, Job, JobError, JobState, Outcome, Phase, Verdict};
use legwork_shared::store::Store;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use super::Shutdown;
use crate::testing::{Bench, cancel, limited, plan, runner, success};
use crate::{Worker, WorkerError};

/// A worker at work, which is drained at the end of a test.
struct Started {
    shutdown: Shutdown,
    ended: JoinHandle<Result<(), WorkerError>>,
}

fn start(worker: Worker) -> Started {
    let shutdown = Shutdown::new();
    let ended = tokio::spawn(worker.run(shutdown.clone()));
    Started { shutdown, ended }
}

impl Started {
    async fn drained(self) {
        self.shutdown.drain();
        self.ended().await;
    }

    async fn ended(self) {
        let ended = tokio::time::timeout(Duration::from_secs(20), self.ended).await;
        ended.expect("the worker ends").unwrap().unwrap();
    }
}

fn error_of(job: &Job) -> &JobError {
    match job.phase.outcome() {
        Some(Outcome::Failed { error }) => error,
        other => panic!("not failed but {other:?}"),
    }
}

/// Tells when it is dropped.
struct Dropped(mpsc::UnboundedSender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn s21_the_jobs_of_a_diamond_run_in_order_and_receive_their_parents_outcomes() {
    let bench = Bench::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let worker = bench.worker(runner(move |attempt| {
        let log = Arc::clone(&log);
        Box::pin(async move {
            let inputs = attempt.inputs().await.unwrap();
            let name = attempt.job().spec.name.clone();
            let parents = inputs.parents.iter().map(|input| {
                let text = input.outcome.result().map(|result| result.text.clone());
                format!("{}: {}", input.name, text.unwrap_or_default())
            });
            log.lock().unwrap().push((name.clone(), parents.collect::<Vec<_>>()));
            success(&format!("{name} done"))
        })
    }));
    let started = start(worker.build());
    let jobs: &[(&str, &[&str])] = &[
        ("researcher", &[]),
        ("reviewer", &[]),
        ("analyst", &["reviewer", "researcher"]),
        ("writer", &["analyst"]),
    ];
    bench.submit(&plan(jobs)).await;
    bench.until("writer", JobState::Succeeded).await;
    started.drained().await;
    let mut seen = seen.lock().unwrap().clone();
    seen[..2].sort();
    let row = |name: &str, parents: &[&str]| (name.to_owned(), parents.iter().map(ToString::to_string).collect());
    let expected: Vec<(String, Vec<String>)> = vec![
        row("researcher", &[]),
        row("reviewer", &[]),
        row("analyst", &["researcher: researcher done", "reviewer: reviewer done"]),
        row("writer", &["analyst: analyst done"]),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_panic_is_a_failed_attempt_and_the_worker_goes_on() {
    let bench = Bench::new();
    let worker = bench.worker(runner(|attempt| {
        Box::pin(async move {
            assert!(attempt.token().attempt > 1, "the first attempt breaks");
            success("ok")
        })
    }));
    let started = start(worker.build());
    bench.submit(&plan(&[("job", &[])])).await;
    let job = bench.until("job", JobState::Scheduled).await;
    let error = job.last_error.unwrap();
    assert_eq!(error.code, "panic");
    assert_eq!(error.message, "its runner panicked: the first attempt breaks");
    let Phase::Scheduled { due, .. } = job.phase else {
        panic!("not scheduled")
    };
    bench.clock.advance_ms(due.since_ms(bench.store.now()));
    bench.command(job.id, &Command::Due).await;
    assert_eq!(bench.until("job", JobState::Succeeded).await.attempt, 2);
    started.drained().await;
}

#[tokio::test]
async fn d12_a_job_whose_agent_or_runner_is_unknown_fails_with_that_reason() {
    let bench = Bench::new();
    let mut strange = plan(&[("job", &[])]);
    let name = "tests".to_owned();
    strange.agents.get_mut("test").unwrap().runner = RunnerSpec::Custom { name };
    let started = start(bench.worker(runner(|_| Box::pin(async { success("ok") }))).build());
    bench.submit(&strange).await;
    let job = bench.until("job", JobState::Failed).await;
    assert_eq!(error_of(&job).code, "unknown_runner");
    assert_eq!(
        error_of(&job).message,
        "this worker has no runner `tests`; did you mean `test`?"
    );
    started.drained().await;
}

#[tokio::test]
async fn d08_a_running_job_that_is_cancelled_is_told_and_ends_as_cancelled_whatever_it_says() {
    let bench = Bench::new();
    let worker = bench.worker(runner(|attempt| {
        Box::pin(async move {
            attempt.cancelled().cancelled().await;
            success("a result that comes too late")
        })
    }));
    let started = start(worker.build());
    bench.submit(&plan(&[("job", &[]), ("child", &["job"])])).await;
    let job = bench.until("job", JobState::Running).await;
    bench.command(job.id, &cancel()).await;
    let job = bench.until("job", JobState::Cancelled).await;
    assert_eq!(job.phase.outcome().and_then(Outcome::result), None);
    assert_eq!(bench.job("child").await.state(), JobState::Blocked);
    started.drained().await;
}

#[tokio::test]
async fn d10_a_runner_that_ignores_the_cancel_is_dropped_after_the_grace_and_its_slot_is_free() {
    let bench = Bench::new();
    let (sender, mut dropped) = mpsc::unbounded_channel();
    let worker = bench.worker(runner(move |attempt| {
        let guard = Dropped(sender.clone());
        Box::pin(async move {
            if attempt.job().spec.name == "next" {
                return success("ok");
            }
            let _guard = guard;
            std::future::pending().await
        })
    }));
    let started = start(worker.slots(1).grace(Duration::from_millis(20)).build());
    bench.submit(&plan(&[("job", &[])])).await;
    let job = bench.until("job", JobState::Running).await;
    bench.command(job.id, &cancel()).await;
    bench.until("job", JobState::Cancelled).await;
    dropped.try_recv().expect("the runner is gone before its job has ended");
    bench.submit(&plan(&[("next", &[])])).await;
    bench.until("next", JobState::Succeeded).await;
    started.drained().await;
}

#[tokio::test]
async fn an_attempt_whose_time_is_up_fails_with_what_its_runner_saved_in_the_grace() {
    let bench = Bench::new();
    let worker = bench.worker(runner(|attempt| {
        Box::pin(async move {
            attempt.cancelled().cancelled().await;
            let mut error = JobError::retryable("stopped", "stopped");
            error.partial = Some("half of it".to_owned());
            Verdict::Failed(error)
        })
    }));
    let started = start(worker.build());
    let limits = JobLimits {
        timeout_ms: Some(30),
        ..JobLimits::default()
    };
    bench.submit(&limited(limits, RunLimits::default())).await;
    let job = bench.until("job", JobState::Failed).await;
    let message = "the attempt ran longer than the 30 ms that it may; raise timeout_ms or ask for less";
    let mut expected = JobError::fatal(FailReason::Timeout, "timeout", message);
    expected.partial = Some("half of it".to_owned());
    assert_eq!(error_of(&job), &expected);
    started.drained().await;
}

#[tokio::test]
async fn d10_an_attempt_that_ignores_its_time_out_fails_after_the_grace() {
    let bench = Bench::new();
    let worker = bench.worker(runner(|_| Box::pin(std::future::pending())));
    let started = start(worker.grace(Duration::from_millis(20)).build());
    let limits = JobLimits {
        timeout_ms: Some(30),
        ..JobLimits::default()
    };
    bench.submit(&limited(limits, RunLimits::default())).await;
    let job = bench.until("job", JobState::Failed).await;
    assert_eq!(error_of(&job).reason, FailReason::Timeout);
    started.drained().await;
}

#[tokio::test]
async fn s53_a_drain_finishes_what_runs_and_leaves_the_rest_unclaimed() {
    let bench = Bench::new();
    let gate = Arc::new(Semaphore::new(0));
    let inside = Arc::clone(&gate);
    let worker = bench.worker(runner(move |_| {
        let gate = Arc::clone(&inside);
        Box::pin(async move {
            gate.acquire().await.unwrap().forget();
            success("ok")
        })
    }));
    let worker = worker.slots(2).build();
    let id = worker.id();
    let started = start(worker);
    bench.submit(&plan(&[("a", &[]), ("b", &[]), ("c", &[])])).await;
    bench.until("b", JobState::Running).await;
    assert_eq!(bench.store.workers().await.unwrap()[0].id, id);
    started.shutdown.drain();
    gate.add_permits(3);
    started.ended().await;
    let mut ends = Vec::new();
    for name in ["a", "b", "c"] {
        let job = bench.job(name).await;
        ends.push((job.state(), job.attempt));
    }
    let expected = [
        (JobState::Succeeded, 1),
        (JobState::Succeeded, 1),
        (JobState::Queued, 0),
    ];
    assert_eq!(ends, expected);
    assert_eq!(bench.store.workers().await.unwrap(), Vec::new());
}

#[tokio::test]
async fn s53_what_does_not_end_within_the_drain_time_is_given_back_unharmed() {
    let bench = Bench::new();
    for aborted in [false, true] {
        let worker = bench.worker(runner(|_| Box::pin(std::future::pending())));
        let drain = Duration::from_millis(if aborted { 3_600_000 } else { 20 });
        let started = start(worker.drain(drain).build());
        let name = if aborted { "aborted" } else { "drained" };
        bench.submit(&plan(&[(name, &[])])).await;
        bench.until(name, JobState::Running).await;
        started.shutdown.drain();
        if aborted {
            started.shutdown.abort();
        }
        started.ended().await;
        let job = bench.job(name).await;
        let facts = (job.state(), job.attempt, job.failures, job.losses);
        assert_eq!(facts, (JobState::Queued, 1, 0, 0), "{name}");
        bench.command(job.id, &cancel()).await;
    }
}

#[tokio::test]
async fn d15_a_runner_whose_lease_was_taken_is_dropped_and_writes_nothing() {
    let bench = Bench::new();
    let (sender, mut dropped) = mpsc::unbounded_channel();
    let worker = bench.worker(runner(move |_| {
        let guard = Dropped(sender.clone());
        Box::pin(async move {
            let _guard = guard;
            std::future::pending().await
        })
    }));
    let started = start(worker.slots(1).build());
    bench.submit(&plan(&[("job", &[])])).await;
    let job = bench.until("job", JobState::Running).await;
    let token = job.phase.lease().unwrap().token;
    bench.command(job.id, &Command::Lose { token }).await;
    tokio::time::timeout(Duration::from_secs(20), dropped.recv())
        .await
        .expect("the runner is dropped");
    // The slot is free, so the job is claimed again by the same worker, as a second attempt.
    let again = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            let job = bench.job("job").await;
            if job.attempt == 2 && job.state() == JobState::Running {
                return job;
            }
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(again.await.expect("a second attempt").losses, 1);
    started.shutdown.abort();
    started.ended().await;
}

#[tokio::test]
async fn d13_leases_are_renewed_while_a_runner_blocks_every_thread() {
    let bench = Bench::new();
    let (store, clock) = (Arc::clone(&bench.store), Arc::clone(&bench.clock));
    let worker = bench.worker(runner(move |attempt| {
        let (store, clock) = (Arc::clone(&store), Arc::clone(&clock));
        Box::pin(async move {
            let until = |job: &Job| job.phase.lease().map(|lease| lease.until).unwrap_or_default();
            let before = until(&attempt.job());
            clock.advance_ms(100);
            // This test has one thread, and no future on it can move until this loop ends.
            loop {
                let job = futures::executor::block_on(store.job(attempt.token().job));
                if until(&job.unwrap().unwrap()) > before {
                    return success("renewed");
                }
                std::thread::park_timeout(Duration::from_millis(5));
            }
        })
    }));
    let started = start(worker.lease_ms(300).build());
    bench.submit(&plan(&[("job", &[])])).await;
    let job = bench.until("job", JobState::Succeeded).await;
    assert_eq!(job.phase.outcome().unwrap().result().unwrap().text, "renewed");
    started.drained().await;
}

#[tokio::test]
async fn a_worker_never_holds_more_jobs_than_it_has_slots() {
    let bench = Bench::new();
    let most = Arc::new(AtomicUsize::new(0));
    let (seen, store) = (Arc::clone(&most), Arc::clone(&bench.store));
    let worker = bench.worker(runner(move |attempt| {
        let (seen, store) = (Arc::clone(&seen), Arc::clone(&store));
        Box::pin(async move {
            let holder = attempt.job().phase.lease().unwrap().worker;
            tokio::task::yield_now().await;
            seen.fetch_max(store.held(holder).await.unwrap().len(), Ordering::SeqCst);
            success("ok")
        })
    }));
    let started = start(worker.slots(3).build());
    let names: Vec<String> = (0..20).map(|n| format!("job-{n:02}")).collect();
    let jobs: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &[] as &[&str])).collect();
    bench.submit(&plan(&jobs)).await;
    for name in &names {
        bench.until(name, JobState::Succeeded).await;
    }
    started.drained().await;
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn only_jobs_of_the_workers_queues_are_claimed() {
    let bench = Bench::new();
    let worker = bench.worker(runner(|_| Box::pin(async { success("ok") })));
    let started = start(worker.queues(["gpu"]).build());
    let mut two = plan(&[("here", &[]), ("there", &[])]);
    two.jobs[0].queue = Some("gpu".to_owned());
    bench.submit(&two).await;
    bench.until("here", JobState::Succeeded).await;
    started.drained().await;
    assert_eq!(bench.job("there").await.state(), JobState::Queued);
}

#[tokio::test]
async fn a_claimed_job_is_not_claimed_by_a_second_worker() {
    let bench = Bench::new();
    let runs = Arc::new(AtomicUsize::new(0));
    let mut workers = Vec::new();
    for _ in 0..4 {
        let runs = Arc::clone(&runs);
        let counting = runner(move |_| {
            runs.fetch_add(1, Ordering::SeqCst);
            Box::pin(async { success("ok") })
        });
        workers.push(start(bench.worker(counting).build()));
    }
    let names: Vec<String> = (0..200).map(|n| format!("job-{n:03}")).collect();
    let jobs: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &[] as &[&str])).collect();
    bench.submit(&plan(&jobs)).await;
    for name in &names {
        bench.until(name, JobState::Succeeded).await;
    }
    for worker in workers {
        worker.drained().await;
    }
    assert_eq!(runs.load(Ordering::SeqCst), 200);
}
