//! Measures a store: what a machine does per second, and whether that stays so as work piles up.
//!
//! ```text
//! cargo run --release -p legwork-tests --bin store-bench -- [folder or address] [jobs]
//! ```
//!
//! A folder is where the embedded store makes its file. An address, such as `redis://127.0.0.1/9`, is of an empty server that
//! may be filled; `redis` starts one that ends with the measurement.
//! Figures are for one process that submits, claims and settles at the same time. Run it twice: disks differ.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::stream::{StreamExt, TryStreamExt, iter};
use legwork_shared::clock::entropy;
use legwork_shared::dag::Edge;
use legwork_shared::id::{JobId, RunId, WorkerId};
use legwork_shared::job::{Job, JobState};
use legwork_shared::run::Run;
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore, Synchronous};
use legwork_shared::store::{ClaimRequest, Claimed, JobQuery, Store};
use legwork_tests::make;
use legwork_tests::redis_server::RedisServer;

/// Calls in flight at a time: enough to fill a group while the one before is on its way to the disk.
const IN_FLIGHT: usize = 512;
/// Jobs of one claim.
const SLOTS: usize = 64;

type Shared = Arc<dyn Store>;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let place = arguments
        .next()
        .unwrap_or_else(|| std::env::temp_dir().display().to_string());
    let jobs: usize = arguments
        .next()
        .map_or(Ok(10_000), |count| count.parse())
        .context("the second argument is how many jobs")?;
    if place == "redis" {
        let server = RedisServer::start()?;
        return on_server(&server.address("bench"), jobs).await;
    }
    if place.contains("://") {
        return on_server(&place, jobs).await;
    }
    let folder = PathBuf::from(place);
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        let folder = tempfile::tempdir_in(&folder)?;
        let store = open(folder.path(), synchronous)?;
        println!("synchronous = {synchronous:?}");
        independent(&store, jobs).await?;
        join(&store, jobs).await?;
        for length in [jobs / 10, jobs / 5] {
            chain(&store, length).await?;
        }
    }
    let folder = tempfile::tempdir_in(&folder)?;
    let store = open(folder.path(), Synchronous::Full)?;
    println!("beside finished jobs, synchronous = Full");
    independent(&store, jobs).await?;
    list(&store).await?;
    finished(&store, 20 * jobs).await?;
    independent(&store, jobs).await?;
    list(&store).await
}

/// The same on a server, and what a diamond and a lone job cost there.
async fn on_server(address: &str, jobs: usize) -> Result<()> {
    let store: Shared = Arc::new(RedisStore::open(address, RedisOptions::default()).await?);
    println!("{address}");
    for _ in 0..2 {
        independent(&store, jobs).await?;
        diamonds(&store, jobs / 10).await?;
    }
    join(&store, jobs).await?;
    chain(&store, jobs / 10).await?;
    dispatch(&store, jobs / 10).await?;
    println!("beside finished jobs");
    list(&store).await?;
    finished(&store, 20 * jobs).await?;
    independent(&store, jobs).await?;
    diamonds(&store, jobs / 10).await?;
    list(&store).await
}

fn open(folder: &Path, synchronous: Synchronous) -> Result<Shared> {
    let options = SqliteOptions {
        synchronous,
        ..SqliteOptions::default()
    };
    Ok(Arc::new(SqliteStore::open(folder.join("store.db"), options)?))
}

fn report(what: &str, count: usize, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    let rate = f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / seconds;
    println!("  {what:<44} {count:>7} in {seconds:>7.2} s = {rate:>8.0}/s");
}

// ---------------------------------------------------------------- what is measured

/// Runs of one job each: every submit and every settle is a commit of its own.
async fn independent(store: &Shared, jobs: usize) -> Result<()> {
    let began = Instant::now();
    iter((0..jobs).map(|_| async {
        let run = run(store);
        let job = queued(store, &run);
        store.commit(make::submission(&run, &[job], &[], store.now())).await
    }))
    .buffer_unordered(IN_FLIGHT)
    .try_for_each(|_| async { Ok(()) })
    .await?;
    report("submit, a run of one job each", jobs, began);
    let working = Instant::now();
    work(store, jobs).await?;
    report("claim and settle", jobs, working);
    report("submit, claim and settle", jobs, began);
    Ok(())
}

/// Submits, claims and settles at the same time, as a busy pool does: runs of four jobs, two of which begin.
async fn diamonds(store: &Shared, graphs: usize) -> Result<()> {
    let began = Instant::now();
    let submitting = iter((0..graphs).map(|_| async {
        let run = run(store);
        let jobs = [
            queued(store, &run),
            queued(store, &run),
            blocked(store, &run),
            blocked(store, &run),
        ];
        let [a, b, c, d] = &jobs;
        let edges = [make::needs(c, a), make::needs(c, b), make::needs(d, c)];
        store.commit(make::submission(&run, &jobs, &edges, store.now())).await?;
        Ok::<_, anyhow::Error>(())
    }))
    .buffer_unordered(IN_FLIGHT)
    .try_for_each(|()| async { Ok(()) });
    futures::try_join!(submitting, work(store, 4 * graphs))?;
    report("submit, claim and settle diamonds", graphs, began);
    Ok(())
}

/// One job at a time, with a claimer that waits: from the submit to the claim.
async fn dispatch(store: &Shared, jobs: usize) -> Result<()> {
    let mut waits: Vec<Duration> = Vec::with_capacity(jobs);
    let (sender, mut receiver) = futures::channel::mpsc::channel::<Claimed>(1);
    let waiter = store.clone();
    let claiming = tokio::spawn(async move {
        let mut sender = sender;
        let request = request(&waiter, 1);
        let mut signal = waiter.work_signal(&request.queues);
        for _ in 0..jobs {
            loop {
                signal.arm();
                if let Some(claimed) = waiter.claim(&request).await?.pop() {
                    futures::SinkExt::send(&mut sender, claimed).await?;
                    break;
                }
                signal.wait().await;
            }
        }
        Ok::<_, anyhow::Error>(())
    });
    for _ in 0..jobs {
        let run = run(store);
        let job = queued(store, &run);
        let began = Instant::now();
        store.commit(make::submission(&run, &[job], &[], store.now())).await?;
        let claimed = receiver.next().await.context("the claimer has ended")?;
        waits.push(began.elapsed());
        settle(store, &claimed).await?;
    }
    claiming.await??;
    waits.sort_unstable();
    let at = |percent: usize| waits[(waits.len() * percent / 100).min(waits.len() - 1)];
    println!("  dispatch of a lone job: p50 {:?}, p99 {:?}", at(50), at(99));
    Ok(())
}

/// Many jobs that one waits for.
async fn join(store: &Shared, parents: usize) -> Result<()> {
    let run = run(store);
    let mut jobs: Vec<Job> = (0..parents).map(|_| queued(store, &run)).collect();
    let child = blocked(store, &run);
    let edges: Vec<Edge> = jobs.iter().map(|parent| make::needs(&child, parent)).collect();
    jobs.push(child);
    let began = Instant::now();
    store.commit(make::submission(&run, &jobs, &edges, store.now())).await?;
    report("submit a join", jobs.len(), began);
    let began = Instant::now();
    work(store, jobs.len()).await?;
    report("claim and settle a join", jobs.len(), began);
    Ok(())
}

/// Jobs of which each waits for the one before.
async fn chain(store: &Shared, length: usize) -> Result<()> {
    let run = run(store);
    let mut jobs = vec![queued(store, &run)];
    jobs.extend((1..length).map(|_| blocked(store, &run)));
    let edges: Vec<Edge> = jobs.windows(2).map(|pair| make::needs(&pair[1], &pair[0])).collect();
    let began = Instant::now();
    store.commit(make::submission(&run, &jobs, &edges, store.now())).await?;
    report("submit a chain", length, began);
    let began = Instant::now();
    for _ in 0..length {
        let claimed = store.claim(&request(store, 1)).await?;
        ensure!(claimed.len() == 1, "the next job of the chain should be claimable");
        settle(store, &claimed[0]).await?;
    }
    report("claim and settle a chain", length, began);
    Ok(())
}

/// Piles up jobs that have ended.
async fn finished(store: &Shared, jobs: usize) -> Result<()> {
    const PER_RUN: usize = 1_000;
    for _ in 0..jobs / PER_RUN {
        let run = run(store);
        let jobs: Vec<Job> = (0..PER_RUN).map(|_| queued(store, &run)).collect();
        store.commit(make::submission(&run, &jobs, &[], store.now())).await?;
        work(store, PER_RUN).await?;
    }
    println!("  ({jobs} jobs have ended)");
    Ok(())
}

/// First pages, as a person asks for them.
async fn list(store: &Shared) -> Result<()> {
    const PAGES: usize = 100;
    for states in [
        vec![],
        vec![JobState::Running],
        vec![JobState::Failed, JobState::Queued],
    ] {
        let query = JobQuery {
            states,
            limit: 50,
            ..JobQuery::default()
        };
        let began = Instant::now();
        for _ in 0..PAGES {
            store.jobs(&query).await?;
        }
        report(&format!("list, states {:?}", query.states), PAGES, began);
    }
    Ok(())
}

// ---------------------------------------------------------------- how it is done

/// Claims and settles until `jobs` have ended.
async fn work(store: &Shared, jobs: usize) -> Result<()> {
    let mut left = jobs;
    let (sender, receiver) = futures::channel::mpsc::channel::<Claimed>(IN_FLIGHT);
    let settling = receiver
        .map(|claimed| async move { settle(store, &claimed).await })
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(|()| async { Ok(()) });
    let claiming = async move {
        let mut sender = sender;
        while left > 0 {
            let claimed = store.claim(&request(store, SLOTS)).await?;
            if claimed.is_empty() {
                // The rest waits for what is being settled.
                tokio::task::yield_now().await;
            }
            left -= claimed.len();
            for claimed in claimed {
                futures::SinkExt::send(&mut sender, claimed).await?;
            }
        }
        Ok::<_, anyhow::Error>(())
    };
    let (claimed, settled) = futures::join!(claiming, settling);
    claimed.and(settled)
}

async fn settle(store: &Shared, claimed: &Claimed) -> Result<()> {
    let batch = make::success(claimed, "The answer, in a sentence of some length.", store.now())?;
    store.commit(batch).await?;
    Ok(())
}

fn request(store: &Shared, slots: usize) -> ClaimRequest {
    ClaimRequest {
        worker: WorkerId::new(store.now(), 1),
        queues: vec!["default".to_owned()],
        slots,
        lease_ms: 30_000,
        entropy: 1,
    }
}

fn run(store: &Shared) -> Run {
    make::run(RunId::new(store.now(), entropy()), store.now())
}

fn queued(store: &Shared, run: &Run) -> Job {
    let id = JobId::new(store.now(), entropy());
    make::queued(id, run, make::spec("job"), store.now())
}

fn blocked(store: &Shared, run: &Run) -> Job {
    let id = JobId::new(store.now(), entropy());
    make::blocked(id, run, make::spec("waiting"), store.now())
}
