//! One of many processes that share a store, for tests that kill, crowd and starve them.
//!
//! ```text
//! store-process submit FILE COUNT   submits runs of one job; prints each job once it is acknowledged
//! store-process work FILE COUNT     the same, then claims and settles whatever there is; prints each settled job
//! store-process fill FILE           submits long jobs until there is no room, prints `full`, waits for a line, goes on
//! ```

use std::io::{BufRead, Write};

use anyhow::{Context, Result, bail};
use legwork_shared::clock::entropy;
use legwork_shared::id::{JobId, RunId, WorkerId};
use legwork_shared::job::Job;
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore};
use legwork_shared::store::{ClaimRequest, Store, StoreError};
use legwork_tests::make;

/// Characters of a long job: the room is used up after some hundred.
const LONG_TEXT: usize = 16 * 1024;
/// Long jobs before the room must have been used up.
const LONG_JOBS_MAX: usize = 100_000;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["submit", file, count] => submit(&open(file)?, count.parse()?).await,
        ["work", file, count] => work(&open(file)?, count.parse()?).await,
        ["fill", file] => fill(&open(file)?).await,
        _ => bail!("usage: store-process submit|work FILE COUNT, or store-process fill FILE"),
    }
}

fn open(file: &str) -> Result<SqliteStore> {
    Ok(SqliteStore::open(file, SqliteOptions::default())?)
}

/// Tells the parent process, now.
fn tell(line: impl std::fmt::Display) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush().context("nobody listens")
}

async fn submit_one(store: &SqliteStore, description: String) -> Result<Job, StoreError> {
    let now = store.now();
    let run = make::run(RunId::new(now, entropy()), now);
    let mut spec = make::spec("job");
    spec.description = description;
    let job = make::queued(JobId::new(now, entropy()), &run, spec, now);
    let batch = make::submission(&run, std::slice::from_ref(&job), &[], now);
    store.commit(batch).await?;
    Ok(job)
}

async fn submit(store: &SqliteStore, count: usize) -> Result<()> {
    for _ in 0..count {
        tell(submit_one(store, "A short one.".to_owned()).await?.id)?;
    }
    Ok(())
}

async fn work(store: &SqliteStore, count: usize) -> Result<()> {
    for _ in 0..count {
        submit_one(store, "A short one.".to_owned()).await?;
    }
    let request = ClaimRequest {
        worker: WorkerId::new(store.now(), entropy()),
        queues: vec!["default".to_owned()],
        slots: 3,
        lease_ms: 600_000,
        entropy: 1,
    };
    loop {
        let claimed = store.claim(&request).await?;
        if claimed.is_empty() {
            return Ok(());
        }
        for claimed in claimed {
            store.commit(make::success(&claimed, "done", store.now())?).await?;
            tell(claimed.job.id)?;
        }
    }
}

async fn fill(store: &SqliteStore) -> Result<()> {
    for _ in 0..LONG_JOBS_MAX {
        match submit_one(store, "x".repeat(LONG_TEXT)).await {
            Ok(job) => tell(job.id)?,
            Err(StoreError::Full { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    tell("full")?;
    std::io::stdin().lock().read_line(&mut String::new())?;
    tell(submit_one(store, "There is room again.".to_owned()).await?.id)
}
