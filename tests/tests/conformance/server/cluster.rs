//! On a cluster: the whole contract over several shards, and what happens when one of its masters is gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{EventKind, JobState, Verdict};
use legwork_shared::store::redis::{RedisOptions, RedisStore, Weight};
use legwork_shared::store::{Commit, JobQuery, RunQuery, Store, StoreError};
use legwork_tests::engine::{Engine, Opened, open_server};
use legwork_tests::log::Log;
use legwork_tests::make;
use legwork_tests::redis_cluster::RedisCluster;
use rustix::process::Signal;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::refusal;
use crate::world::{Spread, World};

/// How many submit and work at the same time.
const HANDS: usize = 6;
/// Cases about an order that holds within a shard, as what stands in several is taken from each in its turn; and about
/// commits that touch two runs, which have to stand in one.
const OF_ONE_SHARD: &[&str] = &[
    "higher_priority_goes_first_then_turn_then_id",
    "s51_a_run_of_many_jobs_does_not_keep_a_short_one_waiting",
    "s51_all_runs_get_the_same_share_whatever_their_length",
    "s51_jobs_that_come_one_by_one_take_turns_as_well",
    "s51_a_priority_goes_before_all_turns_and_takes_none_away",
    "s51_a_run_that_was_away_gets_no_turns_for_that",
    "s51_runs_of_one_job_that_keep_coming_keep_nobody_waiting",
    "events_are_numbered_from_one_without_gaps_in_the_order_of_commits",
    "files_are_listed_by_the_beginning_of_their_path",
];

async fn on_a_cluster(spread: Spread) -> World {
    World::of(Opened::on(Engine::Cluster).await.unwrap(), spread)
}

/// Submits a run of one job to each shard.
async fn submit_to_each(world: &World) -> Vec<(RunId, JobId)> {
    let mut submitted = Vec::new();
    for _ in 0..12 {
        let (run, job) = world.submit_one("a").await;
        submitted.push((run.id, job.id));
    }
    let slots: BTreeSet<u8> = submitted.iter().map(|(run, _)| run.slot() % 12).collect();
    assert_eq!(slots.len(), 12, "each stands in a shard of its own");
    submitted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_holds_on_a_cluster() {
    let world = on_a_cluster(Spread::Together).await;
    let world = crate::every_case(world, Spread::Together, &[]).await;
    crate::every_case(world, Spread::Apart, OF_ONE_SHARD).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_in_many_shards_is_listed_as_one() {
    let world = on_a_cluster(Spread::Apart).await;
    let submitted = submit_to_each(&world).await;
    let mut query = JobQuery {
        limit: 5,
        ..JobQuery::default()
    };
    let mut listed = Vec::new();
    loop {
        let page = world.store.jobs(&query).await.unwrap();
        listed.extend(page.items.iter().map(|job| job.id));
        query.after = listed.last().copied();
        if !page.more {
            break;
        }
    }
    assert_eq!(listed, submitted.iter().map(|(_, job)| *job).collect::<Vec<_>>());
    let query = RunQuery {
        tenant: Some("default".to_owned()),
        before: Some(submitted[10].0),
        limit: 3,
    };
    let runs = world.store.runs(&query).await.unwrap();
    let listed: Vec<RunId> = runs.items.iter().map(|view| view.run.id).collect();
    assert_eq!(
        (listed, runs.more),
        ([9, 8, 7].map(|at| submitted[at].0).to_vec(), true)
    );
    for (run, job) in &submitted {
        let found = world.store.resolve(&job.to_string(), 2).await.unwrap();
        assert_eq!((found.runs, found.jobs), (vec![], vec![*job]));
        assert_eq!(world.view(*run).await.run.id, *run);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_begin_with_another_shard_each_time() {
    let world = on_a_cluster(Spread::Apart).await;
    let mut submitted = submit_to_each(&world).await;
    submitted.extend(submit_to_each(&world).await);
    let mut seen = BTreeSet::new();
    for _ in 0..12 {
        let claimed = world.claim(1).await;
        assert_eq!(claimed.len(), 1);
        seen.insert(claimed[0].job.id.slot() % 12);
    }
    assert_eq!(seen.len(), 12, "no shard was served twice before all were served once");
    assert_eq!(world.claim(100).await.len(), 12, "one claim takes from all of them");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_in_any_shard_wakes_a_claimer_that_waits() {
    let world = on_a_cluster(Spread::Apart).await;
    let (found, mut finds) = tokio::sync::mpsc::unbounded_channel();
    let (store, request) = (world.store.clone(), world.request(1));
    tokio::spawn(async move {
        let mut signal = store.work_signal(&request.queues);
        loop {
            signal.arm();
            for claimed in store.claim(&request).await.unwrap() {
                found.send(claimed.job.id).unwrap();
            }
            signal.wait().await;
        }
    });
    for _ in 0..12 {
        let (_, job) = world.submit_one("a").await;
        assert_eq!(finds.recv().await, Some(job.id));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_node_is_looked_at() {
    let mut world = on_a_cluster(Spread::Together).await;
    let address = world.cluster().address("lw");
    let survey = RedisStore::open(&address, RedisOptions::default())
        .await
        .unwrap()
        .survey()
        .await
        .unwrap();
    assert!(
        survey.software().ends_with("3 masters and 3 replicas"),
        "{}",
        survey.software()
    );
    assert_eq!(survey.servers.len(), 6);
    assert!(survey.remarks().iter().all(|remark| remark.weight == Weight::Note));
    // What only a replica does would show once it is a master.
    let replica = world.cluster().replica(1);
    replica.tell("CONFIG SET maxmemory-policy allkeys-lru").unwrap();
    let evicting = refusal(&address).await.to_string();
    let place = format!("127.0.0.1:{}: `maxmemory-policy allkeys-lru`", replica.port());
    assert!(evicting.contains(&place), "{evicting}");
}

/// What was acknowledged to those who submit, claim and end jobs again and again.
#[derive(Default)]
struct Acknowledged {
    submitted: Vec<JobId>,
    ended: Vec<JobId>,
}

/// Jobs that flow through the store of a world until they are told to stop.
struct Flow {
    world: Arc<World>,
    acknowledged: watch::Receiver<usize>,
    stop: watch::Sender<bool>,
    hands: Vec<JoinHandle<Acknowledged>>,
}

impl Flow {
    fn through(world: World) -> Self {
        let world = Arc::new(world);
        let (count, acknowledged) = watch::channel(0);
        let stop = watch::Sender::new(false);
        let hand = |_| {
            let (world, count, stop) = (world.clone(), count.clone(), stop.subscribe());
            tokio::spawn(async move { work(&world, &count, &stop).await })
        };
        let hands = (0..HANDS).map(hand).collect();
        Self {
            world,
            acknowledged,
            stop,
            hands,
        }
    }

    /// Waits until so many more submissions have been acknowledged.
    async fn until_more(&mut self, more: usize) {
        let end = *self.acknowledged.borrow() + more;
        self.acknowledged.wait_for(|count| *count >= end).await.unwrap();
    }

    async fn end(self) -> (Arc<World>, Acknowledged) {
        self.stop.send_replace(true);
        let mut all = Acknowledged::default();
        for hand in self.hands {
            let one = hand.await.unwrap();
            all.submitted.extend(one.submitted);
            all.ended.extend(one.ended);
        }
        (self.world, all)
    }
}

async fn work(world: &World, count: &watch::Sender<usize>, stop: &watch::Receiver<bool>) -> Acknowledged {
    let mut acknowledged = Acknowledged::default();
    while !*stop.borrow() {
        let run = world.run();
        let job = world.queued(&run, make::spec("a"));
        let batch = world.submission(&run, std::slice::from_ref(&job), &[]);
        if world.store.commit(batch).await == Ok(Commit::Done) {
            acknowledged.submitted.push(job.id);
            count.send_modify(|count| *count += 1);
        }
        for claimed in world.store.claim(&world.request(2)).await.unwrap_or_default() {
            let verdict = Verdict::Succeeded(make::result("done"));
            // A refusal or an outage: the job stands as it stood, which is looked at in the end.
            if world.settle(&claimed, verdict).await == Ok(Commit::Done) {
                acknowledged.ended.push(claimed.job.id);
            }
        }
    }
    acknowledged
}

/// All that was submitted is there, and all that was ended has ended once.
async fn check(world: &World, acknowledged: &Acknowledged) {
    for id in &acknowledged.submitted {
        assert!(
            world.store.job(*id).await.unwrap().is_some(),
            "{id} was accepted and is lost"
        );
    }
    for id in &acknowledged.ended {
        let job = world.job(*id).await;
        assert_eq!(job.state(), JobState::Succeeded, "{id} had ended");
        let log = world.log(job.run).await;
        let ends = log.iter().filter(|kind| **kind == EventKind::Succeeded);
        assert_eq!(ends.count(), 1, "{id}: {log:?}");
    }
}

/// A world whose store is on the cluster, with that option in its address.
async fn world_on(cluster: &RedisCluster, option: &str) -> World {
    let mut world = World::of(Opened::on(Engine::Memory).await.unwrap(), Spread::Apart);
    let address = format!("{}{option}", cluster.address("lw"));
    world.store = Arc::new(open_server(&address, world.clock.clone()).await.unwrap());
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_is_killed_is_replaced_and_nothing_that_replicas_have_is_lost() {
    let log = Log::of_this_process();
    let mut cluster = RedisCluster::start().unwrap();
    let mut flow = Flow::through(world_on(&cluster, "&min_replicas=1").await);
    flow.until_more(200).await;
    cluster.kill_master(1);
    cluster.until_replaced(1).unwrap();
    // From now on, its part of the work waits for a replica again.
    cluster.restart_master(1).unwrap();
    cluster.until_followed(1).unwrap();
    flow.until_more(200).await;
    let (world, acknowledged) = flow.end().await;
    check(&world, &acknowledged).await;
    println!(
        "{} submitted, {} ended",
        acknowledged.submitted.len(),
        acknowledged.ended.len()
    );
    // It is told once that it is away, and once that it is there again.
    let told = (log.lines("does not answer"), log.lines("answers again"));
    assert_eq!((told.0.len(), told.1.len()), (1, 1), "{told:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_min_replicas_a_fail_over_loses_no_more_than_the_last_moments() {
    let mut cluster = RedisCluster::start().unwrap();
    let mut flow = Flow::through(world_on(&cluster, "").await);
    flow.until_more(200).await;
    let (world, before) = flow.end().await;
    // What a replica has by then is there after the fail-over, and the work goes on without anybody's help.
    cluster.master(0).until("WAIT 1 100", ":1").unwrap();
    let mut flow = Flow::through(Arc::into_inner(world).unwrap());
    flow.until_more(50).await;
    cluster.kill_master(0);
    cluster.until_replaced(0).unwrap();
    flow.until_more(400).await;
    let (world, after) = flow.end().await;
    check(&world, &before).await;
    assert!(after.submitted.len() > 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_replica_has_is_not_acknowledged() {
    let mut world = on_a_cluster(Spread::Together).await;
    let address = format!("{}&min_replicas=1", world.cluster().address("safe"));
    let options = RedisOptions {
        clock: Some(world.clock.clone()),
        patience_ms: 1_000,
    };
    let safe = RedisStore::open(&address, options).await.unwrap();
    let run = world.run();
    let master = world
        .cluster()
        .master_of(&format!("safe:{}", run.id.slot() % 12))
        .unwrap();
    let batch = |world: &World| {
        let run = world.run();
        world.submission(&run, &[world.queued(&run, make::spec("a"))], &[])
    };
    assert_eq!(safe.commit(batch(&world)).await, Ok(Commit::Done));
    world.cluster().signal_replica(master, Signal::STOP).unwrap();
    let alone = safe.commit(batch(&world)).await;
    assert!(
        matches!(&alone, Err(StoreError::Unavailable { message }) if message.contains("replicas")),
        "{alone:?}"
    );
    // Others are not kept waiting by those who wait for a replica.
    let states = vec![JobState::Queued];
    let query = JobQuery {
        states,
        ..JobQuery::default()
    };
    assert!(!safe.jobs(&query).await.unwrap().items.is_empty());
    world.cluster().signal_replica(master, Signal::CONT).unwrap();
    assert_eq!(safe.commit(batch(&world)).await, Ok(Commit::Done));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_moves_to_another_node_is_waited_for_and_followed() {
    let cluster = RedisCluster::start().unwrap();
    let world = world_on(&cluster, "").await;
    submit_to_each(&world).await;
    let run = world.run();
    let tag = format!("lw:{}", run.id.slot() % 12);
    let from = cluster.master_of(&tag).unwrap();
    let to = (from + 1) % 3;
    cluster.begin_move(&tag, from, to).unwrap();
    let batch = world.submission(&run, &[world.queued(&run, make::spec("a"))], &[]);
    let store = world.store.clone();
    let waiting = tokio::spawn(async move { store.commit(batch).await });
    // Half of the shard here and half of it there: no script sees that.
    cluster.move_keys(&tag, from, to).unwrap();
    cluster.end_move(&tag, to).unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(Commit::Done));
    assert_eq!(world.claim(100).await.len(), 13);
}
