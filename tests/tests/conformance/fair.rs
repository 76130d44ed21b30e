//! The runs of a queue take turns.

use std::collections::BTreeMap;

use legwork_shared::batch::Batch;
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{Job, Verdict};
use legwork_shared::run::Run;
use legwork_shared::store::{ClaimRequest, Commit};

use legwork_tests::make;

use crate::world::World;

/// Submits a run of so many jobs.
async fn submit(world: &World, jobs: usize, priority: i32) -> (Run, Vec<JobId>) {
    let run = world.run();
    let job = |_| {
        let mut spec = make::spec("one of some");
        spec.priority = priority;
        world.queued(&run, spec)
    };
    let jobs: Vec<Job> = (0..jobs).map(job).collect();
    world.submit(&run, &jobs, &[]).await;
    (run, jobs.iter().map(|job| job.id).collect())
}

/// Claims one job after the other, and returns the runs they are of.
async fn claim_each(world: &World, times: usize) -> Vec<RunId> {
    let mut runs = Vec::new();
    for _ in 0..times {
        runs.extend(world.claim(1).await.into_iter().map(|claimed| claimed.job.run));
    }
    runs
}

pub async fn s51_a_run_of_many_jobs_does_not_keep_a_short_one_waiting(world: &World) {
    let (long, _) = submit(world, 1_000, 0).await;
    assert_eq!(claim_each(world, 100).await, vec![long.id; 100]);
    let (short, _) = submit(world, 3, 0).await;
    let next = claim_each(world, 7).await;
    let of_short = next.iter().filter(|run| **run == short.id).count();
    assert_eq!(of_short, 3, "{next:?}");
    // And it is not kept waiting itself.
    assert_eq!(claim_each(world, 5).await, vec![long.id; 5]);
}

pub async fn s51_all_runs_get_the_same_share_whatever_their_length(world: &World) {
    let mut runs = Vec::new();
    for jobs in [400, 200, 100, 50] {
        runs.push(submit(world, jobs, 0).await.0.id);
    }
    let mut taken: BTreeMap<RunId, usize> = BTreeMap::new();
    for claimed in world.claim(160).await {
        *taken.entry(claimed.job.run).or_default() += 1;
    }
    for run in &runs {
        assert_eq!(taken[run], 40, "{taken:?}");
    }
}

pub async fn s51_jobs_that_come_one_by_one_take_turns_as_well(world: &World) {
    let run = world.run();
    world.submit(&run, &[], &[]).await;
    for _ in 0..50 {
        let job = world.queued(&run, make::spec("one more"));
        let mut batch = Batch::at(world.now());
        make::add_jobs(&mut batch, &run, &[job], &[]);
        assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    }
    let (short, _) = submit(world, 3, 0).await;
    let next = claim_each(world, 7).await;
    assert_eq!(next.iter().filter(|run| **run == short.id).count(), 3, "{next:?}");
}

pub async fn s51_a_priority_goes_before_all_turns_and_takes_none_away(world: &World) {
    let (low, _) = submit(world, 100, 0).await;
    let (high, _) = submit(world, 100, 1).await;
    assert_eq!(claim_each(world, 50).await, vec![high.id; 50]);
    // Whoever comes now is not put behind what the urgent ones have used up.
    let (late, _) = submit(world, 2, 0).await;
    assert_eq!(claim_each(world, 50).await, vec![high.id; 50]);
    let next = claim_each(world, 4).await;
    assert_eq!(next.iter().filter(|run| **run == late.id).count(), 2, "{next:?}");
    assert_eq!(claim_each(world, 1).await, [low.id]);
}

pub async fn s51_a_run_that_was_away_gets_no_turns_for_that(world: &World) {
    let (away, _) = submit(world, 1, 0).await;
    assert_eq!(claim_each(world, 1).await, [away.id]);
    let (other, _) = submit(world, 60, 0).await;
    assert_eq!(claim_each(world, 40).await, vec![other.id; 40]);
    let jobs: Vec<Job> = (0..20).map(|_| world.queued(&away, make::spec("back again"))).collect();
    let mut batch = Batch::at(world.now());
    make::add_jobs(&mut batch, &away, &jobs, &[]);
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    let next = claim_each(world, 20).await;
    let of_other = next.iter().filter(|run| **run == other.id).count();
    assert!((9..=11).contains(&of_other), "{of_other} of 20");
}

pub async fn s51_runs_of_one_job_that_keep_coming_keep_nobody_waiting(world: &World) {
    let (patient, _) = submit(world, 3, 0).await;
    let mut next = Vec::new();
    for _ in 0..8 {
        submit(world, 1, 0).await;
        next.extend(claim_each(world, 1).await);
    }
    let of_patient = next.iter().filter(|run| **run == patient.id).count();
    assert_eq!(of_patient, 3, "{next:?}");
}

pub async fn of_several_queues_the_head_that_waits_longest_is_next(world: &World) {
    let run = world.run();
    let mut jobs = Vec::new();
    for n in 0..6 {
        let mut spec = make::spec("a");
        let queue = if n % 3 == 0 { "night" } else { "default" };
        queue.clone_into(&mut spec.queue);
        jobs.push(world.queued(&run, spec));
        world.clock.advance_ms(1);
    }
    world.submit(&run, &jobs, &[]).await;
    // One queue is far ahead of the other in turns.
    for _ in 0..3 {
        let claimed = world.claim(4).await;
        for claimed in &claimed {
            let back = world.settle(claimed, Verdict::Yielded { due: world.now() }).await;
            assert_eq!(back, Ok(Commit::Done));
        }
    }
    let request = ClaimRequest {
        queues: vec!["default".to_owned(), "night".to_owned()],
        ..world.request(9)
    };
    let claimed = world.store.claim(&request).await.unwrap();
    let queues: Vec<&str> = claimed.iter().map(|claimed| claimed.job.spec.queue.as_str()).collect();
    assert_eq!(queues, ["night", "night", "default", "default", "default", "default"]);
}
