//! What happens by itself when time passes or a worker is lost.

use legwork_shared::job::{FailReason, JobError, JobState, Outcome, Severity, Verdict};
use legwork_shared::store::WorkerRecord;
use legwork_shared::store::presence::Presence;

use super::{reaper, timers};
use crate::testing::{START, World};

const ONE: &str = "jobs: [{id: a, description: x, limits: {queue_timeout_ms: 5000}}]";

#[tokio::test]
async fn d06_a_back_off_is_no_end_and_is_over_when_it_is_due() {
    let world = World::new();
    let run = world
        .submit("jobs: [{id: a, description: x}, {id: b, description: x, depends_on: [a]}]")
        .await
        .run;
    for _ in 0..2 {
        let claimed = world.claim().await;
        let mut error = JobError::retryable("overloaded", "busy");
        error.retry_after_ms = Some(7_000);
        world.settle(&claimed[0], Verdict::Failed(error)).await;
        assert_eq!(world.job(run, "a").await.state(), JobState::Scheduled);
        assert_eq!(world.job(run, "b").await.state(), JobState::Blocked);
        let next = timers::tick(world.store.as_ref(), world.store.now())
            .await
            .expect("ticked")
            .expect("a time");
        assert!(world.claim().await.is_empty(), "not before it is due");
        assert!(next.since_ms(world.store.now()) >= 7_000);
        let now = world.clock.advance_ms(next.since_ms(world.store.now()));
        timers::tick(world.store.as_ref(), now).await.expect("ticked");
    }
    assert_eq!(world.work(|_| false).await, ["a", "b"]);
}

#[tokio::test]
async fn a_lapsed_lease_is_rescued_exactly_once() {
    let world = World::new();
    let run = world.submit(ONE).await.run;
    let first = world.claim().await;
    let now = world.clock.advance_ms(29_999);
    timers::tick(world.store.as_ref(), now).await.expect("ticked");
    assert_eq!(world.job(run, "a").await.state(), JobState::Running, "the lease holds");
    let now = world.clock.advance_ms(1);
    for _ in 0..2 {
        timers::tick(world.store.as_ref(), now).await.expect("ticked");
    }
    let job = world.job(run, "a").await;
    assert_eq!((job.state(), job.losses), (JobState::Queued, 1));
    let second = world.claim().await;
    assert_eq!(second[0].job.attempt, first[0].job.attempt + 1);
}

#[tokio::test]
async fn d09_a_cancel_ends_a_job_whose_worker_is_dead() {
    let world = World::new();
    let run = world.submit(ONE).await.run;
    world.claim().await;
    let target = crate::coordinator::Target::Run(run);
    world
        .coordinator
        .cancel(target, crate::coordinator::Scope::Tree, "test", "")
        .await
        .expect("asked");
    let now = world.clock.advance_ms(30_000);
    timers::tick(world.store.as_ref(), now).await.expect("ticked");
    assert_eq!(world.job(run, "a").await.state(), JobState::Cancelled);
}

#[tokio::test]
async fn a_job_that_nobody_takes_in_time_has_failed() {
    let world = World::new();
    let run = world.submit(ONE).await.run;
    let next = timers::tick(world.store.as_ref(), world.store.now())
        .await
        .expect("ticked");
    assert_eq!(next, Some(START + 5_000));
    let now = world.clock.advance_ms(5_000);
    timers::tick(world.store.as_ref(), now).await.expect("ticked");
    let job = world.job(run, "a").await;
    let Some(Outcome::Failed { error }) = job.phase.outcome() else {
        panic!("{job:?}")
    };
    assert_eq!(
        (error.reason, error.severity),
        (FailReason::QueueTimeout, Severity::Fatal)
    );
}

#[tokio::test]
async fn a_worker_of_this_machine_that_is_gone_gives_its_jobs_back_at_once() {
    let world = World::new();
    let run = world.submit(ONE).await.run;
    world.claim().await;
    let record = WorkerRecord {
        id: world.worker,
        name: "w".into(),
        host: "here".into(),
        pid: 1,
        version: "0".into(),
        slots: 1,
        queues: vec!["default".into()],
        started_at: START,
        seen_at: START,
    };
    world.store.put_worker(&record).await.expect("recorded");
    let folder = std::env::temp_dir().join(format!("legwork-reaper-{}", legwork_shared::clock::entropy()));
    let held = Presence::hold(&folder, world.worker).expect("held");
    let tick = |host: &'static str| reaper::tick(world.store.as_ref(), &folder, host);
    assert_eq!(tick("here").await, Ok(0), "it is there");
    drop(held);
    assert_eq!(
        tick("elsewhere").await,
        Ok(0),
        "another machine's worker is judged by its leases alone"
    );
    assert_eq!(tick("here").await, Ok(1));
    assert_eq!(tick("here").await, Ok(0));
    assert_eq!(world.job(run, "a").await.state(), JobState::Queued);
    assert_eq!(world.store.workers().await, Ok(vec![]));
    std::fs::remove_dir_all(&folder).expect("cleaned up");
}
