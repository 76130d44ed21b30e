//! With sentinels: the store is on the server that they name, whichever that is by now.

use std::sync::Arc;

use legwork_shared::job::JobState;
use legwork_shared::store::{Commit, StoreError};
use legwork_tests::engine::{Engine, open_server};
use legwork_tests::log::Log;
use legwork_tests::make;
use legwork_tests::redis_sentinels::{MASTER, RedisSentinels};

use super::refusal;
use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_follows_its_master_to_the_replica() {
    let log = Log::of_this_process();
    let mut sentinels = RedisSentinels::start().unwrap();
    let mut world = World::on(Engine::Memory).await;
    let address = format!("{}&min_replicas=1", sentinels.address(MASTER, "lw"));
    world.store = Arc::new(open_server(&address, world.clock.clone()).await.unwrap());
    let (_, first) = world.submit_one("a").await;
    let claimed = world.claim_one().await;
    world.succeed(&claimed).await;
    // A sentinel that is gone is one of three.
    sentinels.kill_sentinel(0);
    sentinels.kill_master();
    // Without a replica nothing more is acknowledged; so this one waits for none.
    let plain = Arc::new(open_server_later(&sentinels, &world).await);
    world.store = plain;
    let run = world.run();
    let batch = world.submission(&run, &[world.queued(&run, make::spec("b"))], &[]);
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    sentinels.until_replaced().unwrap();
    assert_eq!(world.job(first.id).await.state(), JobState::Succeeded);
    assert_eq!(world.claim(10).await.len(), 1);
    assert!(log.lines("does not answer").len() <= 2, "{:#?}", log.lines(""));
}

/// The store as it opens while its master is being replaced.
async fn open_server_later(sentinels: &RedisSentinels, world: &World) -> legwork_shared::store::redis::RedisStore {
    let address = sentinels.address(MASTER, "lw");
    legwork_tests::harness::wait_until("the store opens", async || {
        open_server(&address, world.clock.clone()).await.ok()
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_meets_the_fail_over_is_done_once() {
    let log = Log::of_this_process();
    let mut sentinels = RedisSentinels::start().unwrap();
    let mut world = World::on(Engine::Memory).await;
    let address = sentinels.address(MASTER, "lw");
    world.store = Arc::new(open_server(&address, world.clock.clone()).await.unwrap());
    world.submit_one("a").await;
    sentinels.master().until("WAIT 1 100", ":1").unwrap();
    sentinels.kill_master();
    let (run, _) = world.submit_one("b").await;
    assert_eq!(world.log(run.id).await.len(), 2);
    assert_eq!(world.claim(10).await.len(), 2);
    let told = (log.lines("does not answer"), log.lines("answers again"));
    assert_eq!((told.0.len(), told.1.len()), (1, 1), "{told:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mistakes_with_sentinels_are_told() {
    let sentinels = RedisSentinels::start().unwrap();
    let unknown = refusal(&sentinels.address("another", "lw")).await;
    assert!(matches!(unknown, StoreError::Unfit { .. }), "{unknown:?}");
    assert!(unknown.to_string().contains("no master `another`"), "{unknown}");
    let port = sentinels.master().port();
    let no_sentinel = refusal(&format!("redis+sentinel://127.0.0.1:{port}/{MASTER}")).await;
    assert!(no_sentinel.to_string().contains("no sentinel"), "{no_sentinel}");
    let replica = refusal(&format!("redis://127.0.0.1:{}", sentinels.replica().port())).await;
    assert!(replica.to_string().contains("it is a replica"), "{replica}");
}
