//! A job that waits for nobody any more goes on in the same commit, and once.

use legwork_shared::batch::Batch;
use legwork_shared::dag::{Condition, Edge, EdgeKind};
use legwork_shared::job::{self, BlockedOn, Command, Delay, EventKind, Job, JobState, Phase, Verdict};
use legwork_shared::run::Run;
use legwork_shared::store::Commit;

use legwork_tests::make::{self, add_jobs, needs};

use crate::world::World;

/// A run of `parents` queued jobs and one that needs them all.
async fn join(world: &World, parents: usize) -> (Run, Vec<Job>, Job) {
    let run = world.run();
    let parents: Vec<Job> = (0..parents)
        .map(|n| world.queued(&run, make::spec(&format!("p{n}"))))
        .collect();
    let child = world.blocked(&run, make::spec("join"));
    let edges: Vec<Edge> = parents.iter().map(|parent| needs(&child, parent)).collect();
    let mut jobs = parents.clone();
    jobs.push(child.clone());
    world.submit(&run, &jobs, &edges).await;
    (run, parents, child)
}

/// What `Release` makes of the job.
fn released(job: &Job, world: &World) -> Job {
    job::apply(job, &Command::Release, world.now()).unwrap().job
}

async fn countdown(world: &World, edges: &[Edge]) {
    let mut batch = Batch::at(world.now());
    batch.countdown.extend_from_slice(edges);
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
}

pub async fn the_last_parent_releases_the_child_in_the_same_commit(world: &World) {
    let (run, _, child) = join(world, 2).await;
    world.clock.advance_ms(500);
    let claimed = world.claim(9).await;
    assert_eq!(claimed.len(), 2);
    world.succeed(&claimed[0]).await;
    assert_eq!(world.job(child.id).await, child);
    let before = world.log(run.id).await.len();

    world.clock.advance_ms(500);
    world.succeed(&claimed[1]).await;
    assert_eq!(world.job(child.id).await, released(&child, world));
    let log = world.log(run.id).await;
    assert_eq!(log[before..], [EventKind::Succeeded, EventKind::Queued]);
    assert_eq!(world.claim_one().await.job.id, child.id);
}

pub async fn counting_down_an_edge_twice_counts_once(world: &World) {
    let (_, parents, child) = join(world, 2).await;
    let [first, second] = [needs(&child, &parents[0]), needs(&child, &parents[1])];
    countdown(world, &[first, first]).await;
    countdown(world, &[first]).await;
    assert_eq!(world.job(child.id).await, child);
    countdown(world, &[second]).await;
    assert_eq!(world.job(child.id).await, released(&child, world));
}

pub async fn a_job_is_released_once(world: &World) {
    let (run, parents, child) = join(world, 1).await;
    let edge = needs(&child, &parents[0]);
    countdown(world, &[edge]).await;
    let before = world.snapshot(run.id).await;
    countdown(world, &[edge]).await;
    assert_eq!(world.snapshot(run.id).await, before);
}

pub async fn countdowns_at_the_same_time_release_the_join_once(world: &World) {
    let (run, parents, child) = join(world, 100).await;
    let commits: Vec<_> = parents
        .iter()
        .map(|parent| {
            let mut batch = Batch::at(world.now());
            batch.countdown.push(needs(&child, parent));
            let store = world.store.clone();
            tokio::spawn(async move { store.commit(batch).await })
        })
        .collect();
    for commit in commits {
        assert_eq!(commit.await.unwrap(), Ok(Commit::Done));
    }
    assert_eq!(world.job(child.id).await, released(&child, world));
    let log = world.store.events(run.id, 0, usize::MAX).await.unwrap();
    let queued = log
        .iter()
        .filter(|record| record.event.job == Some(child.id) && record.event.kind == EventKind::Queued);
    assert_eq!(queued.count(), 1);
}

pub async fn a_blocked_job_that_waits_for_nobody_is_released_by_its_own_submit(world: &World) {
    let run = world.run();
    let job = world.blocked(&run, make::spec("a"));
    world.submit(&run, std::slice::from_ref(&job), &[]).await;
    assert_eq!(world.job(job.id).await, released(&job, world));
    assert_eq!(world.log(run.id).await.last(), Some(&EventKind::Queued));
}

pub async fn a_parent_that_has_ended_is_not_waited_for(world: &World) {
    let (run, parent) = world.submit_one("p").await;
    world.succeed(&world.claim_one().await).await;
    let child = world.blocked(&run, make::spec("late"));
    let mut batch = Batch::at(world.now());
    add_jobs(&mut batch, &run, std::slice::from_ref(&child), &[]);
    batch.edges.push((needs(&child, &parent), false));
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    assert_eq!(world.job(child.id).await.state(), JobState::Queued);
    assert_eq!(
        world.store.dependencies(child.id).await,
        Ok(vec![needs(&child, &parent)])
    );
}

pub async fn a_released_job_with_a_start_time_waits_for_it(world: &World) {
    let run = world.run();
    let mut spec = make::spec("later");
    let due = world.now() + 5_000;
    spec.start_at = Some(due);
    let job = world.blocked(&run, spec);
    world.submit(&run, std::slice::from_ref(&job), &[]).await;
    let stored = world.job(job.id).await;
    let (since, reason) = (world.now(), Delay::Start);
    assert_eq!(stored.phase, Phase::Scheduled { due, reason, since });
    let scheduled = EventKind::Scheduled { due, reason };
    assert_eq!(world.log(run.id).await.last(), Some(&scheduled));
}

pub async fn a_job_that_waits_for_children_that_have_ended_goes_on_at_once(world: &World) {
    let (run, job) = world.submit_one("coordinator").await;
    let coordinator = world.claim_one().await;
    let helper = world.queued(&run, make::spec("helper"));
    let edge = Edge {
        parent: helper.id,
        child: job.id,
        condition: Condition::Finished,
        kind: EdgeKind::Await,
    };
    let mut batch = Batch::at(world.now());
    add_jobs(&mut batch, &run, std::slice::from_ref(&helper), &[edge]);
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    let claimed = world.claim_one().await;
    assert_eq!(claimed.dependents, [edge]);
    world.succeed(&claimed).await;
    assert_eq!(
        world.job(job.id).await,
        coordinator.job,
        "a running job is not released"
    );

    let waiting = Verdict::Waiting(BlockedOn::Children);
    assert_eq!(world.settle(&coordinator, waiting).await, Ok(Commit::Done));
    assert_eq!(world.job(job.id).await.phase, Phase::Queued { since: world.now() });
    let log = world.log(run.id).await;
    let on = BlockedOn::Children;
    assert_eq!(log[log.len() - 2..], [EventKind::Blocked { on }, EventKind::Queued]);
}

pub async fn a_reopened_edge_is_waited_for_again(world: &World) {
    let (_, parents, child) = join(world, 2).await;
    let [first, second] = [needs(&child, &parents[0]), needs(&child, &parents[1])];
    countdown(world, &[first]).await;
    let mut batch = Batch::at(world.now());
    batch.reopen = vec![first, first];
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    countdown(world, &[second]).await;
    assert_eq!(world.job(child.id).await, child);
    countdown(world, &[first]).await;
    assert_eq!(world.job(child.id).await, released(&child, world));
}

pub async fn an_edge_that_is_not_there_is_counted_down_without_effect(world: &World) {
    let (run, parents, child) = join(world, 1).await;
    let stranger = needs(&parents[0], &child);
    let before = world.snapshot(run.id).await;
    countdown(world, &[stranger]).await;
    let mut batch = Batch::at(world.now());
    batch.reopen.push(stranger);
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    assert_eq!(world.snapshot(run.id).await, before);
}

pub async fn jobs_that_one_commit_releases_are_told_in_the_order_of_their_ids(world: &World) {
    let run = world.run();
    let parent = world.queued(&run, make::spec("parent"));
    let children: Vec<Job> = (0..5)
        .map(|n| world.blocked(&run, make::spec(&format!("c{n}"))))
        .collect();
    let edges: Vec<Edge> = children.iter().map(|child| needs(child, &parent)).collect();
    let jobs: Vec<Job> = std::iter::once(parent.clone()).chain(children.clone()).collect();
    world.submit(&run, &jobs, &edges).await;
    let before = world.log(run.id).await.len();
    let backwards: Vec<Edge> = edges.into_iter().rev().collect();
    countdown(world, &backwards).await;
    let events = world.store.events(run.id, before as u64, 99).await.unwrap();
    let told: Vec<_> = events.iter().map(|record| record.event.job.unwrap()).collect();
    assert_eq!(told, children.iter().map(|child| child.id).collect::<Vec<_>>());
}
