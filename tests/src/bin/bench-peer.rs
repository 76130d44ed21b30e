//! Legwork's side of the peer benchmarks: a worker whose runner only marks, and a client that submits.
//!
//! `bench-peer worker STORE` runs jobs and appends `kind,id,start,end` to the file that `BENCH_LOG` names.
//! `bench-peer client STORE` reads `job N`, `jobs N`, `graph N` and `graphs N` from its input and answers `ok` to each
//! once it is accepted durably. `bench-peer version` prints the version.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};
use legwork_shared::agent::{AgentSpec, RunnerSpec};
use legwork_shared::clock;
use legwork_shared::job::{JobResult, Verdict};
use legwork_shared::plan::{Need, Plan, PlannedJob};
use legwork_shared::store::Store;
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore};
use legwork_shared::submit::new_run;
use legwork_worker::attempt::Attempt;
use legwork_worker::runner::{Runner, Runners};
use legwork_worker::workspace::Artifacts;
use legwork_worker::{Shutdown, Worker};

/// How many submissions are under way at a time: as many as a busy client would have.
const IN_FLIGHT: usize = 256;
/// The agent and the runner of every job.
const MARK: &str = "mark";

/// Appends a line for each job.
struct Mark(File);

#[async_trait]
impl Runner for Mark {
    async fn run(&self, attempt: &Attempt) -> Verdict {
        let began = seconds();
        let spec = attempt.job().spec;
        let line = format!("{},{},{began:.6},{:.6}\n", spec.name, spec.description, seconds());
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

fn open(path: &str) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Arc::new(SqliteStore::open(path, SqliteOptions::default())?))
}

async fn work(path: &str) -> anyhow::Result<()> {
    let log = std::env::var("BENCH_LOG").context("BENCH_LOG is not set")?;
    let log = OpenOptions::new().append(true).create(true).open(log)?;
    let artifacts = Artifacts::open(Path::new(path).with_extension("artifacts"))?;
    let runners = Runners::new().with(MARK, Mark(log));
    let worker = Worker::builder(open(path)?, artifacts)
        .runners(runners)
        .slots(200)
        .build();
    let shutdown = Shutdown::new();
    tokio::spawn(shutdown.on_signals()?);
    worker.run(shutdown).await?;
    Ok(())
}

/// Submits plans.
struct Client {
    store: Arc<dyn Store>,
    agents: BTreeMap<String, Arc<AgentSpec>>,
}

impl Client {
    fn new(store: Arc<dyn Store>) -> Self {
        let runner = RunnerSpec::Custom { name: MARK.to_owned() };
        let agent = AgentSpec {
            name: MARK.to_owned(),
            runner,
            ..AgentSpec::default()
        };
        Self {
            store,
            agents: BTreeMap::from([(MARK.to_owned(), Arc::new(agent))]),
        }
    }

    async fn submit(&self, jobs: Vec<PlannedJob>) -> anyhow::Result<()> {
        let plan = Plan {
            jobs,
            ..Plan::default()
        };
        let submission = new_run(&plan, &self.agents, "default", self.store.now(), clock::entropy())?;
        self.store.commit(submission.batch).await?;
        Ok(())
    }

    async fn answer(&self, line: &str) -> anyhow::Result<()> {
        let (what, which) = line.split_once(' ').context("a command and a number are wanted")?;
        let many = |make: fn(&str) -> Vec<PlannedJob>| async move {
            let count: usize = which.parse()?;
            let plans = (0..count).map(|n| self.submit(make(&n.to_string())));
            stream::iter(plans)
                .buffer_unordered(IN_FLIGHT)
                .try_collect::<Vec<()>>()
                .await?;
            Ok(())
        };
        match what {
            "job" => self.submit(single(which)).await,
            "jobs" => many(single).await,
            "graph" => self.submit(diamond(which)).await,
            "graphs" => many(diamond).await,
            other => bail!("`{other}` is no command"),
        }
    }
}

fn job(name: &str, id: &str, needs: &[&str]) -> PlannedJob {
    PlannedJob {
        id: name.to_owned(),
        agent: Some(MARK.to_owned()),
        description: id.to_owned(),
        depends_on: needs.iter().map(|need| Need::Name((*need).to_owned())).collect(),
        ..PlannedJob::default()
    }
}

fn single(id: &str) -> Vec<PlannedJob> {
    vec![job("job", id, &[])]
}

fn diamond(id: &str) -> Vec<PlannedJob> {
    vec![
        job("researcher", id, &[]),
        job("reviewer", id, &[]),
        job("analyst", id, &["researcher", "reviewer"]),
        job("writer", id, &["analyst"]),
    ]
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["version"] => println!("{}", env!("CARGO_PKG_VERSION")),
        ["worker", path] => work(path).await?,
        ["client", path] => {
            let client = Client::new(open(path)?);
            for line in std::io::stdin().lock().lines() {
                client.answer(&line?).await?;
                println!("ok");
                std::io::stdout().flush()?;
            }
        }
        _ => bail!("use `worker STORE`, `client STORE` or `version`"),
    }
    Ok(())
}
