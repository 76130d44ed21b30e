//! A file with many finished jobs beside an empty one.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use legwork_shared::id::WorkerId;
use legwork_shared::plan::PlannedJob;
use legwork_shared::run::DEFAULT_TENANT;
use legwork_shared::store::{ClaimRequest, Claimed, JobQuery, RunQuery, Store};
use legwork_tests::make;
use legwork_tests::marked::{Client, job, single};

use super::{Figure, median, pool};

/// Jobs that have ended in the full file.
const FINISHED: usize = 200_000;
/// Of how many jobs a run is made when they are piled up.
const PER_RUN: usize = 1_000;
/// Jobs of one measurement.
const JOBS: usize = 2_000;
/// Pages of one measurement.
const PAGES: usize = 200;
/// Measurements of each file, in turns.
const ROUNDS: usize = 7;
/// Jobs of one claim.
const SLOTS: usize = 64;
/// The promise: the full file takes at most so many times as long.
const SLOWER: f64 = 1.25;

/// What is measured, in milliseconds for each.
#[derive(Default)]
struct Times {
    submit: Vec<f64>,
    claim: Vec<f64>,
    list: Vec<f64>,
}

/// Submit, claim and list, on both files in turns.
pub async fn measure(disk: &Path) -> Result<Vec<Figure>> {
    let (empty, full) = (tempfile::tempdir_in(disk)?, tempfile::tempdir_in(disk)?);
    let (empty, full) = (pool::open(empty.path())?, pool::open(full.path())?);
    pile_up(&full).await?;
    let (mut beside_none, mut beside_many) = (Times::default(), Times::default());
    for _ in 0..ROUNDS {
        round(&empty, &mut beside_none).await?;
        round(&full, &mut beside_many).await?;
    }
    let row = |what: &str, few: Vec<f64>, many: Vec<f64>| {
        let (few, many) = (median(few), median(many));
        let what = format!("{what} beside {FINISHED} finished jobs ({many:.3} ms each), of the time beside none");
        Figure::bounded(what, many / few, SLOWER, "×")
    };
    Ok(vec![
        row("submit", beside_none.submit, beside_many.submit),
        row("claim", beside_none.claim, beside_many.claim),
        row("list", beside_none.list, beside_many.list),
    ])
}

async fn pile_up(store: &Arc<dyn Store>) -> Result<()> {
    let client = Client::new(Arc::clone(store));
    for _ in 0..FINISHED / PER_RUN {
        let jobs: Vec<PlannedJob> = (0..PER_RUN)
            .map(|number| job(&format!("job-{number}"), "x", &[]))
            .collect();
        client.submit(jobs).await?;
        let mut left = PER_RUN;
        while left > 0 {
            let claimed = claim(store).await?;
            left -= claimed.len();
            settle(store, &claimed).await?;
        }
    }
    Ok(())
}

/// Measures everything once. Nothing is queued before, and nothing after.
async fn round(store: &Arc<dyn Store>, times: &mut Times) -> Result<()> {
    let client = Client::new(Arc::clone(store));
    let began = Instant::now();
    client.submit_many(JOBS, single).await?;
    times.submit.push(each(began, JOBS));
    let began = Instant::now();
    let mut held = Vec::new();
    while held.len() < JOBS {
        held.extend(claim(store).await?);
    }
    times.claim.push(each(began, JOBS));
    let began = Instant::now();
    for _ in 0..PAGES {
        let jobs = JobQuery {
            limit: 50,
            ..JobQuery::default()
        };
        store.jobs(&jobs).await?;
        let runs = RunQuery {
            tenant: Some(DEFAULT_TENANT.to_owned()),
            before: None,
            limit: 50,
        };
        store.runs(&runs).await?;
    }
    times.list.push(each(began, PAGES));
    settle(store, &held).await
}

fn each(began: Instant, count: usize) -> f64 {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    began.elapsed().as_secs_f64() * 1e3 / f64::from(count)
}

async fn claim(store: &Arc<dyn Store>) -> Result<Vec<Claimed>> {
    let request = ClaimRequest {
        worker: WorkerId::new(store.now(), 1),
        queues: vec!["default".to_owned()],
        slots: SLOTS,
        lease_ms: 600_000,
        entropy: 1,
    };
    Ok(store.claim(&request).await?)
}

async fn settle(store: &Arc<dyn Store>, claimed: &[Claimed]) -> Result<()> {
    let settled = claimed.iter().map(|claimed| async move {
        let batch = make::success(claimed, "The answer, in a sentence of some length.", store.now())?;
        store.commit(batch).await?;
        anyhow::Ok(())
    });
    futures::future::try_join_all(settled).await?;
    Ok(())
}
