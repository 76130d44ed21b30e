//! What is queued waits while its queue or its run is paused.

use legwork_shared::dag::Edge;
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{Command, EventKind, Job, JobState, Verdict};
use legwork_shared::run::{Pausable, Pause, Run};
use legwork_shared::store::{ClaimRequest, Claimed, Commit};

use legwork_tests::make::{self, needs};

use crate::world::World;

fn pause(world: &World, of: Pausable) -> Pause {
    Pause {
        of,
        by: "a person".to_owned(),
        at: world.now(),
    }
}

fn queue(name: &str) -> Pausable {
    Pausable::Queue(name.to_owned())
}

async fn paused(world: &World, of: Pausable) {
    assert_eq!(world.store.pause(&pause(world, of)).await, Ok(true));
}

async fn resumed(world: &World, of: &Pausable) {
    assert_eq!(world.store.resume(of, "another").await, Ok(true));
}

fn ids(claimed: &[Claimed]) -> Vec<JobId> {
    claimed.iter().map(|claimed| claimed.job.id).collect()
}

/// A claim from two queues.
async fn claim_both(world: &World) -> Vec<JobId> {
    let request = ClaimRequest {
        queues: vec!["default".to_owned(), "night".to_owned()],
        ..world.request(9)
    };
    ids(&world.store.claim(&request).await.unwrap())
}

fn in_queue(world: &World, run: &Run, name: &str) -> Job {
    let mut spec = make::spec(name);
    name.clone_into(&mut spec.queue);
    world.queued(run, spec)
}

pub async fn nothing_of_a_paused_queue_is_handed_out(world: &World) {
    let run = world.run();
    let jobs = ["night", "default"].map(|name| in_queue(world, &run, name));
    world.submit(&run, &jobs[..1], &[]).await;
    paused(world, queue("night")).await;
    let mut more = legwork_shared::batch::Batch::at(world.now());
    let later = in_queue(world, &run, "night");
    make::add_jobs(&mut more, &run, &[jobs[1].clone(), later.clone()], &[]);
    assert_eq!(world.store.commit(more).await, Ok(Commit::Done));
    assert_eq!(claim_both(world).await, [jobs[1].id]);
    assert_eq!(claim_both(world).await, []);
    resumed(world, &queue("night")).await;
    assert_eq!(claim_both(world).await, [jobs[0].id, later.id]);
    assert_eq!(world.log(run.id).await.len(), 7, "a run's log says nothing of queues");
}

pub async fn nothing_of_a_paused_run_is_handed_out_whenever_it_was_queued(world: &World) {
    let run = world.run();
    let (parent, first) = (
        world.queued(&run, make::spec("parent")),
        world.queued(&run, make::spec("first")),
    );
    let child = world.blocked(&run, make::spec("c"));
    let scheduled = world.scheduled(&run, make::spec("d"), world.now());
    let edges: [Edge; 1] = [needs(&child, &parent)];
    world
        .submit(
            &run,
            &[parent.clone(), first.clone(), child.clone(), scheduled.clone()],
            &edges,
        )
        .await;
    let held = world.claim(1).await;
    let of = Pausable::Run(run.id);
    paused(world, of.clone()).await;
    let (_, other) = world.submit_one("other").await;
    assert_eq!(ids(&world.claim(9).await), [other.id]);
    // What is queued by a release, by time, or because it is given back, is held back as well.
    world.succeed(&held[0]).await;
    let due = make::change(
        &Claimed {
            job: world.job(scheduled.id).await,
            ..held[0].clone()
        },
        &Command::Due,
        world.now(),
    );
    assert_eq!(world.store.commit(due.unwrap()).await, Ok(Commit::Done));
    for id in [first.id, child.id, scheduled.id] {
        assert_eq!(world.job(id).await.state(), JobState::Queued);
    }
    assert_eq!(world.claim(9).await, []);
    resumed(world, &of).await;
    assert_eq!(world.claim(9).await.len(), 3);
    let log = world.log(run.id).await;
    let by = |who: &str| who.to_owned();
    assert!(log.contains(&EventKind::Paused { by: by("a person") }));
    assert!(log.contains(&EventKind::Resumed { by: by("another") }));
}

pub async fn attempts_under_way_go_on_and_everything_else_about_the_jobs_changes(world: &World) {
    let run = world.run();
    let jobs: Vec<Job> = ["a", "b", "c"]
        .map(|name| world.queued(&run, make::spec(name)))
        .to_vec();
    world.submit(&run, &jobs, &[]).await;
    let claimed = world.claim(1).await;
    let of = Pausable::Run(run.id);
    paused(world, of.clone()).await;
    assert_eq!(world.claim(9).await, []);
    let given_back = world.settle(&claimed[0], Verdict::Yielded { due: world.now() }).await;
    assert_eq!(given_back, Ok(Commit::Done));
    // Put aside or not, a job can be cancelled, and what was cancelled does not come back.
    let cancel = Command::Cancel {
        by: "a person".to_owned(),
        reason: String::new(),
    };
    let waiting = Claimed {
        job: world.job(jobs[1].id).await,
        ..claimed[0].clone()
    };
    let cancelled = world.store.commit(world.change(&waiting, &cancel)).await;
    assert_eq!(cancelled, Ok(Commit::Done));
    assert_eq!(world.claim(9).await, []);
    resumed(world, &of).await;
    let mut found = ids(&world.claim(9).await);
    found.sort_unstable();
    assert_eq!(found, [jobs[0].id, jobs[2].id]);
}

pub async fn resumed_jobs_come_in_their_old_order(world: &World) {
    let run = world.run();
    let of = Pausable::Run(run.id);
    let mut expected = Vec::new();
    let mut jobs = Vec::new();
    for n in 0..4 {
        let mut spec = make::spec("a");
        spec.priority = n % 2;
        jobs.push(world.queued(&run, spec));
    }
    world.submit(&run, &jobs, &[]).await;
    world.clock.advance_ms(5);
    let (_, other) = world.submit_one("other").await;
    expected.extend([jobs[1].id, jobs[3].id, jobs[0].id, jobs[2].id, other.id]);
    for _ in 0..2 {
        paused(world, of.clone()).await;
        let taken = world.claim(1).await;
        assert_eq!(ids(&taken), [other.id]);
        resumed(world, &of).await;
        let back = world.settle(&taken[0], Verdict::Yielded { due: world.now() }).await;
        assert_eq!(back, Ok(Commit::Done));
    }
    let mut order = Vec::new();
    for _ in 0..5 {
        order.extend(ids(&world.claim(1).await));
    }
    assert_eq!(order, expected);
}

pub async fn the_first_pause_stands_and_ends_once(world: &World) {
    let (run, _) = world.submit_one("a").await;
    let all = [queue("night"), Pausable::Run(run.id)];
    for of in &all {
        paused(world, of.clone()).await;
    }
    let before = world.store.pauses().await.unwrap();
    assert_eq!(before.iter().map(|pause| pause.of.clone()).collect::<Vec<_>>(), all);
    assert!(
        before
            .iter()
            .all(|pause| (pause.by.as_str(), pause.at) == ("a person", world.now()))
    );
    world.clock.advance_ms(9);
    let log = world.log(run.id).await;
    for of in &all {
        let second = Pause {
            by: "somebody else".to_owned(),
            ..pause(world, of.clone())
        };
        assert_eq!(world.store.pause(&second).await, Ok(false));
    }
    assert_eq!(world.store.pauses().await.unwrap(), before);
    for of in &all {
        resumed(world, of).await;
        assert_eq!(world.store.resume(of, "another").await, Ok(false));
    }
    assert_eq!(world.store.pauses().await, Ok(vec![]));
    assert_eq!(world.log(run.id).await.len(), log.len() + 1, "one event for the resume");
}

pub async fn a_run_that_is_not_there_cannot_be_paused(world: &World) {
    let of = Pausable::Run(RunId::nth(world.now(), 900, 0));
    assert_eq!(world.store.pause(&pause(world, of.clone())).await, Ok(false));
    assert_eq!(world.store.resume(&of, "another").await, Ok(false));
    assert_eq!(world.store.pauses().await, Ok(vec![]));
}

pub async fn whoever_waits_for_work_learns_of_a_resume_and_not_of_what_is_held_back(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let mut changes = world.store.changes();
    for of in [queue("default"), Pausable::Run(run.id)] {
        paused(world, of.clone()).await;
        let mut signal = world.store.work_signal(&["default".to_owned()]);
        // What was told before the pause is used up.
        assert_eq!(world.claim(1).await, []);
        signal.arm();
        changes.mark_unchanged();
        assert_eq!(world.claim(1).await, []);
        assert!(!changes.has_changed().unwrap(), "an empty claim wakes nobody");
        let (store, ended) = (world.store.clone(), of.clone());
        let resuming = tokio::spawn(async move { store.resume(&ended, "another").await });
        signal.wait().await;
        assert_eq!(resuming.await.unwrap(), Ok(true));
        assert!(changes.has_changed().unwrap());
    }
    assert_eq!(ids(&world.claim(1).await), [job.id]);
}

pub async fn many_jobs_of_a_paused_run_do_not_stand_in_the_way_of_others(world: &World) {
    const JOBS: usize = 3_000;
    let run = world.run();
    let jobs: Vec<Job> = (0..JOBS)
        .map(|_| world.queued(&run, make::spec("one of many")))
        .collect();
    let of = Pausable::Run(run.id);
    world.submit(&run, &jobs[..1], &[]).await;
    paused(world, of.clone()).await;
    // Queued while the run is paused, so that a claim has to find out.
    let mut batch = legwork_shared::batch::Batch::at(world.now());
    make::add_jobs(&mut batch, &run, &jobs[1..], &[]);
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    world.clock.advance_ms(1);
    let (_, other) = world.submit_one("other").await;
    let mut found = Vec::new();
    // It may take a few claims to put them all aside.
    for _ in 0..3 {
        found.extend(ids(&world.claim(2).await));
    }
    assert_eq!(found, [other.id]);
    resumed(world, &of).await;
    let mut total = 0;
    loop {
        let claimed = world.claim(500).await;
        if claimed.is_empty() {
            break;
        }
        total += claimed.len();
    }
    assert_eq!(total, JOBS);
}

pub async fn the_pause_of_a_run_goes_with_it(world: &World) {
    let (run, _) = world.submit_one("a").await;
    let claimed = world.claim_one().await;
    paused(world, Pausable::Run(run.id)).await;
    world.succeed(&claimed).await;
    assert_eq!(crate::upkeep::prune(world, run.id).await, Ok(()));
    assert_eq!(world.store.pauses().await, Ok(vec![]));
}
