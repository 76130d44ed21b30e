//! From the submit of a job to the start of its runner, while nothing else goes on.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use async_trait::async_trait;
use legwork_shared::job::{JobResult, Verdict};
use legwork_tests::marked::{Client, single};
use legwork_worker::Shutdown;
use legwork_worker::attempt::Attempt;
use legwork_worker::runner::Runner;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::pool::{self, Pool};
use super::{Figure, median};

/// Jobs that are submitted one at a time.
const JOBS: usize = 100;
/// The time in which the store becomes idle again: long beside a job, and beside the worker's busy look-out.
const REST: Duration = Duration::from_millis(100);
/// What one page of a database takes.
const PAGE: [u8; 4096] = [7; 4096];
/// The promise: in one process, within so many fsyncs.
const FSYNCS: f64 = 4.0;
/// The promise: in two processes, so much more, in milliseconds.
const APART_MS: f64 = 50.0;

/// Tells of each start on stdout, for the process that measures.
struct Print;

#[async_trait]
impl Runner for Print {
    async fn run(&self, _attempt: &Attempt) -> Verdict {
        let mut stdout = std::io::stdout().lock();
        match writeln!(stdout, "started").and_then(|()| stdout.flush()) {
            Ok(()) => Verdict::Succeeded(JobResult::default()),
            Err(error) => panic!("nobody listens: {error}"),
        }
    }
}

/// Runs the jobs of the store in `folder`, as the second process of two.
pub async fn work(folder: &Path) -> Result<()> {
    let worker = pool::worker(pool::open(folder)?, folder, Print)?;
    let shutdown = Shutdown::new();
    tokio::spawn(shutdown.on_signals()?);
    println!("ready");
    worker.run(shutdown).await?;
    Ok(())
}

/// One process and two, each beside the cost of an fsync at that time.
pub async fn measure(disk: &Path) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let (fsync, starts) = in_one_process(disk).await?;
    figures.push(Figure::told("fsync of a page, median", fsync, "ms"));
    figures.push(Figure::bounded(
        "submit → start, one process, median",
        median(starts.clone()),
        FSYNCS * fsync,
        "ms",
    ));
    figures.push(Figure::told(
        "submit → start, one process, worst of 100",
        worst(&starts),
        "ms",
    ));
    let (fsync, starts) = in_two_processes(disk).await?;
    figures.push(Figure::told("fsync of a page, median", fsync, "ms"));
    figures.push(Figure::bounded(
        "submit → start, two processes, median",
        median(starts.clone()),
        FSYNCS * fsync + APART_MS,
        "ms",
    ));
    figures.push(Figure::told(
        "submit → start, two processes, worst of 100",
        worst(&starts),
        "ms",
    ));
    Ok(figures)
}

async fn in_one_process(disk: &Path) -> Result<(f64, Vec<f64>)> {
    let folder = tempfile::tempdir_in(disk)?;
    let mut pool = Pool::start(folder.path())?;
    let (mut fsyncs, mut starts) = (Vec::new(), Vec::new());
    for number in 0..JOBS {
        tokio::time::sleep(REST).await;
        fsyncs.push(fsync(folder.path())?);
        let began = Instant::now();
        pool.client.submit(single(&number.to_string())).await?;
        starts.push(milliseconds(pool.started().await? - began));
    }
    pool.stop().await?;
    Ok((median(fsyncs), starts))
}

async fn in_two_processes(disk: &Path) -> Result<(f64, Vec<f64>)> {
    let folder = tempfile::tempdir_in(disk)?;
    let client = Client::new(pool::open(folder.path())?);
    let mut worker = Command::new(std::env::current_exe()?)
        .arg("--worker")
        .arg(folder.path())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(worker.stdout.take().context("stdout is piped")?).lines();
    lines.next_line().await?.context("the worker does not start")?;
    let (mut fsyncs, mut starts) = (Vec::new(), Vec::new());
    for number in 0..JOBS {
        tokio::time::sleep(REST).await;
        fsyncs.push(fsync(folder.path())?);
        let began = Instant::now();
        client.submit(single(&number.to_string())).await?;
        lines.next_line().await?.context("the worker has ended")?;
        starts.push(milliseconds(began.elapsed()));
    }
    worker.kill().await?;
    Ok((median(fsyncs), starts))
}

/// What it costs to bring a page to the disk, in milliseconds.
fn fsync(folder: &Path) -> Result<f64> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join("page"))?;
    let end = file.metadata()?.len();
    let began = Instant::now();
    file.write_all_at(&PAGE, end)?;
    file.sync_data()?;
    Ok(milliseconds(began.elapsed()))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn worst(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(0.0, f64::max)
}
