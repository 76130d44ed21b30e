//! Maintenance learns what has fallen due and when to look again; workers are on record while they live.

use legwork_shared::batch::Batch;
use legwork_shared::id::{JobId, WorkerId};
use legwork_shared::job::{Command, Job, JobState};
use legwork_shared::store::{ClaimRequest, Commit, Due, WorkerRecord};
use legwork_shared::time::Timestamp;

use legwork_tests::make::{self, token};

use crate::world::{LEASE_MS, World};

async fn due(world: &World) -> Due {
    world.store.due(world.now(), 9).await.unwrap()
}

fn next(at: Timestamp) -> Due {
    Due {
        next: Some(at),
        ..Due::default()
    }
}

pub async fn nothing_is_due_in_an_empty_store(world: &World) {
    assert_eq!(due(world).await, Due::default());
}

pub async fn a_scheduled_job_is_due_at_its_time(world: &World) {
    let run = world.run();
    let at = world.now() + 5_000;
    let job = world.scheduled(&run, make::spec("later"), at);
    world.submit(&run, std::slice::from_ref(&job), &[]).await;
    assert_eq!(due(world).await, next(at));
    world.clock.advance_ms(4_999);
    assert_eq!(due(world).await, next(at));
    world.clock.advance_ms(1);
    let scheduled = vec![job];
    assert_eq!(
        due(world).await,
        Due {
            scheduled,
            ..Due::default()
        }
    );
}

pub async fn a_lease_is_expired_when_it_lapses(world: &World) {
    world.submit_one("a").await;
    let claimed = world.claim_one().await;
    let until = world.now() + LEASE_MS;
    assert_eq!(due(world).await, next(until));
    world.store.extend(&[token(&claimed.job)], until + 7).await.unwrap();
    world.clock.advance_ms(LEASE_MS + 6);
    assert_eq!(due(world).await, next(until + 7));
    world.clock.advance_ms(1);
    let expired = vec![world.job(claimed.job.id).await];
    assert_eq!(
        due(world).await,
        Due {
            expired,
            ..Due::default()
        }
    );
    // Looking changes nothing.
    assert_eq!(world.job(claimed.job.id).await.state(), JobState::Running);
}

pub async fn a_job_that_nobody_took_in_time_is_overdue(world: &World) {
    let run = world.run();
    let mut spec = make::spec("a");
    spec.limits.queue_timeout_ms = Some(1_000);
    let job = world.queued(&run, spec);
    world.submit(&run, std::slice::from_ref(&job), &[]).await;
    assert_eq!(due(world).await, next(world.now() + 1_000));
    world.clock.advance_ms(1_000);
    let overdue = vec![job];
    assert_eq!(
        due(world).await,
        Due {
            overdue,
            ..Due::default()
        }
    );

    // After its first attempt it may wait as long as it takes.
    let claimed = world.claim_one().await;
    let token = token(&claimed.job);
    let lost = world.change(&claimed, &Command::Lose { token });
    assert_eq!(world.store.commit(lost).await, Ok(Commit::Done));
    world.clock.advance_ms(10_000);
    assert_eq!(due(world).await, Due::default());
}

pub async fn a_job_without_a_queue_timeout_waits_for_ever(world: &World) {
    world.submit_one("a").await;
    world.clock.advance_ms(u64::from(u32::MAX));
    assert_eq!(due(world).await, Due::default());
}

pub async fn the_soonest_moment_of_all_is_the_next(world: &World) {
    let run = world.run();
    let later = [9_000, 3_000, 6_000].map(|ms| world.scheduled(&run, make::spec("later"), world.now() + ms));
    let mut spec = make::spec("impatient");
    spec.limits.queue_timeout_ms = Some(2_000);
    let impatient = world.queued(&run, spec);
    let mut jobs = later.to_vec();
    jobs.push(impatient);
    world.submit(&run, &jobs, &[]).await;
    assert_eq!(due(world).await, next(world.now() + 2_000));
    world.claim_one().await;
    assert_eq!(due(world).await, next(world.now() + 3_000));
}

pub async fn no_more_than_the_limit_is_given_and_the_rest_is_due_now(world: &World) {
    let run = world.run();
    let jobs: Vec<Job> = (0..5)
        .map(|_| world.scheduled(&run, make::spec("a"), world.now()))
        .collect();
    world.submit(&run, &jobs, &[]).await;
    let some = world.store.due(world.now(), 3).await.unwrap();
    assert_eq!((some.scheduled.len(), some.next), (3, Some(world.now())));
    let all = world.store.due(world.now(), 5).await.unwrap();
    assert_eq!((all.scheduled.len(), all.next), (5, None));
}

pub async fn a_cascade_stands_until_it_is_done(world: &World) {
    let ids: Vec<JobId> = (0..3).map(|n| JobId::nth(world.now(), n, 1)).collect();
    let mut batch = Batch::at(world.now());
    batch.cascade = vec![ids[2], ids[0], ids[1], ids[0]];
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    assert_eq!(due(world).await.cascades, ids);
    let some = world.store.due(world.now(), 2).await.unwrap();
    assert_eq!((some.cascades, some.next), (ids[..2].to_vec(), Some(world.now())));

    let mut batch = Batch::at(world.now());
    batch.cascaded = vec![ids[1], JobId::nth(world.now(), 800, 0)];
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    assert_eq!(due(world).await.cascades, [ids[0], ids[2]]);
}

pub async fn the_jobs_that_a_worker_holds_are_its_running_ones(world: &World) {
    for name in ["a", "b", "c"] {
        world.submit_one(name).await;
    }
    let mine = world.claim(2).await;
    let other = ClaimRequest {
        worker: WorkerId::nth(world.now(), 2, 0),
        ..world.request(1)
    };
    let theirs = world.store.claim(&other).await.unwrap();
    let held = |worker| world.store.held(worker);
    assert_eq!(
        held(world.worker).await,
        Ok(vec![mine[0].job.clone(), mine[1].job.clone()])
    );
    assert_eq!(held(other.worker).await, Ok(vec![theirs[0].job.clone()]));
    world.succeed(&mine[0]).await;
    assert_eq!(held(world.worker).await, Ok(vec![mine[1].job.clone()]));
}

pub async fn a_worker_is_on_record_until_it_is_removed(world: &World) {
    let record = |n: u32, seen_at| WorkerRecord {
        id: WorkerId::nth(world.now(), n, 0),
        name: format!("worker {n}"),
        host: "here".to_owned(),
        machine: Some("a machine".to_owned()),
        pid: 17,
        version: "0.1.0".to_owned(),
        slots: 4,
        queues: vec!["default".to_owned()],
        started_at: world.now(),
        seen_at,
        clock_ahead_ms: -7,
    };
    let (low, high) = (record(1, world.now()), record(2, world.now()));
    for worker in [&high, &low] {
        world.store.put_worker(worker).await.unwrap();
    }
    assert_eq!(world.store.workers().await, Ok(vec![low.clone(), high.clone()]));
    let seen = record(1, world.now() + 9);
    world.store.put_worker(&seen).await.unwrap();
    assert_eq!(world.store.workers().await, Ok(vec![seen, high.clone()]));
    for _ in 0..2 {
        assert_eq!(world.store.remove_worker(low.id).await, Ok(()));
    }
    assert_eq!(world.store.workers().await, Ok(vec![high]));
}
