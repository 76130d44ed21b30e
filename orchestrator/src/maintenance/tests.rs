//! What happens by itself when time passes or a worker is lost.

use legwork_shared::id::WorkerId;
use legwork_shared::job::{FailReason, JobError, JobResult, JobState, Outcome, Severity, Verdict};
use legwork_shared::plan;
use legwork_shared::run::RunView;
use legwork_shared::schedule::Schedule;
use legwork_shared::store::presence::Presence;
use legwork_shared::store::{RunQuery, WorkerRecord};
use legwork_shared::time::Timestamp;

use super::lead::Leadership;
use super::{Retention, pruner, reaper, scheduler, timers};
use crate::testing::{START, World};
use crate::timetable::Timetable;

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
        machine: Some("this one".into()),
        pid: 1,
        version: "0".into(),
        slots: 1,
        queues: vec!["default".into()],
        started_at: START,
        seen_at: START,
        clock_ahead_ms: 0,
    };
    world.store.put_worker(&record).await.expect("recorded");
    let folder = std::env::temp_dir().join(format!("legwork-reaper-{}", legwork_shared::clock::entropy()));
    let held = Presence::hold(&folder, world.worker).expect("held");
    world.store.lead(world.worker, START + 60_000).await.expect("asked");
    let tick = |machine: &'static str| reaper::tick(world.store.as_ref(), Some(&folder), machine);
    assert_eq!(tick("this one").await, Ok(0), "it is there");
    drop(held);
    assert_eq!(
        tick("another one").await,
        Ok(0),
        "another machine's worker is judged by its leases alone"
    );
    assert_eq!(reaper::tick(world.store.as_ref(), None, "this one").await, Ok(0));
    assert!(world.store.leader().await.expect("read").is_some());
    assert_eq!(tick("this one").await, Ok(1));
    assert_eq!(tick("this one").await, Ok(0));
    assert_eq!(world.store.leader().await, Ok(None), "it leads no more");
    assert_eq!(world.job(run, "a").await.state(), JobState::Queued);
    assert_eq!(world.store.workers().await, Ok(vec![]));
    std::fs::remove_dir_all(&folder).expect("cleaned up");
}

#[tokio::test]
async fn one_at_a_time_leads_and_its_loss_is_noticed_within_seconds() {
    let world = World::new();
    let workers = [1, 2].map(|n| WorkerId::nth(START, n, 0));
    let mut known = [Leadership::default(), Leadership::default()];
    for _ in 0..20 {
        for (worker, leadership) in workers.iter().zip(&mut known) {
            let lead = leadership
                .tick(world.store.as_ref(), *worker, world.store.now())
                .await
                .expect("asked");
            assert_eq!(lead.holder, workers[0], "the first one keeps the lead");
        }
        assert_eq!(known.each_ref().map(Leadership::is_ours), [true, false]);
        world.clock.advance_ms(1_000);
    }
    // The first one is gone without a word.
    let lost_at = world.store.now();
    while !known[1].is_ours() {
        let now = world.clock.advance_ms(500);
        known[1]
            .tick(world.store.as_ref(), workers[1], now)
            .await
            .expect("asked");
        assert!(now.since_ms(lost_at) <= 6_000, "nobody leads");
    }
    // When it comes back, it learns that it leads no more.
    let lead = known[0]
        .tick(world.store.as_ref(), workers[0], world.store.now())
        .await
        .expect("asked");
    assert_eq!((lead.holder, known[0].is_ours()), (workers[1], false));
    let [first, second] = known;
    first.resign(world.store.as_ref(), workers[0]).await;
    assert!(world.store.leader().await.expect("read").is_some());
    second.resign(world.store.as_ref(), workers[1]).await;
    assert_eq!(world.store.leader().await, Ok(None), "nobody has to wait");
}

const AFTER: Retention = Retention {
    older_than_ms: Some(3_000),
    keep: None,
};

#[tokio::test]
async fn d55_what_an_open_job_needs_is_kept_and_goes_with_its_run() {
    let world = World::new();
    let run = world
        .submit("jobs: [{id: a, description: x}, {id: c, description: x}, {id: b, description: x, depends_on: [a, c]}]")
        .await
        .run;
    let claimed = world.claim().await;
    world
        .settle(&claimed[0], Verdict::Succeeded(JobResult::default()))
        .await;
    for _ in 0..15 {
        let now = world.clock.advance_ms(1_000);
        assert_eq!(pruner::tick(world.store.as_ref(), &AFTER, now).await, Ok(0));
    }
    world
        .settle(&claimed[1], Verdict::Succeeded(JobResult::default()))
        .await;
    assert_eq!(world.work(|_| false).await, ["b"], "it had its parents' results");
    let now = world.clock.advance_ms(2_999);
    assert_eq!(pruner::tick(world.store.as_ref(), &AFTER, now).await, Ok(0));
    let now = world.clock.advance_ms(1);
    assert_eq!(pruner::tick(world.store.as_ref(), &AFTER, now).await, Ok(1));
    assert_eq!(world.store.run(run).await, Ok(None));
}

#[tokio::test]
async fn the_newest_ended_runs_are_kept_and_open_ones_do_not_count() {
    let world = World::new();
    let mut runs = Vec::new();
    for _ in 0..6 {
        runs.push(world.submit(ONE).await.run);
        world.clock.advance_ms(10);
    }
    let claimed = world.claim().await;
    for claimed in claimed.iter().filter(|claimed| claimed.job.run != runs[4]) {
        world.settle(claimed, Verdict::Succeeded(JobResult::default())).await;
    }
    let keep = Retention {
        older_than_ms: None,
        keep: Some(2),
    };
    let found = pruner::prunable(world.store.as_ref(), &keep, world.store.now(), 2)
        .await
        .expect("read");
    let found: Vec<_> = found.into_iter().map(|found| found.view.run.id).collect();
    assert_eq!(found, [runs[2], runs[1]]);
    assert_eq!(
        pruner::tick(world.store.as_ref(), &keep, world.store.now()).await,
        Ok(3)
    );
    let left = world
        .store
        .runs(&RunQuery {
            limit: 9,
            ..RunQuery::default()
        })
        .await
        .expect("read");
    let left: Vec<_> = left.items.iter().map(|view| view.run.id).collect();
    assert_eq!(left, [runs[5], runs[4], runs[3]]);
    assert_eq!(
        pruner::tick(world.store.as_ref(), &Retention::default(), START + u64::MAX).await,
        Ok(0)
    );
}

/// A schedule of one job whose agent it brings.
fn schedule(cron: &str, zone: &str, next_at: Timestamp) -> Schedule {
    let plan = "{agents: {speaker: {prompt: Speak.}}, jobs: [{id: a, agent: speaker, description: x}]}";
    Schedule {
        name: "nightly".into(),
        tenant: "default".into(),
        version: 1,
        cron: cron.into(),
        zone: zone.into(),
        plan: plan::parse(plan, "plan.yaml").expect("a plan"),
        next_at: Some(next_at),
        last: None,
        by: "test".into(),
        created_at: START,
    }
}

/// The runs there are, newest first.
async fn runs(world: &World) -> Vec<RunView> {
    let query = RunQuery {
        limit: 1_000,
        ..RunQuery::default()
    };
    world.store.runs(&query).await.expect("read").items
}

#[tokio::test]
async fn d46_a_schedule_makes_the_runs_that_its_preview_tells() {
    let world = World::new();
    // 2026-03-27 and 2026-10-24, noon.
    for noon in [1_774_612_800_000, 1_792_843_200_000] {
        let zone = "Europe/Berlin";
        let table = Timetable::parse("30 2 * * *", zone).expect("a timetable");
        let now = world.clock.advance_ms(noon - world.store.now().0);
        let preview = table.upcoming(now, 4);
        let nightly = schedule("30 2 * * *", zone, preview[0]);
        world.store.put_schedule(&nightly).await.expect("recorded");
        let before = runs(&world).await.len();
        for _ in 0..4 * 48 {
            let now = world.clock.advance_ms(30 * 60_000);
            let next = scheduler::tick(&world.store, now)
                .await
                .expect("ticked")
                .expect("goes on");
            assert!(next > now && preview.contains(&next) || next > preview[3]);
        }
        let made = runs(&world).await;
        let mut moments: Vec<Timestamp> = made.iter().map(|view| view.run.created_at).collect();
        moments.truncate(made.len() - before);
        moments.reverse();
        assert_eq!(moments, preview);
        assert_eq!(world.store.remove_schedule("default", "nightly").await, Ok(true));
    }
}

#[tokio::test]
async fn s50_of_the_occurrences_that_nobody_was_there_for_the_latest_is_made_good_once() {
    let world = World::new();
    let hour = 3_600_000;
    world.clock.advance_ms(hour - START.0);
    let hourly = schedule("0 * * * *", "UTC", Timestamp(2 * hour));
    world.store.put_schedule(&hourly).await.expect("recorded");
    assert_eq!(
        scheduler::tick(&world.store, world.store.now()).await,
        Ok(Some(Timestamp(2 * hour))),
        "it is not due yet"
    );
    let now = world.clock.advance_ms(9 * hour + 5);
    for _ in 0..2 {
        assert_eq!(scheduler::tick(&world.store, now).await, Ok(Some(Timestamp(11 * hour))));
    }
    let made = runs(&world).await;
    assert_eq!(made.len(), 1);
    let stored = world.store.schedules(None).await.expect("read").remove(0);
    let last = stored.last.expect("an occurrence");
    assert_eq!((last.at, last.run), (Timestamp(10 * hour), Some(made[0].run.id)));

    // A crash after the submit and before the note of it: the next look finds the run.
    let again = Schedule {
        version: stored.version + 1,
        next_at: Some(Timestamp(10 * hour)),
        last: None,
        ..hourly
    };
    world.store.put_schedule(&again).await.expect("recorded");
    scheduler::tick(&world.store, now).await.expect("ticked");
    assert_eq!(runs(&world).await.len(), 1);
    let stored = world.store.schedules(None).await.expect("read").remove(0);
    assert_eq!(stored.last.expect("an occurrence").run, Some(made[0].run.id));
}

#[tokio::test]
async fn s50_a_plan_that_is_refused_is_told_and_tried_again_the_next_time() {
    let world = World::new();
    let mut broken = schedule("* * * * *", "UTC", START);
    broken.plan.jobs[0].agent = Some("nobody".into());
    world.store.put_schedule(&broken).await.expect("recorded");
    let next = scheduler::tick(&world.store, START)
        .await
        .expect("ticked")
        .expect("goes on");
    assert!(next > START && next <= START + 60_000);
    let stored = world.store.schedules(None).await.expect("read").remove(0);
    let error = stored.last.expect("an occurrence").error.expect("a reason");
    assert!(error.contains("LW0301"), "{error}");
    assert_eq!(runs(&world).await.len(), 0);
}
