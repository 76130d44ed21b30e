//! What only an engine with a server can do: come back after a crash, know a call whose answer was lost, wake one of many.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use legwork_shared::batch::Batch;
use legwork_shared::clock::SimClock;
use legwork_shared::job::{JobState, Phase};
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_shared::store::{ClaimRequest, Commit, JobQuery, Store, StoreError};
use legwork_tests::cut_proxy::{CutProxy, LOCALHOST};
use legwork_tests::engine::{Engine, START, open_server};
use legwork_tests::make;
use legwork_tests::redis_server::RedisServer;

use crate::world::{World, snapshot};

mod cluster;
mod outage;
mod reach;
mod sentinel;
mod shards;

fn clock() -> Arc<SimClock> {
    Arc::new(SimClock::at(START))
}

async fn open_at(address: &str) -> Result<RedisStore, StoreError> {
    let options = RedisOptions {
        clock: Some(clock()),
        // What is refused is refused at once, and what is away stays so.
        patience_ms: 0,
    };
    RedisStore::open(address, options).await
}

async fn refusal(address: &str) -> StoreError {
    open_at(address).await.err().expect("it should be refused")
}

/// A world whose connections go through a proxy.
async fn behind_a_proxy() -> (World, CutProxy) {
    let mut world = World::on(Engine::Redis).await;
    let proxy = CutProxy::before(&world.server().socket(), LOCALHOST).await.unwrap();
    world.store = Arc::new(open_server(&proxy.address("lw"), world.clock.clone()).await.unwrap());
    (world, proxy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_there_after_the_server_was_killed_and_its_users_go_on() {
    let mut world = World::on(Engine::Redis).await;
    world.server_mut().keep_each_change().unwrap();
    let (run, _) = world.submit_one("a").await;
    let claimed = world.claim_one().await;
    let before = world.snapshot(run.id).await;
    world.server_mut().restart().unwrap();
    assert_eq!(world.snapshot(run.id).await, before);
    world.succeed(&claimed).await;
    assert_eq!(world.job(claimed.job.id).await.state(), JobState::Succeeded);
    let again = world.opened_again().await;
    assert_eq!(snapshot(&*again, run.id).await, world.snapshot(run.id).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_waited_for() {
    let mut world = World::on(Engine::Redis).await;
    world.submit_one("a").await;
    world.server_mut().keep_each_change().unwrap();
    world.server_mut().kill();
    let run = world.run();
    let batch = world.submission(&run, &[world.queued(&run, make::spec("b"))], &[]);
    let store = world.store.clone();
    let waiting = tokio::spawn(async move { store.commit(batch).await });
    world.server_mut().restart().unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(Commit::Done));
    assert_eq!(world.claim(3).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d51_a_commit_whose_answer_was_lost_is_neither_repeated_nor_reported_as_failed() {
    let (world, proxy) = behind_a_proxy().await;
    world.submit_one("warm up").await;
    for round in 1..=5 {
        proxy.cut(1);
        let (run, _) = world.submit_one("a").await;
        assert_eq!(proxy.lost(), round);
        // The submission's events stand there once, and the run counts its job once.
        assert_eq!(world.log(run.id).await.len(), 2);
        assert_eq!(
            world.view(run.id).await.counter(legwork_shared::budget::Counter::Jobs),
            1
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d51_a_claim_whose_answer_was_lost_gives_the_same_jobs_once() {
    let (world, proxy) = behind_a_proxy().await;
    for name in ["a", "b", "c"] {
        world.submit_one(name).await;
    }
    // The script is known by now, so that the call that is cut is the one that claims.
    assert_eq!(world.claim(1).await.len(), 1);
    proxy.cut(1);
    let claimed = world.claim(2).await;
    assert_eq!((claimed.len(), proxy.lost()), (2, 1));
    for claimed in &claimed {
        assert_eq!(claimed.job.attempt, 1);
        assert_eq!(world.job(claimed.job.id).await, claimed.job);
        world.succeed(claimed).await;
    }
    assert_eq!(world.claim(2).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_forgot_the_scripts_is_told_them_again() {
    let world = World::on(Engine::Redis).await;
    world.submit_one("a").await;
    assert!(world.server().ask("SCRIPT FLUSH").unwrap().starts_with("+OK"));
    let claimed = world.claim_one().await;
    assert!(world.server().ask("SCRIPT FLUSH").unwrap().starts_with("+OK"));
    world.succeed(&claimed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_takes_no_more_and_loses_nothing() {
    let world = World::on(Engine::Redis).await;
    let (run, _) = world.submit_one("a").await;
    let before = world.snapshot(run.id).await;
    assert!(world.server().ask("CONFIG SET maxmemory 1").unwrap().starts_with("+OK"));
    let next = world.run();
    let batch = world.submission(&next, &[world.queued(&next, make::spec("b"))], &[]);
    let refused = world.store.commit(batch.clone()).await;
    assert!(matches!(refused, Err(StoreError::Full { .. })), "{refused:?}");
    assert_eq!(world.snapshot(run.id).await, before);
    assert!(world.server().ask("CONFIG SET maxmemory 0").unwrap().starts_with("+OK"));
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_idle_claimers_at_most_two_ask_for_a_job() {
    const CLAIMERS: usize = 50;
    const JOBS: usize = 20;
    let world = World::on(Engine::Redis).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let (found, mut finds) = tokio::sync::mpsc::unbounded_channel();
    let (idle, mut idlers) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..CLAIMERS {
        let (store, calls, found, idle) = (world.store.clone(), calls.clone(), found.clone(), idle.clone());
        let request = ClaimRequest {
            entropy: number as u64,
            ..world.request(1)
        };
        tokio::spawn(async move {
            let mut signal = store.work_signal(&request.queues);
            loop {
                signal.arm();
                calls.fetch_add(1, Ordering::SeqCst);
                let claimed = store.claim(&request).await.unwrap();
                for claimed in claimed {
                    found.send(claimed.job.id).unwrap();
                }
                idle.send(()).unwrap();
                signal.wait().await;
            }
        });
    }
    for _ in 0..CLAIMERS {
        idlers.recv().await.unwrap();
    }
    world.server().until_blocked(CLAIMERS).unwrap();
    let before = calls.load(Ordering::SeqCst);
    let mut seen = BTreeSet::new();
    for _ in 0..JOBS {
        let (_, job) = world.submit_one("a").await;
        let id = finds.recv().await.unwrap();
        assert_eq!(id, job.id);
        seen.insert(id);
        idlers.recv().await.unwrap();
    }
    assert_eq!(seen.len(), JOBS);
    let asked = calls.load(Ordering::SeqCst) - before;
    // A wait that ends by itself asks as well; those of a moment of this test are few.
    assert!(asked <= 2 * JOBS, "{asked} claims for {JOBS} jobs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_wakes_as_many_claimers_as_there_are_jobs() {
    const JOBS: usize = 8;
    let world = World::on(Engine::Redis).await;
    let (found, mut finds) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..JOBS {
        let (store, found) = (world.store.clone(), found.clone());
        let request = ClaimRequest {
            entropy: number as u64,
            ..world.request(1)
        };
        tokio::spawn(async move {
            let mut signal = store.work_signal(&request.queues);
            signal.wait().await;
            let claimed = store.claim(&request).await.unwrap();
            found.send(claimed.len()).unwrap();
        });
    }
    world.server().until_blocked(JOBS).unwrap();
    let run = world.run();
    let jobs: Vec<_> = (0..JOBS).map(|_| world.queued(&run, make::spec("a"))).collect();
    world.submit(&run, &jobs, &[]).await;
    for _ in 0..JOBS {
        assert_eq!(finds.recv().await, Some(1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_by_another_process_wakes_those_who_wait() {
    let world = World::on(Engine::Redis).await;
    let other = world.opened_again().await;
    let mut changes = other.changes();
    for _ in 0..3 {
        changes.mark_unchanged();
        let (run, _) = world.submit_one("a").await;
        changes.changed().await.unwrap();
        assert!(other.run(run.id).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_is_the_servers() {
    let server = RedisServer::start().unwrap();
    let store = RedisStore::open(&server.address("lw"), RedisOptions::default())
        .await
        .unwrap();
    let answer = server.ask("TIME").unwrap();
    let seconds = answer.lines().nth(2).and_then(|line| line.parse::<u64>().ok());
    let apart = store.now().0.abs_diff(seconds.unwrap() * 1_000);
    assert!(apart < 2_000, "{apart} ms apart");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_prefixes_are_two_stores() {
    let world = World::on(Engine::Redis).await;
    world.submit_one("a").await;
    let other = open_at(&world.server().address("other")).await.unwrap();
    assert_eq!(other.jobs(&JobQuery::default()).await.unwrap().items, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_would_lose_work_is_refused() {
    let server = RedisServer::start().unwrap();
    assert!(
        server
            .ask("CONFIG SET maxmemory-policy allkeys-lru")
            .unwrap()
            .starts_with("+OK")
    );
    let evicting = refusal(&server.address("lw")).await;
    assert!(evicting.to_string().contains("noeviction"), "{evicting}");
    assert!(
        server
            .ask("CONFIG SET maxmemory-policy noeviction")
            .unwrap()
            .starts_with("+OK")
    );
    assert!(server.ask("REPLICAOF 127.0.0.1 1").unwrap().starts_with("+OK"));
    let replica = refusal(&server.address("lw")).await;
    assert!(replica.to_string().contains("replica"), "{replica}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_of_another_layout_or_of_a_later_format_is_refused() {
    let server = RedisServer::start().unwrap();
    let address = server.address("lw");
    drop(open_at(&format!("{address}&shards=12")).await.unwrap());
    drop(open_at(&address).await.unwrap());
    let other = refusal(&format!("{address}&shards=3")).await;
    assert!(other.to_string().contains("12 shards"), "{other}");
    assert!(server.ask("HSET {lw}:settings format 9999").unwrap().starts_with(":0"));
    let newer = refusal(&address).await;
    assert!(matches!(newer, StoreError::Newer { found: 9_999, .. }), "{newer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_is_not_waited_for_without_patience() {
    let error = refusal("unix:///nowhere/redis.sock").await;
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
}

/// The keys of the store, without what the server remembers of callers.
fn keys(world: &World) -> BTreeSet<String> {
    let answer = world.server().ask("KEYS {lw*").unwrap();
    let lines = answer.lines().filter(|line| line.starts_with("{lw"));
    lines
        .filter(|line| !line.contains(":i:"))
        .map(|line| line.chars().filter(char::is_ascii_graphic).collect())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deleted_leaves_no_key_behind() {
    let world = World::on(Engine::Redis).await;
    for _ in 0..2 {
        crate::upkeep::an_ended_run_is_deleted_with_all_that_is_kept_of_it(&world).await;
        let runs = world.store.resolve("run_", 9).await.unwrap().runs;
        crate::upkeep::finish_all(&world).await;
        for run in runs {
            assert_eq!(crate::upkeep::prune(&world, run).await, Ok(()));
        }
        let left = keys(&world);
        let kinds: BTreeSet<&str> = left.iter().filter_map(|key| key.split(':').next_back()).collect();
        // The tenants there were, the agents, how far each queue has got, and what the store says of itself.
        let stays = [":settings", ":t", ":g:", ":y:"];
        let is_one = |key: &String| {
            stays
                .iter()
                .any(|kind| key.ends_with(kind) || kind.ends_with(':') && key.contains(kind))
        };
        assert!(left.iter().all(is_one), "{kinds:?} {left:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_crash_has_left_of_a_deleted_run_goes_with_the_next_one() {
    let world = World::on(Engine::Redis).await;
    let (first, job) = world.submit_one("a").await;
    let (second, _) = world.submit_one("b").await;
    crate::upkeep::finish_all(&world).await;
    // As far as the first call of a long run comes: the run is gone, its jobs are not.
    let id: String = first
        .id
        .as_bytes()
        .iter()
        .map(|byte| format!("\\x{byte:02x}"))
        .collect();
    for command in [
        format!(r#"DEL "{{lw:0}}:r:{id}""#),
        format!(r#"SADD {{lw:0}}:gone "{id}""#),
    ] {
        assert_eq!(world.server().ask(&command).as_deref(), Some(":1\r\n"), "{command}");
    }
    let mut again = world.store.job(job.id).await.unwrap().unwrap();
    // Nobody brings such a job back into its queue: there it would stand without a record.
    again.version += 1;
    again.phase = Phase::Queued { since: world.now() };
    let mut batch = Batch::at(world.now());
    batch.put.push(again);
    let refused = world.store.commit(batch).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(crate::upkeep::prune(&world, second.id).await, Ok(()));
    assert_eq!(world.store.job(job.id).await, Ok(None));
    assert_eq!(world.claim(1).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d54_a_store_of_the_first_format_is_brought_forward_and_its_jobs_go_on() {
    let world = World::on(Engine::Redis).await;
    let (_, queued) = world.submit_one("a").await;
    let (_, running) = world.submit_one("b").await;
    // As the first format had it: no turn in the records, and the queue in the order of time.
    let script = "for _, key in ipairs(redis.call('KEYS', '{lw:0}:j:*')) do \
        local hot = cmsgpack.unpack(redis.call('HGET', key, 'h')) hot[22] = nil \
        redis.call('HSET', key, 'h', cmsgpack.pack(hot)) \
        redis.call('ZREMRANGEBYRANK', '{lw:0}:q:default', 0, 0) \
        redis.call('ZADD', '{lw:0}:q:old', 0, struct.pack('>I4I8', 2147483647 - hot[19], hot[3]) .. string.sub(key, 10)) \
        end redis.call('RENAME', '{lw:0}:q:old', '{lw:0}:q:default') redis.call('DEL', '{lw:0}:y:0:default') \
        return redis.call('HSET', '{lw}:settings', 'format', 1)";
    let done = world.server().ask(&format!("EVAL \"{script}\" 0"));
    assert_eq!(done.as_deref(), Some(":0\r\n"));
    let store = world.opened_again().await;
    let format = world.server().ask("HGET {lw}:settings format");
    assert_eq!(format.as_deref(), Some("$1\r\n2\r\n"));
    assert_eq!(store.job(queued.id).await, Ok(Some(queued)));
    let claimed = store.claim(&world.request(1)).await.unwrap();
    world.succeed(&claimed[0]).await;
    let (_, late) = world.submit_one("c").await;
    let mut left: Vec<_> = store
        .claim(&world.request(9))
        .await
        .unwrap()
        .into_iter()
        .map(|claimed| claimed.job.id)
        .collect();
    left.sort_unstable();
    assert_eq!(left, [running.id, late.id]);
}
