//! Joins and chains of twice the size: they must take about twice the time.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use legwork_shared::plan::PlannedJob;
use legwork_tests::marked::{chain, join};

use super::pool::Pool;
use super::{Figure, median};

/// The size that users were promised; half of it is what it is compared with.
const SIZE: usize = 10_000;
/// Each size is measured so often, in turns.
const ROUNDS: usize = 3;
/// The promise: twice the size takes at most so many times the time.
const GROWTH: f64 = 2.3;

/// Both shapes, at both sizes.
pub async fn measure(disk: &Path) -> Result<Vec<Figure>> {
    let mut figures = shape(disk, &format!("{SIZE} parents, one join"), join).await?;
    figures.extend(shape(disk, &format!("a chain of {SIZE}"), chain).await?);
    Ok(figures)
}

async fn shape(disk: &Path, name: &str, make: fn(usize) -> Vec<PlannedJob>) -> Result<Vec<Figure>> {
    let (mut halves, mut wholes) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        halves.push(seconds(disk, make(SIZE / 2)).await?);
        wholes.push(seconds(disk, make(SIZE)).await?);
    }
    let (half, whole) = (median(halves), median(wholes));
    Ok(vec![
        Figure::told(format!("{name}: submit to the last start"), whole, "s"),
        Figure::bounded(format!("{name}: growth from half its size"), whole / half, GROWTH, "×"),
    ])
}

/// From the submit to the start of the last job, on a store of its own.
async fn seconds(disk: &Path, jobs: Vec<PlannedJob>) -> Result<f64> {
    let folder = tempfile::tempdir_in(disk)?;
    let mut pool = Pool::start(folder.path())?;
    let count = jobs.len();
    let began = Instant::now();
    pool.client.submit(jobs).await?;
    let last = pool.all_started(count).await?;
    pool.stop().await?;
    Ok((last - began).as_secs_f64())
}
