//! What a server says when it cannot, for the moment: each is waited for, told of once, and nothing is lost or done twice.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use legwork_shared::batch::Batch;
use legwork_shared::store::{Commit, Store, StoreError};
use legwork_tests::engine::Engine;
use legwork_tests::log::Log;
use legwork_tests::make;
use tokio::task::JoinHandle;

use crate::world::World;

/// A world that has a job, and the log of what is said of its server.
async fn world() -> (World, Log) {
    let log = Log::of_this_process();
    let mut world = World::on(Engine::Redis).await;
    world.server_mut().keep_each_change().unwrap();
    world.submit_one("a").await;
    (world, log)
}

fn next_batch(world: &World) -> Batch {
    let run = world.run();
    world.submission(&run, &[world.queued(&run, make::spec("b"))], &[])
}

/// Commits that begin while something is in the way: several, as each of them might tell of it.
fn begin(world: &World) -> Vec<JoinHandle<Result<Commit, StoreError>>> {
    let begin = |_| {
        let (store, batch): (Arc<dyn Store>, _) = (world.store.clone(), next_batch(world));
        tokio::spawn(async move { store.commit(batch).await })
    };
    (0..5).map(begin).collect()
}

/// All of them are done, once, and it was told once that they waited, and for what.
async fn check(world: &World, log: &Log, begun: Vec<JoinHandle<Result<Commit, StoreError>>>, why: &str) {
    for commit in begun {
        assert_eq!(commit.await.unwrap(), Ok(Commit::Done));
    }
    assert_eq!(world.claim(100).await.len(), 6);
    let told = (log.lines("does not answer"), log.lines("answers again"));
    assert_eq!((told.0.len(), told.1.len()), (1, 1), "{told:#?}");
    assert!(told.0[0].contains(why), "{told:#?}");
}

/// Waits until it was told that something is in the way.
async fn until_told(log: &Log) {
    legwork_tests::harness::wait_until("it is told", async || {
        (!log.lines("does not answer").is_empty()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_gone() {
    let (mut world, log) = world().await;
    world.server_mut().kill();
    let begun = begin(&world);
    until_told(&log).await;
    world.server_mut().restart().unwrap();
    check(&world, &log, begun, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_loading_its_files() {
    let (mut world, log) = world().await;
    // Some seconds' worth of keys, or as many as it takes to be told.
    let many = "for n = 1, 5000 do redis.call('set', 'x' .. n, string.rep('y', 100)) end";
    world.server().tell(&format!("EVAL \"{many}\" 0")).unwrap();
    world.server().tell("BGREWRITEAOF").unwrap();
    let rewritten = "aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0";
    world.server().until("INFO persistence", rewritten).unwrap();
    let slowly = [
        "--key-load-delay",
        "1000",
        "--loading-process-events-interval-bytes",
        "1024",
    ];
    world.server_mut().add_arguments(&slowly);
    world.server_mut().launch().unwrap();
    world.server().until("PING", "-LOADING").unwrap();
    let begun = begin(&world);
    until_told(&log).await;
    world.server().tell("CONFIG SET key-load-delay 0").unwrap();
    check(&world, &log, begun, "LOADING").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_busy_with_a_script() {
    let (world, log) = world().await;
    world.server().tell("CONFIG SET lua-time-limit 1").unwrap();
    let forever = world.server().begin("EVAL \"while true do end\" 0").unwrap();
    world.server().until("PING", "-BUSY").unwrap();
    let begun = begin(&world);
    until_told(&log).await;
    world.server().tell("SCRIPT KILL").unwrap();
    drop(forever);
    check(&world, &log, begun, "BUSY").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_has_become_a_replica() {
    let (world, log) = world().await;
    world.server().tell("REPLICAOF 127.0.0.1 1").unwrap();
    let begun = begin(&world);
    until_told(&log).await;
    world.server().tell("REPLICAOF NO ONE").unwrap();
    check(&world, &log, begun, "READONLY").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_replicas_are_gone() {
    let (world, log) = world().await;
    world.server().tell("CONFIG SET min-replicas-to-write 1").unwrap();
    let begun = begin(&world);
    until_told(&log).await;
    world.server().tell("CONFIG SET min-replicas-to-write 0").unwrap();
    check(&world, &log, begun, "NOREPLICAS").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_no_more_clients() {
    let (world, log) = world().await;
    // The one connection that is left is ours, so that we can end it.
    let mut only = world.server().begin("CONFIG SET maxclients 1").unwrap();
    assert_eq!(answer(&mut only), "+OK\r\n");
    for kind in ["normal", "pubsub"] {
        only.write_all(format!("CLIENT KILL TYPE {kind}\r\n").as_bytes())
            .unwrap();
        assert!(answer(&mut only).starts_with(':'));
    }
    let begun = begin(&world);
    until_told(&log).await;
    only.write_all(b"CONFIG SET maxclients 100\r\n").unwrap();
    assert_eq!(answer(&mut only), "+OK\r\n");
    check(&world, &log, begun, "").await;
}

/// What the server answers over a connection, in one line.
fn answer(connection: &mut UnixStream) -> String {
    let mut line = [0; 64];
    let read = connection.read(&mut line).unwrap();
    String::from_utf8_lossy(&line[..read]).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_password_is_being_changed() {
    let (mut world, log) = world().await;
    world.server_mut().add_arguments(&["--requirepass", "another"]);
    world.server_mut().restart().unwrap();
    let begun = begin(&world);
    until_told(&log).await;
    let open = world.server().ask_as("default", "another", "CONFIG SET requirepass ");
    open.unwrap();
    check(&world, &log, begun, "password").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_write_its_files_takes_no_more_and_loses_nothing() {
    let (mut world, _) = world().await;
    std::fs::create_dir(world.server().folder().join("nowhere")).unwrap();
    world.server_mut().add_arguments(&["--dbfilename", "nowhere"]);
    world.server_mut().restart().unwrap();
    world.server().tell("CONFIG SET save \"1 1\"").unwrap();
    world.server().tell("BGSAVE").unwrap();
    world
        .server()
        .until("INFO persistence", "rdb_last_bgsave_status:err")
        .unwrap();
    let refused = world.store.commit(next_batch(&world)).await;
    assert!(matches!(refused, Err(StoreError::Full { .. })), "{refused:?}");
    world.server().tell("CONFIG SET save \"\"").unwrap();
    assert_eq!(world.store.commit(next_batch(&world)).await, Ok(Commit::Done));
    assert_eq!(world.claim(100).await.len(), 2);
}
