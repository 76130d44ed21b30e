//! Legwork's side of the peer benchmarks: a worker whose runner only marks, and a client that submits.
//!
//! `bench-peer worker STORE` runs jobs and appends `kind,id,start,end` to the file that `BENCH_LOG` names. The store is a file
//! or an address such as `redis://127.0.0.1`.
//! `bench-peer client STORE` reads `job N`, `jobs N`, `runs N`, `graph N` and `graphs N` from its input and answers `ok` to
//! each once it is accepted durably: `jobs` submits 500 independent jobs to a run, as many as peers add with one call, and
//! `runs` one. `bench-peer version` prints the version.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use async_trait::async_trait;
use legwork_shared::job::{JobResult, Verdict};
use legwork_shared::store::Store;
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore};
use legwork_tests::marked::{Client, MARK, diamond, many, single};
use legwork_worker::attempt::Attempt;
use legwork_worker::runner::{Runner, Runners};
use legwork_worker::workspace::Artifacts;
use legwork_worker::{Shutdown, Worker};

/// Independent jobs of one run.
const BULK: usize = 500;

/// Appends a line for each job.
struct Mark(File);

#[async_trait]
impl Runner for Mark {
    async fn run(&self, attempt: &Attempt) -> Verdict {
        let began = seconds();
        let spec = attempt.job().spec;
        // Independent jobs of one run have numbers behind their kind.
        let kind = spec.name.split('-').next().unwrap_or_default();
        let line = format!("{kind},{},{began:.6},{:.6}\n", spec.description, seconds());
        // One write per line: the file is opened for appending, so lines of several writers do not mix.
        match (&self.0).write_all(line.as_bytes()) {
            Ok(()) => Verdict::Succeeded(JobResult::default()),
            Err(error) => panic!("the log cannot be written: {error}"),
        }
    }
}

fn seconds() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

async fn open(store: &str) -> anyhow::Result<Arc<dyn Store>> {
    if store.contains("://") {
        return Ok(Arc::new(RedisStore::open(store, RedisOptions::default()).await?));
    }
    Ok(Arc::new(SqliteStore::open(store, SqliteOptions::default())?))
}

async fn work(store: &str) -> anyhow::Result<()> {
    let log_path = std::env::var("BENCH_LOG").context("BENCH_LOG is not set")?;
    let artifacts = Artifacts::open(Path::new(&log_path).with_extension("artifacts"))?;
    let log = OpenOptions::new().append(true).create(true).open(log_path)?;
    let runners = Runners::new().with(MARK, Mark(log));
    let worker = Worker::builder(open(store).await?, artifacts)
        .runners(runners)
        .slots(200)
        .build();
    let shutdown = Shutdown::new();
    tokio::spawn(shutdown.on_signals()?);
    worker.run(shutdown).await?;
    Ok(())
}

async fn answer(client: &Client, line: &str) -> anyhow::Result<()> {
    let (what, which) = line.split_once(' ').context("a command and a number are wanted")?;
    match what {
        "job" => client.submit(single(which)).await,
        "jobs" => {
            let count: usize = which.parse()?;
            let runs = (0..count)
                .step_by(BULK)
                .map(|first| many(first, BULK.min(count - first)));
            client.submit_all(runs).await
        }
        "runs" => client.submit_many(which.parse()?, single).await,
        "graph" => client.submit(diamond(which)).await,
        "graphs" => client.submit_many(which.parse()?, diamond).await,
        other => bail!("`{other}` is no command"),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["version"] => println!("{}", env!("CARGO_PKG_VERSION")),
        ["worker", store] => work(store).await?,
        ["client", store] => {
            let client = Client::new(open(store).await?);
            for line in std::io::stdin().lock().lines() {
                answer(&client, &line?).await?;
                println!("ok");
                std::io::stdout().flush()?;
            }
        }
        _ => bail!("use `worker STORE`, `client STORE` or `version`"),
    }
    Ok(())
}
