//! On a server whose store is spread over shards: what is done to jobs of several of them at once.

use std::sync::Arc;

use legwork_orchestrator::maintenance::timers;
use legwork_shared::dag::Edge;
use legwork_shared::job::{FailReason, JobError, JobState, Verdict};
use legwork_shared::store::{Due, StoreError};
use legwork_tests::engine::{Engine, Opened, open_server};
use legwork_tests::make;

use crate::world::{LEASE_MS, Spread, World};

const SHARDS: usize = 3;

async fn spread() -> World {
    let mut world = World::of(Opened::on(Engine::Redis).await.unwrap(), Spread::Apart);
    let address = world.server().address(&format!("spread&shards={SHARDS}"));
    world.store = Arc::new(open_server(&address, world.clock.clone()).await.unwrap());
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_commit_touches_one_shard() {
    let world = spread().await;
    let runs = [world.run(), world.run()];
    let shards = runs.each_ref().map(|run| world.store.shard_of(run.id.slot()));
    assert_eq!(shards, [0, 1]);
    let [mut batch, other] = runs.map(|run| world.submission(&run, &[], &[]));
    batch.runs.extend(other.runs);
    let refused = world.store.commit(batch.clone()).await;
    assert!(matches!(refused, Err(StoreError::Unfit { .. })), "{refused:?}");
    assert_eq!(world.store.run(batch.runs[0].id).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maintenance_takes_care_of_jobs_of_all_shards_at_once() {
    let world = spread().await;
    let mut jobs = Vec::new();
    for _ in 0..2 * SHARDS {
        let run = world.run();
        let lost = world.queued(&run, make::spec("lost"));
        let failed = world.queued(&run, make::spec("failed"));
        let skipped = world.blocked(&run, make::spec("skipped"));
        let later = world.scheduled(&run, make::spec("later"), world.now() + 1_000);
        let edges: [Edge; 1] = [make::needs(&skipped, &failed)];
        let of_run = [lost, failed, skipped, later];
        world.submit(&run, &of_run, &edges).await;
        jobs.extend(of_run.map(|job| job.id));
    }
    let error = JobError::fatal(FailReason::Error, "test", "it failed");
    for claimed in world.claim(jobs.len()).await {
        if claimed.job.spec.name == "failed" {
            world.settle(&claimed, Verdict::Failed(error.clone())).await.unwrap();
        }
    }
    world.clock.advance_ms(LEASE_MS + 1);
    assert_eq!(timers::tick(world.store.as_ref(), world.now()).await, Ok(None));
    assert_eq!(world.store.due(world.now(), 9).await, Ok(Due::default()));
    for of_run in jobs.chunks(4) {
        let mut states = Vec::new();
        for job in of_run {
            states.push(world.job(*job).await.state());
        }
        let wanted = [JobState::Queued, JobState::Failed, JobState::Skipped, JobState::Queued];
        assert_eq!(states, wanted);
    }
}
