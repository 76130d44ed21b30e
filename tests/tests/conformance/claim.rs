//! A claim gives each job to one worker, the most urgent first.

use std::collections::BTreeSet;

use legwork_shared::batch::Batch;
use legwork_shared::dag::Edge;
use legwork_shared::id::{JobId, WorkerId};
use legwork_shared::job::{self, Command, Job, JobState};
use legwork_shared::run::Run;
use legwork_shared::store::{ClaimRequest, Claimed, Commit};

use legwork_tests::make::{self, needs};

use crate::world::{LEASE_MS, World};

fn ids(claimed: &[Claimed]) -> Vec<JobId> {
    claimed.iter().map(|claimed| claimed.job.id).collect()
}

pub async fn a_claimed_job_is_what_apply_makes_of_it(world: &World) {
    let (run, job) = world.submit_one("a").await;
    world.clock.advance_ms(700);
    let request = world.request(1);
    let lease = request.lease(&job, world.now());
    let expected = job::apply(&job, &Command::Claim { lease }, world.now()).unwrap();
    let claimed = world.claim_one().await;
    assert_eq!(claimed.job, expected.job);
    assert_eq!(world.job(job.id).await, expected.job);
    assert_eq!(world.log(run.id).await[2..], expected.events);
    assert_eq!(claimed.job.phase.lease().unwrap().until, world.now() + LEASE_MS);
}

pub async fn higher_priority_goes_first_then_turn_then_id(world: &World) {
    let (run, other) = (world.run(), world.run());
    let with_priority = |run: &Run, priority| {
        let mut spec = make::spec("a");
        spec.priority = priority;
        world.queued(run, spec)
    };
    let (low, high) = (with_priority(&run, -1), with_priority(&run, i32::MAX));
    let [first, twin, second] = [&run, &other, &run].map(|run| with_priority(run, 0));
    // In a run, jobs take turns in the order in which they are queued.
    let jobs = [&low, &second, &high, &first].map(Clone::clone);
    world.submit(&run, &jobs, &[]).await;
    world.submit(&other, std::slice::from_ref(&twin), &[]).await;
    let mut order = Vec::new();
    for slots in [2, 1, 9] {
        order.extend(ids(&world.claim(slots).await));
    }
    assert_eq!(order, [high.id, twin.id, second.id, first.id, low.id]);
}

pub async fn only_the_named_queues_are_looked_at(world: &World) {
    let run = world.run();
    let in_queue = |queue: &str| {
        let mut spec = make::spec(queue);
        queue.clone_into(&mut spec.queue);
        world.queued(&run, spec)
    };
    let jobs = ["a", "b", "c"].map(in_queue);
    world.submit(&run, &jobs, &[]).await;
    let from = |queues: &[&str]| ClaimRequest {
        queues: queues.iter().map(|queue| (*queue).to_owned()).collect(),
        ..world.request(9)
    };
    assert_eq!(world.store.claim(&from(&[])).await.unwrap(), []);
    assert_eq!(world.store.claim(&from(&["d", ""])).await.unwrap(), []);
    let claimed = world.store.claim(&from(&["c", "a", "c"])).await.unwrap();
    assert_eq!(ids(&claimed), [jobs[0].id, jobs[2].id]);
}

pub async fn no_more_than_the_slots_are_taken(world: &World) {
    for name in ["a", "b", "c"] {
        world.submit_one(name).await;
    }
    assert_eq!(world.claim(0).await, []);
    assert_eq!(world.claim(2).await.len(), 2);
    assert_eq!(world.claim(2).await.len(), 1);
    assert_eq!(world.claim(2).await, []);
}

pub async fn only_queued_jobs_are_taken(world: &World) {
    let run = world.run();
    let parent = world.queued(&run, make::spec("parent"));
    let child = world.blocked(&run, make::spec("child"));
    let scheduled = world.scheduled(&run, make::spec("later"), world.now());
    let edge = needs(&child, &parent);
    world.submit(&run, &[parent.clone(), child, scheduled], &[edge]).await;
    assert_eq!(ids(&world.claim(9).await), [parent.id]);
    world.clock.advance_ms(10 * LEASE_MS);
    assert_eq!(world.claim(9).await, [], "nobody has said that the lease is lost");
    assert_eq!(world.job(parent.id).await.state(), JobState::Running);
}

pub async fn claims_at_the_same_time_never_share_a_job(world: &World) {
    const JOBS: usize = 200;
    let run = world.run();
    let jobs: Vec<Job> = (0..JOBS)
        .map(|n| world.queued(&run, make::spec(&format!("j{n}"))))
        .collect();
    world.submit(&run, &jobs, &[]).await;
    let workers: Vec<_> = (0..8)
        .map(|n| {
            let store = world.store.clone();
            let request = ClaimRequest {
                worker: WorkerId::nth(world.now(), n, 0),
                ..world.request(7)
            };
            tokio::spawn(async move {
                let mut mine = Vec::new();
                loop {
                    let claimed = store.claim(&request).await.unwrap();
                    if claimed.is_empty() {
                        return mine;
                    }
                    mine.extend(claimed);
                }
            })
        })
        .collect();
    let mut claimed = Vec::new();
    for worker in workers {
        claimed.extend(worker.await.unwrap());
    }
    assert_eq!(claimed.len(), JOBS);
    assert_eq!(ids(&claimed).into_iter().collect::<BTreeSet<_>>().len(), JOBS);
    for claimed in &claimed {
        assert_eq!(world.job(claimed.job.id).await, claimed.job);
    }
}

pub async fn each_attempt_has_a_secret_of_its_own(world: &World) {
    for name in ["a", "b"] {
        world.submit_one(name).await;
    }
    let claimed = world.claim(2).await;
    let secrets: BTreeSet<u64> = claimed.iter().map(|claimed| make::token(&claimed.job).secret).collect();
    assert_eq!(secrets.len(), 2);
}

pub async fn the_dependents_are_complete_as_of_the_jobs_version(world: &World) {
    let run = world.run();
    let parent = world.queued(&run, make::spec("parent"));
    let children: Vec<Job> = ["b", "c", "d"]
        .map(|name| world.blocked(&run, make::spec(name)))
        .to_vec();
    let edges: Vec<Edge> = children.iter().map(|child| needs(child, &parent)).collect();
    let mut jobs = vec![parent.clone()];
    jobs.extend_from_slice(&children[..2]);
    world.submit(&run, &jobs, &edges[..2]).await;
    let claimed = world.claim_one().await;
    assert_eq!(claimed.dependents, edges[..2]);

    // Whoever adds a dependent bumps the parent, so that a settle by the old list is refused.
    let mut batch = Batch::at(world.now());
    make::add_jobs(&mut batch, &run, &children[2..], &edges[2..]);
    batch.touch.push((parent.id, claimed.job.version));
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    let stale = world.change(
        &claimed,
        &Command::Settle {
            token: make::token(&claimed.job),
            verdict: legwork_shared::job::Verdict::Succeeded(make::result("done")),
        },
    );
    assert!(world.store.commit(stale).await.is_err());
    let fresh = Claimed {
        job: world.job(parent.id).await,
        dependents: world.store.dependents(parent.id).await.unwrap(),
        ..claimed
    };
    assert_eq!(fresh.dependents, edges);
    world.succeed(&fresh).await;
    assert_eq!(world.claim(9).await.len(), 3);
}
